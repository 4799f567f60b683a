/* One command as a thread does it: what touches the disk may take long. */
#ifndef LOCKKIT_FILE_JOB_H
#define LOCKKIT_FILE_JOB_H

#include "file_process.h"

#define FILE_WHY_SIZE 128

/* What keeps an owner's lock: of kind flock, the files; of kind mkdir, nothing but the folder. */
struct file_held {
    int lock, record; /* -1: none */
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

/* ---- for the kinds: all of them return a descriptor or 0, or -1 with errno */

/* The folder of the name's files, made where it is missing, and what they are called, without an
 * ending, in `base`. A folder that others may write to is none (EPERM). */
int file_folder_open(const char *root, const char *name, char base[NAME_MAX + 1]);
/* The name that such a file is for. False when it cannot be told. */
bool file_name_decode(char *name, size_t size, const char *file);

/* A record, as one line. EBADMSG for one that is damaged; an empty file is a record of nothing. */
int file_record_read(int file, struct file_record *record);
int file_record_write(int file, const struct file_record *record);
/* Into `record` the next fencing token after its own, with those that are reserved. */
void file_mint(struct file_job *job, struct file_record *record);

/* LK_REFUSED, with errno's text for why. */
enum lk_status file_refuse(struct file_job *job, const char *what);
/* The same after file_folder_open() failed. */
enum lk_status file_refuse_folder(struct file_job *job);

#endif
