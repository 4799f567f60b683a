/* Reads and writes under a lock that others share. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock_shared(sale, LOCK_REDIS_RW, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a readers' lock around a write",
    .promise = "nothing: a planted bug",
    .breaks = "two sales that read at once",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
