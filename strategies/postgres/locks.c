/* The strategies of this family that differ only in their lock. Each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "strategy.h"

/* A session stays open for as long as the sale holds the lock. Postgres keeps the queue of waiters,
 * and ends the lock with the session. */
const struct strategy strategy_pg_advisory = {
    .name = "pg-advisory",
    .family = "database",
    .summary = "an advisory lock in a session of its own, which ends once it is idle for the TTL",
    .promise =
        "one holder across all instances, in order of arrival unless handover= is set; a pooler is "
        "refused",
    .breaks =
        "a holder paused past its TTL just before its write, or killed while its write is on the "
        "way, unless fence=on",
    .source = "PostgreSQL, Advisory Locks; lockkit.h",
    .takes = TAKES_FENCE | TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_PG_ADVISORY,
};

/* Each statement goes to any free connection of a pool. The lock belongs to the session of that
 * connection, and a session may take its own lock again. So two sales on one session do not exclude
 * each other, and an unlock often reaches a session that does not hold the lock. This is right only
 * if one session serves one sale, and no other, from lock to unlock. A pooler in transaction mode
 * promises the opposite. */
const struct strategy strategy_pg_advisory_raw = {
    .name = "pg-advisory-raw",
    .family = "database",
    .summary =
        "pg_try_advisory_lock and pg_advisory_unlock as statements over a pool of connections",
    .promise = "nothing: a session owns the lock, and sales share sessions",
    .breaks = "two sales on one session, behind a transaction pooler; an unlock on another session",
    .source = "PostgreSQL, Advisory Locks; pgbouncer, Features",
    .default_shards = 1,
    .lock = LOCK_PG_ADVISORY_RAW,
};
