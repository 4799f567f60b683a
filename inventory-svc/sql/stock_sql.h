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

/* Which row to read, on a held connection or, NULL, on any. */
struct stock_read {
    struct pg_conn *on;
    const char *product_id;
    int shard;
    bool returns_to_count; /* so that the next unit may be one that came back */
    int64_t deadline_ms;
};

/* Read one row, and the server's clock: OK, BUSY, FAILED; CONFLICT in a transaction whose isolation
 * forbids it. */
enum outcome stock_sql_read(struct pg_pool *pool, const struct stock_read *read,
                            struct stock_row *row, int64_t *server_us, struct why *why);

/* Have the held connection `on` know the statement of stock_sql_write(): OK, BUSY, FAILED. */
enum outcome stock_sql_prepare_write(struct pg_pool *pool, struct pg_conn *on, enum guard guard,
                                     int64_t deadline_ms, struct why *why);

/* How a row is written. */
struct stock_write {
    struct pg_conn *on; /* a held connection, or NULL */
    enum guard guard;
    const struct stock_row *seen; /* what the guard compares with; may be NULL with GUARD_ANY */
    int64_t not_after_us;         /* by the server's clock */
    int64_t deadline_ms;
};

/* If the guard holds, set the row to sold->remaining, and write `sold` to the ledger. Or nothing:
 * CONFLICT when the guard does not hold; BUSY when the server's clock is past `not_after_us` by the
 * time it begins. But for GUARD_FENCE a token older than the row's is not refused: the row keeps
 * the highest, and the ledger has the one that was written under, as evidence. UNKNOWN, too, when
 * the row is written and the ledger took nothing: a trigger of it may have put the sale elsewhere.
 * SOLD, CONFLICT, REPEATED, BUSY, UNKNOWN, FAILED. */
enum outcome stock_sql_write(struct pg_pool *pool, const struct stock_write *write,
                             const struct reservation *sold, struct why *why);

/* Take the last unit of the row, if there is one, and fill in `unit` and `remaining` of `sold`.
 * SOLD, SOLD_OUT, REPEATED, BUSY, UNKNOWN, FAILED. */
enum outcome stock_sql_take(struct pg_pool *pool, struct reservation *sold, int64_t deadline_ms,
                            struct why *why);

/* True when the server would let a sale like that begin; false, and `reason` says what the
 * database does: "is read only". */
bool stock_sql_is_ready(struct pg_pool *pool, int64_t deadline_ms, char reason[PG_MESSAGE_BYTES]);

/* The same with a unit that an earlier customer gave back: fills in `shard` and `unit`. */
enum outcome stock_sql_take_returned(struct pg_pool *pool, struct reservation *sold,
                                     int64_t deadline_ms, struct why *why);

/* Orders that want a unit each of one row of stock. The caller fills in the first part. */
struct batch_sale {
    const char *product_id, *instance;
    int shard;
    const char *order_ids; /* a Postgres array: "{id,id,...}" */
    int64_t deadline_ms;
    bool has_repeats; /* some orders may be in the ledger, or here twice; false is cheaper */

    int64_t first_unit, available; /* of the row before this sale, where it had a unit; else 0 */
    const char *places;            /* of those whose order was new, ascending: "{1,2,5}", or "";
                                      when not `has_repeats`, all were */
    int64_t sold;                  /* rows that the ledger took */
    struct pg_query query;         /* to be cleared when done with `places` */
};

/* Sell a unit to each order that is not in the ledger, once where it is here twice, in the order of
 * their places from 1 and as far as there are units: the k-th takes the k-th last. All in one
 * statement, with the ledger rows: OK, and the second part is set; or for all of them alike
 * REPEATED (the ledger got one of these orders since the statement began, or, when not
 * `has_repeats`, was to sell it again; no effect), BUSY, UNKNOWN, FAILED. Where no unit is left, an
 * order that the ledger has is told apart only with `has_repeats`. In a fiber; ends soon
 * after `deadline_ms`. */
enum outcome stock_sql_take_batch(struct pg_pool *pool, struct batch_sale *sale, struct why *why);

/* ---- Transactions, on a connection that is held from begin to end: begin, read a row and keep it
 * from others, commit. A held connection that is given back before its commit is rolled back. These
 * set `why` with CONFLICT, too. */

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
