/* Memory that the kernel can write to a file and take back, for the records of a long round. */
#ifndef JUDGE_SPOOL_H
#define JUDGE_SPOOL_H

#include <stddef.h>

/* A file of `length` bytes in `directory` (NULL: $TMPDIR, or /tmp), all zeros, that is gone with
 * its last user, even after a crash: an fd, or -1 with errno. */
__attribute__((warn_unused_result)) int spool_make(const char *directory, size_t length);
/* The first `length` bytes of the file, shared with all who map it: NULL with errno. */
void *spool_map(int fd, size_t length);

#endif
