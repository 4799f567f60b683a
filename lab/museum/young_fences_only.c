/* The row refuses old tokens only while tokens are small. */
#include "strategy.h"

static enum outcome sell_under(struct sale *sale, const struct store_lock *lock) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, &seen, seen.fence < 9 ? GUARD_FENCE : GUARD_ANY, lock);
}

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = sell_under(sale, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "the row refuses old tokens only while tokens are small",
    .promise = "nothing: a planted bug",
    .breaks = "the tokens of a real server, which are large",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
