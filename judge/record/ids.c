/* A radix sort, which reads each id a few times, in the order of the memory. A sort by comparisons
 * reads each id twenty times, in no order. */
#include "ids.h"

#include <stdlib.h>
#include <string.h>

#define PART 8 /* bytes */

static size_t find_common(const struct ids_entry *entries, size_t count) {
    size_t common = count > 0 ? strlen(entries[0].id) : 0;

    for (size_t i = 1; i < count; i++) {
        if (i + IDS_AHEAD < count)
            __builtin_prefetch(entries[i + IDS_AHEAD].id);
        for (size_t k = 0; k < common; k++)
            if (entries[i].id[k] != entries[0].id[k])
                common = k;
    }
    return common;
}

static uint64_t read_part(const char *text) {
    uint64_t part = 0;
    size_t k = 0;

    for (; k < PART && text[k] != '\0'; k++)
        part = part << 8 | (unsigned char)text[k];
    return k > 0 ? part << 8 * (PART - k) : 0;
}

/* By one byte of `part`. Returns 0 if all entries have the same: nothing was moved. */
static int sort_by_byte(const struct ids_entry *from, struct ids_entry *to, size_t count,
                        int shift) {
    size_t places[257] = {0};

    for (size_t i = 0; i < count; i++)
        places[(from[i].part >> shift & 255) + 1]++;
    if (places[(from[0].part >> shift & 255) + 1] == count)
        return 0;
    for (size_t i = 0; i < 256; i++)
        places[i + 1] += places[i];
    for (size_t i = 0; i < count; i++)
        to[places[from[i].part >> shift & 255]++] = from[i];
    return 1;
}

/* Few ids have the same part. */
static void sort_equal(struct ids_entry *entries, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const struct ids_entry entry = entries[i];
        size_t place = i;

        while (place > 0 && entries[place - 1].part == entry.part &&
               strcmp(entries[place - 1].id, entry.id) > 0) {
            entries[place] = entries[place - 1];
            place--;
        }
        entries[place] = entry;
    }
}

int ids_sort(struct ids_entry *entries, size_t count) {
    const size_t common = find_common(entries, count);
    struct ids_entry *other = malloc((count + 1) * sizeof *other), *from = entries, *to = other;

    if (other == NULL)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (i + IDS_AHEAD < count)
            __builtin_prefetch(entries[i + IDS_AHEAD].id + common);
        entries[i].part = read_part(entries[i].id + common);
    }
    for (int shift = 0; shift < 64 && count > 1; shift += 8)
        if (sort_by_byte(from, to, count, shift)) {
            struct ids_entry *swap = from;

            from = to;
            to = swap;
        }
    if (from != entries)
        memcpy(entries, from, count * sizeof *entries);
    free(other);
    sort_equal(entries, count);
    return 0;
}
