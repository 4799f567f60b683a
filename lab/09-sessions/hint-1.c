/* Chapter 9, first step: a node in ZooKeeper that lives as long as its creator's session. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_ZOOKEEPER, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: a session can end while its holder works. Check it before the write. */
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a node that lives as long as a session",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .needs = NEEDS_ZOOKEEPER,
    .default_shards = 1,
    .sell = sell,
};
