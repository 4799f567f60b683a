/* The strategies of this family that differ in their lock alone: each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "strategy.h"

/* A session stays open as long as the sale holds the lock. Postgres keeps the line of waiters, and
 * ends the lock with the session. */
const struct strategy strategy_pg_advisory = {
    .name = "pg-advisory",
    .family = "database",
    .summary = "an advisory lock in a session of its own, which ends once it is idle for the TTL",
    .promise =
        "one holder across all instances, in order of arrival unless handover= is set; a pooler is refused",
    .breaks =
        "a holder paused past its TTL just before its write, or killed while its write is on the way, unless fence=on",
    .source = "PostgreSQL, Advisory Locks; lockkit.h",
    .takes = TAKES_FENCE | TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_PG_ADVISORY,
};

/* Each statement goes to any free connection of a pool. The lock belongs to the session that was
 * asked, and a session that has it gets it again: so it keeps out no sale that finds the same
 * session, and is often given back on another one, where it is not held. It is right only where one
 * session lasts from the lock to the unlock and serves nobody else meanwhile. A pooler in
 * transaction mode promises the opposite. */
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
