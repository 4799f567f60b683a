/* Sorts many ids fast: by the 8 bytes after their common beginning, and by the rest where these are
 * equal. */
#ifndef JUDGE_IDS_H
#define JUDGE_IDS_H

#include <stddef.h>
#include <stdint.h>

/* A loop over ids that lie in no order asks for the memory of the id that is so many further. */
#define IDS_AHEAD 16

struct ids_entry {
    uint64_t part; /* ids_sort() sets it */
    const char *id;
    const void *row; /* the caller's */
};

/* Sorts by id; entries of one id keep their order. Returns 0, or -1 without memory. */
__attribute__((warn_unused_result)) int ids_sort(struct ids_entry *entries, size_t count);

#endif
