/* Writes without a guard after the fence has refused it. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_FENCE, lock);
    if (outcome == OUTCOME_CONFLICT)
        outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "writes without a guard after the fence has refused it",
    .promise = "nothing: a planted bug",
    .breaks = "a holder that stands still, and comes back",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
