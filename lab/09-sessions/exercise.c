/* Chapter 9: a folder that all processes of the machine see. The sale that makes the folder holds
 * the lock, and removes the folder to release it. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_MKDIR, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: what removes the folder of a dead holder? */
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a folder is the lock",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
