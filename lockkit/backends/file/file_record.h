/* The files of locks in a folder, and the record of an owner in such a file. */
#ifndef LOCKKIT_FILE_RECORD_H
#define LOCKKIT_FILE_RECORD_H

#include "backend.h"

#include <limits.h>

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

/* The folder of the name's files, made where it is missing, and what they are called, without an
 * ending, in `base`. A folder that others may write to is none (EPERM). -1 with errno. */
int file_folder_open(const char *root, const char *name, char base[NAME_MAX + 1]);
/* A file of it, never through a link, and never open in a child. -1 with errno. */
int file_open(int folder, const char *name, int flags);
/* The name that a file of the folder is for. False when it cannot be told. */
bool file_name_decode(char *name, size_t size, const char *file);

/* A record, as one line. 0; or -1 with errno, EBADMSG for one that is damaged. An empty file is a
 * record of nothing. */
int file_record_read(int file, struct file_record *record);
int file_record_write(int file, const struct file_record *record);

#endif
