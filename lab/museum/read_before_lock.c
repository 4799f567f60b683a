/* Reads the stock before it takes the lock. Only the write is inside. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    struct store_lock *lock;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    outcome = store_lock(sale, LOCK_REDIS, 0, &lock);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_write_stock(sale, &seen, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a Redis lease around the write alone",
    .promise = "nothing: a planted bug",
    .breaks = "another sale between the read and the lock",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
