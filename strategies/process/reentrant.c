/* A holder may take the lock again, like with Java's ReentrantLock. A function that locks may call
 * another one that locks, and the lock is free when both have released it. Under `mutex` the inner
 * function would wait for its own caller. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome reentrant_sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REENTRANT, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = lock_then_write(sale, LOCK_REENTRANT); /* takes it again */
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_reentrant = {
    .name = "reentrant",
    .family = "one process",
    .summary =
        "each process has a lock; its holder may take it again, and must release it as often",
    .promise = "one instance never sells a unit twice, and no sale waits for itself",
    .breaks = "a second instance has its own lock",
    .source = "Locks in practice, 2",
    .default_shards = 1,
    .sell = reentrant_sell,
};
