/* etcd's lock: a key under a lease that is kept alive; the key that was created first holds, and
 * each other one watches the one before it. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_ETCD);
}

const struct strategy strategy_etcd = {
    .name = "etcd",
    .family = "coordination",
    .summary = "a key in etcd under a lease that is kept alive; the oldest holds",
    .promise =
        "one holder across all instances, which take turns, also when a server of three is lost",
    .breaks = "a holder paused past its lease just before it writes, unless fence=on",
    .source = "etcd concurrency API; Jepsen, etcd 3.4.3",
    .needs = NEEDS_ETCD,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .sell = sell,
};
