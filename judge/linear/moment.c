/* Compares and counts moments. */
#include "moment.h"

#include <stdlib.h>

int moment_compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void moment_sort(void *moments, size_t count, size_t size) {
    for (size_t i = 1; i < count; i++)
        if (moment_compare((char *)moments + (i - 1) * size, (char *)moments + i * size) > 0) {
            qsort(moments, count, size, moment_compare);
            return;
        }
}

size_t moment_count_before(const int64_t *moments_ns, size_t count, int64_t ns) {
    size_t low = 0;

    while (count > 0) {
        const size_t half = count / 2;

        if (moments_ns[low + half] < ns) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}
