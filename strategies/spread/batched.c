/* One statement sells to all that wait: the row is locked, and the disk written, once for as many
 * sales as have come meanwhile. */
#include "strategy.h"

static enum outcome batched_sell(struct sale *sale) {
    store_work(sale);
    return store_take_in_batch(sale, 0);
}

const struct strategy strategy_batched = {
    .name = "batched",
    .family = "spread",
    .summary = "as atomic, but one statement sells to all that came while the last was under way",
    .promise = "no unit sold twice, whatever is paused or killed",
    .breaks = "nothing that is known",
    .source = "PostgreSQL, Read Committed Isolation Level",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = batched_sell,
};
