/* Right. Looks without the lock, and reads again under it. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct stock_row row;
    enum outcome outcome = store_read_stock(sale, 0, &row);

    if (outcome != OUTCOME_OK)
        return outcome;
    return row.available > 0 ? lock_shard_then_write(sale, LOCK_FLOCK, 0, GUARD_ANY)
                             : OUTCOME_SOLD_OUT;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a look, then flock, then a read",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
