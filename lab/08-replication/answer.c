/* Chapter 8, an answer: a majority survives the loss of servers. A fence covers the rest, which no
 * lease can promise. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDLOCK, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_FENCE, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a lease at a majority of five Redis, and a fence",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .needs = NEEDS_REDLOCK,
    .takes = TAKES_REPLICAS,
    .default_shards = 1,
    .sell = sell,
};
