/* The strategies of this family that differ only in their lock. Each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "strategy.h"

/* Each sale makes a node that numbers itself and lives as long as its session. The lowest node
 * holds, and each other sale watches the node before its own. The session of a paused holder still
 * ends. */
const struct strategy strategy_zookeeper = {
    .name = "zookeeper",
    .family = "coordination",
    .summary =
        "ephemeral sequential nodes in ZooKeeper: the lowest holds, each watches the one before",
    .promise =
        "one holder across all instances, which take turns, even when one server of three is lost",
    .breaks = "a holder paused past its session just before its write, unless fence=on",
    .source = "ZooKeeper recipes, Locks; Three distributed locks, 5",
    .needs = NEEDS_ZOOKEEPER,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_ZOOKEEPER,
};

/* One node and no queue: the sale that makes the node holds. When the node goes, all waiters wake,
 * and one of them wins. */
const struct strategy strategy_zookeeper_unfair = {
    .name = "zookeeper-unfair",
    .family = "coordination",
    .summary = "one ephemeral node in ZooKeeper: its creator holds, and all others watch it",
    .promise = "one holder across all instances, even when one server of three is lost",
    .breaks = "like zookeeper; each release wakes all waiters",
    .source = "Three distributed locks, 5",
    .needs = NEEDS_ZOOKEEPER,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_ZOOKEEPER_UNFAIR,
};

/* The oldest key holds, and each other sale watches the key before its own. */
const struct strategy strategy_etcd = {
    .name = "etcd",
    .family = "coordination",
    .summary = "keys in etcd, each under a lease that is kept alive: the oldest key holds",
    .promise =
        "one holder across all instances, which take turns, even when one server of three is lost",
    .breaks = "a holder paused past its lease just before its write, unless fence=on",
    .source = "etcd concurrency API; Jepsen, etcd 3.4.3",
    .needs = NEEDS_ETCD,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_ETCD,
};
