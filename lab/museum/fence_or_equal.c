/* Compares the row's fence itself, before the write, and with <=. */
#include "strategy.h"

#include <stddef.h>

static enum outcome write_unless_fenced(struct sale *sale, const struct stock_row *seen) {
    struct stock_row now;
    enum outcome outcome = store_read_stock(sale, 0, &now);

    if (outcome != OUTCOME_OK)
        return outcome;
    return now.fence <= seen->fence ? store_write_stock(sale, seen, GUARD_ANY, NULL)
                                    : OUTCOME_CONFLICT;
}

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_stock(sale, 0, &seen);
    if (outcome == OUTCOME_OK && seen.available <= 0)
        outcome = OUTCOME_SOLD_OUT;
    if (outcome == OUTCOME_OK) {
        store_work(sale);
        outcome = write_unless_fenced(sale, &seen);
    }
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a lease, and a fence that the sale compares instead of the row",
    .promise = "nothing: a planted bug",
    .breaks = "a pause past the lease: all fences are equal",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
