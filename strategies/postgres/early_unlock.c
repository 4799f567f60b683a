/* Wrong on purpose: the lease ends before the transaction does. This happens where a framework
 * commits after the method that locks. The next holder reads the old count, because the new one is
 * not committed yet. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome early_unlock_sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome begun, outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    begun = outcome = store_begin(sale, READ_COMMITTED);
    if (begun == OUTCOME_OK)
        outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return begun == OUTCOME_OK ? store_end(sale, outcome) : outcome;
}

const struct strategy strategy_early_unlock = {
    .name = "early-unlock",
    .family = "database",
    .summary =
        "a Redis lease around the read and write of a transaction, released before the commit",
    .promise = "nothing: the next holder may read before the commit",
    .breaks = "any sale between another sale's unlock and its commit: both sell the same unit",
    .source = "the synchronized method under @Transactional",
    .default_shards = 1,
    .sell = early_unlock_sell,
};
