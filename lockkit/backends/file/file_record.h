/* The files of locks in a folder, and the record of an owner in such a file. */
#ifndef LOCKKIT_FILE_RECORD_H
#define LOCKKIT_FILE_RECORD_H

#include "backend.h"

#include <limits.h>

/* Identifies a process, so that no later one with the same number is taken for it. */
struct file_process {
    long pid;
    unsigned long long started; /* clock ticks after the boot, from /proc/<pid>/stat */
    /* the number of the pid namespace: in another one the pid means nothing */
    unsigned long long space;
    char boot[37]; /* the boot's id */
};

/* The holder, in the words of the file. */
struct file_record {
    uint64_t fence;
    char owner[OWNER_SIZE];
    struct file_process process;
    char label[LABEL_MAX_BYTES + 1];
};

/* Open the folder of the name's files, and make it if it is missing. `base` gets the names of the
 * files, without an ending. A folder that others may write to is refused (EPERM). -1 with errno. */
int file_folder_open(const char *root, const char *name, char base[NAME_MAX + 1]);
/* Open a file of the folder, never through a link, and never open in a child. -1 with errno. */
int file_open(int folder, const char *name, int flags);
/* The lock's name, from the name of a file. False: it is not known. */
bool file_name_decode(char *name, size_t size, const char *file);

/* A record is one line. 0; or -1 with errno, EBADMSG for a damaged one. An empty file is an empty
 * record. A record that was written is on the disk after fsync(). */
int file_record_read(int file, struct file_record *record);
int file_record_write(int file, const struct file_record *record);

#endif
