/* Arrays of int64_t, or of structs that begin with one, in the order of these numbers: moments in
 * nanoseconds, or units. */
#ifndef JUDGE_SORTED_H
#define JUDGE_SORTED_H

#include <stddef.h>
#include <stdint.h>

#define SORTED_SIZE 64 /* bytes of an element, at most */

/* Sorts `count` elements of `size` bytes. Elements with the same number keep their order, if there
 * is memory for as many again. Sorted ones cost no time. */
void sorted_sort(void *array, size_t count, size_t size);

/* How many of the sorted numbers are below `number`. It is fast if this is not far from `near`. */
size_t sorted_count_near(const int64_t *numbers, size_t count, size_t near, int64_t number);
/* The same for any place. */
size_t sorted_count_below(const int64_t *numbers, size_t count, int64_t number);

#endif
