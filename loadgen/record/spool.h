/* Bytes that go to disk while they come: a file without a name, written behind in blocks by a
 * thread of its own, and mapped at the end.
 *
 *     spool_open -> spool_write ... -> spool_seal -> read the mapping -> spool_close
 *
 * The writer of spool_write() does not wait for the disk, as long as the disk keeps up within
 * SPOOL_BLOCKS blocks; then, rather than let memory grow without bound, it does. An error of the
 * disk is kept and told by spool_seal(). */
#ifndef LOADGEN_SPOOL_H
#define LOADGEN_SPOOL_H

#include <stddef.h>

#define SPOOL_BLOCK_BYTES ((size_t)1 << 20)
#define SPOOL_BLOCKS      16

struct spool;

/* Make the file in `directory` (NULL: $TMPDIR, or /tmp). It loses its name at once, and so goes
 * with its last user, even after a crash. 0; or a negative errno, and then there is nothing to
 * close. SIGXFSZ is ignored from then on: a file that grows too large is an error to tell. */
__attribute__((warn_unused_result)) int spool_open(struct spool **spool, const char *directory);

/* Append a copy of `length` bytes. */
void spool_write(struct spool *spool, const void *bytes, size_t length);

/* Wait until all is written, and map it, for reading, at *bytes (NULL when nothing was written)
 * until spool_close(). 0; or a negative errno: that of the first write that failed. Once, and no
 * write after it. */
__attribute__((warn_unused_result)) int spool_seal(struct spool *spool, const void **bytes);

/* May be called at any time; waits for a block that is being written. NULL is nothing. */
void spool_close(struct spool *spool);

#endif
