/* Strategies: the ways to guard the stock, one file each, found by name in one table. */
#ifndef INVENTORY_STRATEGY_H
#define INVENTORY_STRATEGY_H

#include "store.h"

struct strategy {
    const char *name;
    const char *summary; /* how it guards the stock, one line */
    const char *promise; /* what it keeps and what breaks it, one line */
    int default_shards;
    /* Sell one unit: SOLD, SOLD_OUT, BUSY, CONFLICT, REPEATED, UNKNOWN or FAILED. */
    enum outcome (*sell)(struct sale *sale);
};

/* All strategies, in the order of the ladder; ends with NULL. */
extern const struct strategy *const strategies[];

#endif
