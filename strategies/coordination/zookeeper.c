/* ZooKeeper's lock: each who wants it makes a node that numbers itself and lives as long as its
 * session; the lowest holds, and each other one watches the one before it. A paused holder's
 * session ends all the same. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_ZOOKEEPER);
}

const struct strategy strategy_zookeeper = {
    .name = "zookeeper",
    .family = "coordination",
    .summary =
        "ephemeral sequential nodes in ZooKeeper: the lowest holds, each watches the one before",
    .promise =
        "one holder across all instances, which take turns, also when a server of three is lost",
    .breaks = "a holder paused past its session just before it writes, unless fence=on",
    .source = "ZooKeeper recipes, Locks; Three distributed locks, 5",
    .needs = NEEDS_ZOOKEEPER,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .sell = sell,
};
