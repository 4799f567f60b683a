/* Chapter 8, first step: wait until a replica confirms that it has the lease. But which replica
 * takes over? */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS_WAIT, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: one replica has the lease. Perhaps the other replica takes over. */
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a lease that a replica has",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_REPLICAS,
    .default_shards = 1,
    .sell = sell,
};
