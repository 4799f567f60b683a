/* Why a file could not be written, for people who may do something about it. */
#ifndef LOADGEN_FILE_ERROR_H
#define LOADGEN_FILE_ERROR_H

#include <errno.h>
#include <string.h>

/* strerror(), and what to do where that does not say it. A limit on the size of files is told only
 * to a process that ignores SIGXFSZ, and else kills it. */
static inline const char *file_error(int error) {
    return error == EFBIG ? "File too large for this process: raise the limit, ulimit -f"
                          : strerror(error);
}

#endif
