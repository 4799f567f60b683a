/* Right. An etcd session keeps sales apart, and the version decides. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    enum outcome outcome;

    do
        outcome = lock_shard_then_write(sale, LOCK_ETCD, 0, GUARD_VERSION);
    while (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a session and a version",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .needs = NEEDS_ETCD,
    .default_shards = 1,
    .sell = sell,
};
