/* Chapter 8: a lease at one Redis with a replica. The replica hears of the lease later. If the
 * server fails first, it never does. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: which server knows this lease after the first server is gone? */
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a lease at one Redis",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_REPLICAS,
    .default_shards = 1,
    .sell = sell,
};
