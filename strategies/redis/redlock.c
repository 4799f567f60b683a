/* Redlock: a lease at a majority of several Redis that know nothing of each other, so that it
 * outlives the loss of a minority. It is a lease all the same, and ends in a pause. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_REDLOCK);
}

const struct strategy strategy_redlock = {
    .name = "redlock",
    .family = "Redis",
    .summary = "a lease at a majority of five Redis that know nothing of each other",
    .promise = "as redis, also when two of the five are lost",
    .breaks =
        "a holder paused past its TTL just before it writes; a clock that jumps at a majority",
    .source = "Redis, Distributed Locks; Kleppmann, 2016",
    .needs = NEEDS_REDLOCK,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .sell = sell,
};
