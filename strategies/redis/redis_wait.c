/* The lease of `redis`, and it is ours only once so many replicas have confirmed it. One that has
 * it may be promoted; but nobody can tell Redis to promote that one. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_REDIS_WAIT);
}

const struct strategy strategy_redis_wait = {
    .name = "redis-wait",
    .family = "Redis",
    .summary = "as redis, and the lease counts once WAIT says that replicas= have it",
    .promise = "as redis, also when a replica is promoted that has the lease",
    .breaks = "as redis; the promotion of a replica that does not have the lease; no replica: "
              "nothing is sold",
    .source = "Redis, WAIT: no strongly consistent store",
    .takes = TAKES_FENCE | TAKES_REPLICAS,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .sell = sell,
};
