/* Chapter 7, first step: check the lease just before the write. A holder that stops after the check
 * still writes. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: the check is here, but the write happens at the row. What could the row check? */
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a lease that is renewed, and checked before the write",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
