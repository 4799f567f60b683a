/* A history in sentences, and a finding in one. */
#ifndef LOCKJUDGE_PROSE_H
#define LOCKJUDGE_PROSE_H

#include "history.h"
#include "oracle.h"

#include <stddef.h>

#define PROSE_LINE 160

/* A line for each moment, in the order of time, counted from the first: "2.103 s  worker 2 gets the
 * lock". `each` gets them one by one, without a newline; the line lives until `each` returns. 0, or
 * -1 without memory. */
typedef void (*prose_cb)(const char *line, void *data);
__attribute__((warn_unused_result)) int prose_tell(const struct history *history, prose_cb each,
                                                   void *data);

/* "Workers 1 and 2 both believed for 97 ms that they held the lock. Nothing told worker 1."
 * Returns `to`. */
const char *prose_finding(enum oracle_word word, const struct oracle_finding *finding, char *to,
                          size_t size);

#endif
