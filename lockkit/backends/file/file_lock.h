/* One command as a thread does it: what touches the disk may take long. */
#ifndef LOCKKIT_FILE_LOCK_H
#define LOCKKIT_FILE_LOCK_H

#include "backend.h"

#include <limits.h>

#define FILE_WHY_SIZE 128

/* What keeps an owner's lock: of kind flock, the files; of kind mkdir, nothing but the folder. */
struct file_held {
    int lock, record; /* -1: none */
};

/* Which process it is, so that no later one with the same number is taken for it. */
struct file_process {
    long pid;
    unsigned long long started; /* clock ticks after the boot, of /proc/<pid>/stat */
    unsigned long long space;   /* the pid namespace's number: pids mean nothing in another */
    char boot[37];              /* the boot's id */
};

/* Who holds, as it is written. */
struct file_record {
    uint64_t fence;
    char owner[OWNER_SIZE];
    struct file_process process;
    char label[LABEL_MAX_BYTES + 1];
};

struct file_job {
    enum lk_verb verb;
    const char *root, *name, *owner, *label;
    uint64_t fence_above;
    uint32_t handover; /* so many tokens are reserved: the record has the greatest */
    int64_t deadline_ms;
    struct file_held held;

    uint64_t fence;
    bool is_taken;    /* of INSPECT */
    int64_t again_ms; /* of ACQUIRE, BUSY for a moment of which no event tells: until it is over; or
                         0 */
    struct file_record record;
    char why[FILE_WHY_SIZE]; /* when REFUSED */
};

struct file_kind {
    const char *name;
    unsigned caps;
    enum lk_status (*run)(struct file_job *job);
};
extern const struct file_kind file_flock, file_mkdir;

/* The name that a file of the folder is for. False when it cannot be told. */
bool file_name_decode(char *name, size_t size, const char *file);

/* A record, as one line. 0; or -1 with errno, EBADMSG for one that is damaged. An empty file is a
 * record of nothing. */
int file_record_read(int file, struct file_record *record);
int file_record_write(int file, const struct file_record *record);

#endif
