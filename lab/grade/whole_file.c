/* Writes, and renames. */
#include "whole_file.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_to(const char *path, int (*write)(const void *data, FILE *to), const void *data) {
    FILE *to = fopen(path, "w");
    int err = to != NULL ? write(data, to) : -1;

    return to != NULL && fclose(to) != 0 ? -1 : err;
}

int whole_file_write(const char *path, int (*write)(const void *data, FILE *to), const void *data) {
    char half[PATH_MAX];
    struct stat is;
    int err;

    if (stat(path, &is) == 0 && !S_ISREG(is.st_mode))
        return write_to(path, write, data);
    if (snprintf(half, sizeof half, "%s.half", path) >= (int)sizeof half) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (write_to(half, write, data) == 0 && rename(half, path) == 0)
        return 0;
    err = errno;
    (void)unlink(half);
    errno = err;
    return -1;
}
