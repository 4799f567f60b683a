/* What is known of states: open addressing, by their hash. */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include "model.h"

/* The way from a state to the nearest violation: fewest preemptions and faults, then fewest moves.
 */
struct distance {
    uint16_t cost, moves;
};
#define DISTANCE_NONE                                                                              \
    (struct distance) {                                                                            \
        UINT16_MAX, UINT16_MAX                                                                     \
    }
static inline bool is_nearer(struct distance a, struct distance b) {
    return a.cost != b.cost ? a.cost < b.cost : a.moves < b.moves;
}

struct known {
    uint64_t key;       /* 0: a free place */
    uint64_t schedules; /* from here to the end */
    uint64_t violated;  /* of these */
    struct distance distance;
    struct model_move nearest; /* to take; when there is a way */
};

struct table {
    struct known *places;
    size_t count, size;
};

/* NULL: not known. */
const struct known *table_find(const struct table *table, uint64_t key);
/* Its key is not there yet. 0, or -1 without memory, or when more than `bytes` were needed. */
__attribute__((warn_unused_result)) int table_add(struct table *table, const struct known *known,
                                                  size_t bytes);
void table_free(struct table *table);

#endif
