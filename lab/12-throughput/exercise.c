/* Chapter 12: one lease around the sale, with a fence. It is right under every fault of this
 * course, but slow. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: lock, read, work, write, unlock; one sale at a time. Which of these do you need? */
    outcome = read_then_write(sale, 0, GUARD_FENCE, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "one lease, fenced",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
