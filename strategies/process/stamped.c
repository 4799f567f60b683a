/* An optimistic read, like Java's StampedLock. A sale reads and works without a lock. It takes
 * the lock only to write, and only if the stamp proves that nobody held it since. Otherwise the
 * sale starts again. */
#include "strategy.h"

static enum outcome sell_if_unchanged(struct sale *sale) {
    uint64_t stamp = store_stamp(sale, 0);
    struct stock_row seen;
    struct store_lock *lock;
    enum outcome outcome;

    if (stamp == 0)
        return OUTCOME_CONFLICT;
    outcome = store_read_stock(sale, 0, &seen);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = store_lock_stamped(sale, 0, stamp, &lock);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_write_stock(sale, &seen, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static enum outcome stamped_sell(struct sale *sale) {
    enum outcome outcome;

    while ((outcome = sell_if_unchanged(sale)) == OUTCOME_CONFLICT)
        if (store_pause(sale) != OUTCOME_OK)
            return OUTCOME_BUSY;
    return outcome;
}

const struct strategy strategy_stamped = {
    .name = "stamped",
    .family = "one process",
    .summary =
        "read and work without a lock; lock to write only if nobody held it since, else retry",
    .promise = "one instance never sells a unit twice; a sale that only checks takes no lock",
    .breaks = "a second instance has its own stamp; contention: most of the work is thrown away",
    .source = "Locks in practice, 2",
    .default_shards = 1,
    .sell = stamped_sell,
};
