/* One command as a thread runs it: the disk may take long. */
#ifndef LOCKKIT_FILE_LOCK_H
#define LOCKKIT_FILE_LOCK_H

#include "file_record.h"

#define FILE_WHY_SIZE 128

/* The hold of an owner's lock. Kind flock: the open file. Kind mkdir: nothing but the folder. */
struct file_held {
    int lock, record; /* -1: none */
};

struct file_job {
    enum lk_verb verb;
    const char *root, *name, *owner, *label;
    uint64_t fence_above;
    uint32_t handover; /* the number of reserved tokens: the record has the greatest */
    int64_t deadline_ms;
    struct file_held held;

    uint64_t fence;
    bool is_taken; /* INSPECT */
    /* ACQUIRE, BUSY for a moment that ends without an event: its length; else 0 */
    int64_t again_ms;
    struct file_record record;
    char why[FILE_WHY_SIZE]; /* with REFUSED */
};

struct file_kind {
    const char *name;
    unsigned caps;
    enum lk_status (*run)(struct file_job *job);
};
extern const struct file_kind file_flock, file_mkdir;

#endif
