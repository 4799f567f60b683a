/* It brings a function of the store of its own, which always sells. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum outcome store_take_stock(struct sale *sale, int shard) {
    sale->shard = shard;
    sale->unit = 1;
    return OUTCOME_SOLD;
}

static enum outcome sell(struct sale *sale) {
    return store_take_stock(sale, 0);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
