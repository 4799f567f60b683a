/* ZooKeeper without a line: one node, and who makes it holds. When it goes, all that wait are
 * woken, and one of them wins. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_ZOOKEEPER_UNFAIR);
}

const struct strategy strategy_zookeeper_unfair = {
    .name = "zookeeper-unfair",
    .family = "coordination",
    .summary = "one ephemeral node in ZooKeeper: who makes it holds, and all others watch it",
    .promise = "one holder across all instances, also when a server of three is lost",
    .breaks = "as zookeeper; each release wakes all who wait",
    .source = "Three distributed locks, 5",
    .needs = NEEDS_ZOOKEEPER,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .sell = sell,
};
