/* SELECT pg_try_advisory_lock() and pg_advisory_unlock(), each a statement on whichever connection
 * of a pool is free. The lock belongs to the session that it was asked on, and a session that has
 * it gets it again: so it keeps nobody out who finds the same one, and is often given back on
 * another, where it is not held. Right only where one session lasts from the lock to the unlock,
 * and nobody else uses it meanwhile: a pooler in transaction mode promises the opposite. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_PG_ADVISORY_RAW);
}

const struct strategy strategy_pg_advisory_raw = {
    .name = "pg-advisory-raw",
    .family = "database",
    .summary =
        "pg_try_advisory_lock and pg_advisory_unlock as statements over a pool of connections",
    .promise = "nothing: the lock is its session's, and sessions are shared",
    .breaks =
        "two sales on one session, as a transaction pooler gives it; an unlock on another one",
    .source = "PostgreSQL, Advisory Locks; pgbouncer, Features",
    .default_shards = 1,
    .sell = sell,
};
