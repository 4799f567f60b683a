/* Chapter 2: a lock around the sale. Is the whole sale inside? Do both instances share this lock?
 */
#include "strategy.h"

static enum outcome sell_locked(struct sale *sale, const struct stock_row *seen) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_LOCAL, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_write_stock(sale, seen, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    /* To do: the read above was made without the lock. */
    return sell_locked(sale, &seen);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a lock in this process around the write",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
