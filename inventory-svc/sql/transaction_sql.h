/* SQL of transactions, on a connection that is held from begin to end: begin, read a row and keep
 * it from others, commit. A held connection that is given back before its commit is rolled back.
 *
 * All of these run in a fiber, end soon after `deadline_ms`, and set `why` when they return
 * BUSY, CONFLICT, UNKNOWN or FAILED. */
#ifndef INVENTORY_TRANSACTION_SQL_H
#define INVENTORY_TRANSACTION_SQL_H

#include "pg.h"
#include "statement.h"
#include "store.h"

/* OK, BUSY, FAILED. */
enum outcome transaction_sql_begin(struct pg_pool *pool, struct pg_conn *on,
                                   enum isolation isolation, int64_t deadline_ms, struct why *why);

/* Which row is read for update. */
struct row_wanted {
    const char *product_id;
    int shard;         /* or ANY_SHARD: one with units left */
    int first, shards; /* with ANY_SHARD: where to look first, of how many */
    enum row_wait wait;
    int64_t wait_ms; /* with ROW_WAIT; at least one is waited, and no longer than SERVER_MS */
};

/* Read the row, not of one with return=count, and the server's clock, and lock the row until the
 * transaction ends: OK, SOLD_OUT (ANY_SHARD: no row has a unit), BUSY (it stayed locked), CONFLICT,
 * FAILED. */
enum outcome transaction_sql_read(struct pg_pool *pool, struct pg_conn *on,
                                  const struct row_wanted *wanted, struct stock_row *row,
                                  int64_t *server_us, int64_t deadline_ms, struct why *why);

/* OK, CONFLICT, BUSY, UNKNOWN, FAILED. */
enum outcome transaction_sql_commit(struct pg_pool *pool, struct pg_conn *on, int64_t deadline_ms,
                                    struct why *why);

#endif
