/* SQL of locks that are rows of a table: one per shard of a product, never deleted, so that its
 * fencing token only grows. Whose it is says a random token; how long, the database's clock.
 *
 * Both run in a fiber, and set `message` when they return BUSY or FAILED. */
#ifndef INVENTORY_LOCK_SQL_H
#define INVENTORY_LOCK_SQL_H

#include "pg.h"
#include "statement.h"
#include "store.h"

struct table_lock {
    const char *product_id;
    int shard;
    const char *token;
};

/* Take it for `ttl_ms` from now, if it is free, has expired, or is this token's already: OK, and
 * then *fence, above all before; BUSY: it is held, or the database could not be asked; UNKNOWN: it
 * may be this token's; FAILED. */
enum outcome lock_sql_take(struct pg_pool *pool, const struct table_lock *lock, int64_t ttl_ms,
                           int64_t *fence, int64_t deadline_ms, char message[MESSAGE_BYTES]);

/* Give it back, if it is still this token's: OK, BUSY, UNKNOWN, FAILED. */
enum outcome lock_sql_give_back(struct pg_pool *pool, const struct table_lock *lock,
                                int64_t deadline_ms, char message[MESSAGE_BYTES]);

/* An advisory lock of whichever session of the pool is free: OK, and *is_yes says whether that
 * session has it now, or had it until now; BUSY, FAILED. Nothing is prepared. */
enum advisory_verb { ADVISORY_TRY, ADVISORY_UNLOCK };
enum outcome lock_sql_advisory(struct pg_pool *pool, enum advisory_verb verb,
                               const char *product_id, int shard, bool *is_yes, int64_t deadline_ms,
                               char message[MESSAGE_BYTES]);

#endif
