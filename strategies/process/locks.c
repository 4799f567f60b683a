/* The strategies of this family that differ only in their lock. Each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "read_then_write.h"
#include "strategy.h"

/* The article's `synchronized`. Right with one instance and wrong with two, because each instance
 * has its own lock. */
const struct strategy strategy_mutex = {
    .name = "mutex",
    .family = "one process",
    .summary = "each process has a first-come-first-served lock",
    .promise = "one instance never sells a unit twice",
    .breaks = "a second instance has its own lock",
    .source = "How a distributed lock is made, 1",
    .default_shards = 1,
    .lock = LOCK_LOCAL,
};

/* A sale tries the lock again at each turn of the loop, so the loop never sleeps meanwhile. Without
 * a queue, luck decides which sale is next. The waiters burn the processor that the holder needs.
 */
const struct strategy strategy_spin = {
    .name = "spin",
    .family = "one process",
    .summary = "each process has a lock; waiters try it again and again, without a queue",
    .promise = "one instance never sells a unit twice",
    .breaks =
        "a second instance has its own lock; contention: waiters burn the processor and win in no "
        "order",
    .source = "An overview of locks, spin locks",
    .default_shards = 1,
    .lock = LOCK_SPIN,
};

/* Readers share the lock and a writer holds it alone, as in Java's ReadWriteLock. A sale that finds
 * the stock sold out has read beside other readers and did not wait for them. */
static enum outcome sell_by_rwlock(struct sale *sale) {
    return look_then_write(sale, LOCK_RWLOCK);
}

const struct strategy strategy_rwlock = {
    .name = "rwlock",
    .family = "one process",
    .summary = "each process has a lock: shared to check the stock, exclusive to sell",
    .promise = "one instance never sells a unit twice; sales that only check run side by side",
    .breaks = "a second instance has its own lock",
    .source = "Locks in practice, 2",
    .default_shards = 1,
    .sell = sell_by_rwlock,
};
