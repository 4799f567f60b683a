/* Reads under the lock and writes under the lock, and gives it back between. */
#include "strategy.h"

#include <stddef.h>

static enum outcome read_locked(struct sale *sale, struct stock_row *seen) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_stock(sale, 0, seen);
    store_unlock(sale, lock, outcome);
    return outcome == OUTCOME_OK && seen->available <= 0 ? OUTCOME_SOLD_OUT : outcome;
}

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    struct store_lock *lock;
    enum outcome outcome = read_locked(sale, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    store_work(sale);
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
    .summary = "a lease for the read, and another one for the write",
    .promise = "nothing: a planted bug",
    .breaks = "a sale between the two leases",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
