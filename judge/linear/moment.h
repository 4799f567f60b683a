/* Moments in nanoseconds, in order. */
#ifndef JUDGE_MOMENT_H
#define JUDGE_MOMENT_H

#include <stddef.h>
#include <stdint.h>

/* For qsort(), the earliest first: moments, or structs that begin with a moment. */
int moment_compare(const void *a, const void *b);
/* Sorts `count` moments, or structs of `size` that begin with one. Sorted ones cost no time. */
void moment_sort(void *moments, size_t count, size_t size);
/* How many of the sorted moments are before `ns`. */
size_t moment_count_before(const int64_t *moments_ns, size_t count, int64_t ns);

#endif
