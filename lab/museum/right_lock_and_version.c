/* Right. A lease keeps sales apart, and the version decides. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome try_once(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_VERSION, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = try_once(sale);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_once(sale);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a lease and a version",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
