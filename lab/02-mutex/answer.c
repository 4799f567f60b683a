/* Chapter 2, an answer: a lock on a file of the machine. Both processes see it. The kernel frees it
 * when its holder dies. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_FLOCK, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "flock on a file that all processes of the machine see",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
