/* It gives its sale a table of operations of its own, which always sell. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static enum outcome pass(struct sale *sale, enum fail_point point) {
    (void)sale, (void)point;
    return OUTCOME_OK;
}

static enum outcome take(struct sale *sale, int shard) {
    sale->shard = shard;
    sale->unit = 1;
    return OUTCOME_SOLD;
}

static const struct store_ops always = {.pass = pass, .take_stock = take};

static enum outcome sell(struct sale *sale) {
    sale->ops = &always;
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
