/* One command as a thread does it: what touches the disk may take long. */
#ifndef LOCKKIT_FILE_LOCK_H
#define LOCKKIT_FILE_LOCK_H

#include "file_record.h"

#define FILE_WHY_SIZE 128

/* What keeps an owner's lock: of kind flock, the files; of kind mkdir, nothing but the folder. */
struct file_held {
    int lock, record; /* -1: none */
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

#endif
