/* The page that lists the runs of a results folder. */
#ifndef LOADGEN_SERVE_INDEX_H
#define LOADGEN_SERVE_INDEX_H

#include <stddef.h>
#include <stdio.h>

#define SERVE_RUNS_A_PAGE 100

/* Write HTML: the runs from number `from` on, the newest being 0. A run that cannot be read is
 * listed with the reason. 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int serve_index(const char *root, size_t from, FILE *to);

#endif
