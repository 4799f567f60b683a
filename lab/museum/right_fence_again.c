/* Right. A majority's lease and a fence; after a conflict a new lease. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    enum outcome outcome;

    do
        outcome = lock_shard_then_write(sale, LOCK_REDLOCK, 0, GUARD_FENCE);
    while (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a lease of a majority, a fence, and a retry",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_REPLICAS,
    .needs = NEEDS_REDLOCK,
    .default_shards = 1,
    .sell = sell,
};
