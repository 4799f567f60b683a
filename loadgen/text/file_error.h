/* The reason of a write error, with the remedy. */
#ifndef LOADGEN_FILE_ERROR_H
#define LOADGEN_FILE_ERROR_H

#include <errno.h>
#include <string.h>

/* strerror(), with a remedy for EFBIG. A process must ignore SIGXFSZ to get that error: else the
 * limit on the size of files kills it. */
static inline const char *file_error(int error) {
    return error == EFBIG ? "File too large for this process: raise the limit, ulimit -f"
                          : strerror(error);
}

#endif
