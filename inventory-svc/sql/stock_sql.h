/* SQL of the stock and of selling from it: each sale is one statement that also writes the ledger.
 *
 * All of these run in a fiber, end soon after `deadline_ms`, and set `why` when they return
 * BUSY, UNKNOWN or FAILED. */
#ifndef INVENTORY_STOCK_SQL_H
#define INVENTORY_STOCK_SQL_H

#include "pg.h"
#include "reservation.h"
#include "statement.h"
#include "store.h"

/* The row to read, on a held connection, or on any if NULL. */
struct stock_read {
    struct pg_conn *on;
    const char *product_id;
    int shard;
    bool returns_to_count; /* the next unit may be one that came back */
    int64_t deadline_ms;
};

/* Read one row, and the server's clock: OK, BUSY, FAILED; CONFLICT when the isolation of the open
 * transaction forbids it. */
enum outcome stock_sql_read(struct pg_pool *pool, const struct stock_read *read,
                            struct stock_row *row, int64_t *server_us, struct why *why);

/* Prepare the statement of stock_sql_write() on the held connection `on`: OK, BUSY, FAILED. */
enum outcome stock_sql_prepare_write(struct pg_pool *pool, struct pg_conn *on, enum guard guard,
                                     int64_t deadline_ms, struct why *why);

/* How to write a row. */
struct stock_write {
    struct pg_conn *on; /* a held connection, or NULL */
    enum guard guard;
    bool is_second;               /* of a cart: add it to the ledger row that this order has */
    const struct stock_row *seen; /* the guard compares with it; may be NULL with GUARD_ANY */
    int64_t not_after_us;         /* by the server's clock */
    int64_t deadline_ms;
};

/* If the guard holds, set the row to sold->remaining, and write `sold` to the ledger.
 *
 *     SOLD
 *     CONFLICT  the guard does not hold; nothing is written
 *     BUSY      the server began after `not_after_us` by its own clock, or could not be reached;
 *               nothing is written
 *     REPEATED  the ledger has this order; nothing is written
 *     UNKNOWN   no answer; or the row is written and the ledger took nothing: one of its triggers
 *               may have put the sale elsewhere
 *     FAILED    nothing is written
 *
 * Only GUARD_FENCE refuses a token older than the row's. Otherwise the row keeps the highest token,
 * and the ledger keeps the token of the write, as evidence. */
enum outcome stock_sql_write(struct pg_pool *pool, const struct stock_write *write,
                             const struct reservation *sold, struct why *why);

/* Take the last unit of the row, if there is one, and fill in `unit` and `remaining` of `sold`.
 * SOLD, SOLD_OUT, REPEATED, BUSY, UNKNOWN, FAILED. */
enum outcome stock_sql_take(struct pg_pool *pool, struct reservation *sold, int64_t deadline_ms,
                            struct why *why);

/* Whether the server would let such a sale begin. If not, `reason` tells the state of the database:
 * "is read only". */
bool stock_sql_is_ready(struct pg_pool *pool, int64_t deadline_ms, char reason[PG_MESSAGE_BYTES]);

/* The same with a unit that an earlier customer gave back. Fills in `shard` and `unit`. */
enum outcome stock_sql_take_returned(struct pg_pool *pool, struct reservation *sold,
                                     int64_t deadline_ms, struct why *why);

/* Orders that each want a unit of one row of stock. The caller fills in the first part. */
struct batch_sale {
    const char *product_id, *instance;
    int shard;
    const struct buffer *order_ids; /* an array of UUIDs (pg_array.h) */
    int64_t deadline_ms;
    bool has_repeats; /* the ledger may have some orders, or some come twice; false is cheaper */

    int64_t first_unit, available; /* of the row before this sale, if it had a unit; else 0 */
    const char *places;            /* of new orders, ascending: "{1,2,5}", or "" for none; without
                                      `has_repeats`, all are new */
    int64_t sold;                  /* rows that the ledger took */
    struct pg_query query;         /* to be cleared when done with `places` */
};

/* Sell a unit to each order that the ledger does not have, in the order of their places from 1,
 * while units last. The k-th order gets the k-th last unit. An order that is here twice buys once.
 * One statement does it all, with the ledger rows. In a fiber; ends soon after `deadline_ms`.
 *
 *     OK                     and the second part is set
 *     REPEATED               no effect: the ledger got one of the orders since the statement began,
 *                            or, without `has_repeats`, had one before or one is here twice
 *     BUSY, UNKNOWN, FAILED  for all orders alike
 *
 * When no unit is left, only `has_repeats` tells apart an order that the ledger has. */
enum outcome stock_sql_take_batch(struct pg_pool *pool, struct batch_sale *sale, struct why *why);

/* ---- Transactions, on a connection that is held from begin to end: begin, lock and read a row,
 * commit. Giving back the connection before the commit rolls back. These also set `why` with
 * CONFLICT. */

/* OK, BUSY, FAILED. */
enum outcome transaction_sql_begin(struct pg_pool *pool, struct pg_conn *on,
                                   enum isolation isolation, int64_t deadline_ms, struct why *why);

/* The row to read for update. */
struct row_wanted {
    const char *product_id;
    int shard;         /* or ANY_SHARD: one with units left */
    int first, shards; /* with ANY_SHARD: the row to try first, and the number of rows */
    enum row_wait wait;
    int64_t wait_ms; /* with ROW_WAIT: at least 1 ms, and no longer than SERVER_MS */
};

/* Read the row and the server's clock, and lock the row until the transaction ends. With
 * return=count another unit may be the last: read the row again. OK, SOLD_OUT (ANY_SHARD: no row has a unit), BUSY (the row stayed locked),
 * CONFLICT, FAILED. */
enum outcome transaction_sql_read(struct pg_pool *pool, struct pg_conn *on,
                                  const struct row_wanted *wanted, struct stock_row *row,
                                  int64_t *server_us, int64_t deadline_ms, struct why *why);

/* OK, CONFLICT, BUSY, UNKNOWN, FAILED. */
enum outcome transaction_sql_commit(struct pg_pool *pool, struct pg_conn *on, int64_t deadline_ms,
                                    struct why *why);

#endif
