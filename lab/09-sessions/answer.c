/* Chapter 9, an answer: ZooKeeper gives each node a number, its czxid. It is a fencing token. The
 * row refuses an older token. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_ZOOKEEPER, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_FENCE, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a node that lives as long as a session, and a fence",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .needs = NEEDS_ZOOKEEPER,
    .default_shards = 1,
    .sell = sell,
};
