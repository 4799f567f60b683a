/* A lock that readers share and a writer has alone, Java's ReadWriteLock: whoever finds the stock
 * sold out looked beside others and stood in no line.
 *
 * Who reads and wants to write gives back first, and looks again: two that kept what they share
 * would wait for each other. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome look(struct sale *sale) {
    struct stock_row row;
    struct store_lock *lock;
    enum outcome outcome = store_lock_shared(sale, LOCK_RWLOCK, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_stock(sale, 0, &row);
    store_unlock(sale, lock, outcome);
    return outcome == OUTCOME_OK && row.available <= 0 ? OUTCOME_SOLD_OUT : outcome;
}

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = look(sale);

    if (outcome == OUTCOME_OK)
        outcome = store_lock(sale, LOCK_RWLOCK, 0, &lock);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_rwlock = {
    .name = "rwlock",
    .family = "one process",
    .summary = "a lock in each process: shared to see whether any is left, alone to sell",
    .promise = "no unit sold twice by one instance; sold out is told without a line",
    .breaks = "a second instance: it has a lock of its own",
    .source = "Locks in practice, 2",
    .default_shards = 1,
    .sell = sell,
};
