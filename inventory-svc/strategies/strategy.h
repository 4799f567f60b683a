/* Strategies: the ways to guard the stock, one file each in strategies/, found by name in one
 * table. */
#ifndef INVENTORY_STRATEGY_H
#define INVENTORY_STRATEGY_H

#include "store.h"

#include <stddef.h>

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

/* A spec `name[,option=value...]`, parsed. 0; or -1, and `why` says what is wrong and lists what
 * exists. */
struct strategy_spec {
    const struct strategy *strategy;
    struct sale_options options;
    char fail[128]; /* the text of fail=, "" for none; see failpoint.h */
};
__attribute__((warn_unused_result)) int strategy_parse(const char *text, struct strategy_spec *spec,
                                                       char *why, size_t why_size);

#endif
