/* A radix sort by digits, the lowest first (Knuth 5.2.5): unlike a sort by comparisons it touches
 * memory in order, and leaves out the digits that all numbers share. */
#include "sorted.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)
#define FEW        64 /* a few elements are sorted by moving each to its place */

/* So that negative numbers come first. */
static uint64_t key_of(const char *element) {
    uint64_t key;

    memcpy(&key, element, sizeof key);
    return key ^ UINT64_C(1) << 63;
}

/* Returns whether the array is sorted. `differing` gets the bits that are not the same in all. */
static bool look(const char *array, size_t count, size_t size, uint64_t *differing) {
    bool is_sorted = true;

    *differing = 0;
    for (size_t i = 1; i < count; i++) {
        const uint64_t before = key_of(array + (i - 1) * size), key = key_of(array + i * size);

        is_sorted = is_sorted && before <= key;
        *differing |= before ^ key;
    }
    return is_sorted;
}

static void insert_each(char *array, size_t count, size_t size) {
    char moved[SORTED_SIZE];

    for (size_t i = 1; i < count; i++) {
        size_t place = i;

        memcpy(moved, array + i * size, size);
        while (place > 0 && key_of(array + (place - 1) * size) > key_of(moved))
            place--;
        memmove(array + (place + 1) * size, array + place * size, (i - place) * size);
        memcpy(array + place * size, moved, size);
    }
}

static void sort_by_digit(const char *from, char *to, size_t count, size_t size, unsigned shift) {
    size_t places[DIGITS + 1] = {0};

    for (size_t i = 0; i < count; i++)
        places[(key_of(from + i * size) >> shift) % DIGITS + 1]++;
    for (size_t d = 1; d < DIGITS; d++)
        places[d] += places[d - 1];
    for (size_t i = 0; i < count; i++, from += size)
        memcpy(to + places[(key_of(from) >> shift) % DIGITS]++ * size, from, size);
}

static int sorted_compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void sorted_sort(void *array, size_t count, size_t size) {
    uint64_t differing;
    char *spare, *from = array, *to;

    assert(size >= sizeof(int64_t) && size <= SORTED_SIZE);
    if (look(array, count, size, &differing))
        return;
    if (count <= FEW) {
        insert_each(array, count, size);
        return;
    }
    to = spare = malloc(count * size);
    if (spare == NULL) {
        qsort(array, count, size, sorted_compare);
        return;
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
        if ((differing >> shift) % DIGITS != 0) {
            char *sorted = to;

            sort_by_digit(from, to, count, size, shift);
            to = from;
            from = sorted;
        }
    if (from != array)
        memcpy(array, from, count * size);
    free(spare);
}

/* Steps away from `near`, each twice as far as the one before, until the place is between two. */
size_t sorted_count_near(const int64_t *numbers, size_t count, size_t near, int64_t number) {
    size_t low = near < count ? near : count, high = low, step = 1;

    if (low < count && numbers[low] < number) {
        for (low++; step <= count - low && numbers[low + step - 1] < number; step *= 2)
            low += step;
        high = step <= count - low ? low + step - 1 : count;
    } else {
        for (; low > 0 && numbers[low - 1] >= number; step *= 2) {
            high = low - 1;
            low = step < low ? low - step : 0;
        }
    }
    return low + sorted_count_below(numbers + low, high - low, number);
}

size_t sorted_count_below(const int64_t *numbers, size_t count, int64_t number) {
    size_t low = 0;

    while (count > 0) {
        const size_t half = count / 2;

        if (numbers[low + half] < number) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}
