/* One statement sells to all waiting sales. It locks the row and writes the disk once for all sales
 * that arrived meanwhile. */
#include "strategy.h"

static enum outcome batched_sell(struct sale *sale) {
    store_work(sale);
    return store_take_in_batch(sale, 0);
}

const struct strategy strategy_batched = {
    .name = "batched",
    .family = "spread",
    .summary = "like atomic, but one statement sells to all sales that arrived during the last one",
    .promise = "no unit is sold twice, under any pause or kill",
    .breaks = "nothing known",
    .source = "PostgreSQL, Read Committed Isolation Level",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = batched_sell,
};
