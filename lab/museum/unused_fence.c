/* Takes a lease with a fencing token, but writes without a check of it. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a Redis lease without a check before the write",
    .promise = "nothing: a planted bug",
    .breaks = "a pause past the lease, anywhere before the write",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
