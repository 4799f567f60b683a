/* A lease in Redis around the critical section: one holder across all instances, as long as a
 * holder is not paused between its last check and its write for longer than the TTL, and Redis does
 * not forget who holds. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_REDIS);
}

const struct strategy strategy_redis = {
    .name = "redis",
    .family = "Redis",
    .summary = "a lease in Redis: random owner, TTL, renewal, compare-and-delete",
    .promise = "one holder across all instances: no unit sold twice",
    .breaks = "a holder paused past its TTL just before it writes; lost keys (FLUSHALL, eviction, "
              "failover)",
    .source = "How a distributed lock is made, 3.3 and 3.6; lockkit.h",
    .takes = TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .sell = sell,
};
