/* Which process it is, so that no later one with the same number is taken for it. */
#ifndef LOCKKIT_FILE_PROCESS_H
#define LOCKKIT_FILE_PROCESS_H

#include "backend.h"

#include <limits.h>

struct file_process {
    long pid;
    unsigned long long started; /* clock ticks after the boot, of /proc/<pid>/stat */
    unsigned long long space;   /* the pid namespace's number: pids mean nothing in another */
    char boot[37];              /* the boot's id */
};

/* This one. False when /proc does not tell. */
bool file_process_self(struct file_process *process);
/* It has ended, for sure. */
bool file_process_is_dead(const struct file_process *process);

#endif
