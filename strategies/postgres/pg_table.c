/* A unique row is the lock. A sale holds it after it has inserted the row, or taken over a free or
 * expired one. Waiters are told of a release, and poll for an expiry. The stock row refuses a late
 * holder, because a newer fencing token has written there. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome pg_table_sell(struct sale *sale) {
    return lock_shard_then_write(sale, LOCK_TABLE, 0, GUARD_FENCE);
}

const struct strategy strategy_pg_table = {
    .name = "pg-table",
    .family = "database",
    .summary = "a unique row is the lock: owner token, TTL by the database's clock, fencing token",
    .promise = "no unit is sold twice, even after a pause past the TTL: the late write is refused",
    .breaks = "work longer than the TTL: the lock has no renewal, and nothing is sold",
    .source = "How a distributed lock is made, 2; Three distributed locks, 3; Kleppmann, 2016",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = pg_table_sell,
};
