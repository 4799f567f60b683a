/* Memory over an unnamed file, for the records of a long round. */
#ifndef JUDGE_SPOOL_H
#define JUDGE_SPOOL_H

#include <stddef.h>

/* Make a file of `length` zeros in `directory` (NULL: $TMPDIR, or /tmp). It is gone when its
 * last user ends, even by a crash. Returns an fd, or -1 with errno. */
__attribute__((warn_unused_result)) int spool_make(const char *directory, size_t length);
/* Map the first `length` bytes of the file, shared with all its users. NULL with errno. */
void *spool_map(int fd, size_t length);

#endif
