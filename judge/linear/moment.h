/* Moments in their order. */
#ifndef JUDGE_MOMENT_H
#define JUDGE_MOMENT_H

#include <stddef.h>
#include <stdint.h>

/* For qsort(): moments, or what begins with one; the earliest first. */
int moment_compare(const void *a, const void *b);
/* How many of these, in that order, are before `ns`. */
size_t moment_count_before(const int64_t *moments_ns, size_t count, int64_t ns);

#endif
