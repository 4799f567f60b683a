/* An advisory lock of a session that stays open as long as the sale holds it: Postgres's own line
 * of waiters, and its own end when the session ends. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_PG_ADVISORY);
}

const struct strategy strategy_pg_advisory = {
    .name = "pg-advisory",
    .family = "database",
    .summary = "an advisory lock of a session of its own, which ends when it is idle for the TTL",
    .promise = "one holder across all instances, in the order they came without handover=; a "
               "pooler is refused",
    .breaks = "a holder paused past its TTL just before it writes, or killed while its write is on "
              "its way, unless fence=on",
    .source = "PostgreSQL, Advisory Locks; lockkit.h",
    .takes = TAKES_FENCE | TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .sell = sell,
};
