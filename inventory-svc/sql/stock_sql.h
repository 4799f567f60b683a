/* The inventory database: all its SQL. Products, their rows of stock, and the ledger of
 * reservations; each sale is one statement that writes both of these.
 *
 * All of these run in a fiber, and set `message` when they return BUSY, UNKNOWN, FAILED or
 * UNKNOWN_PRODUCT. Those that are given `deadline_ms` end soon after it. */
#ifndef INVENTORY_STOCK_SQL_H
#define INVENTORY_STOCK_SQL_H

#include "statement.h"
#include "uuid.h"

#include <stdbool.h>
#include <stddef.h>

#define INSTANCE_BYTES 64  /* of an instance's name, with the NUL */
#define PRICE_BYTES    24  /* of a price as text: numeric(12, 2), with the NUL */
#define PRODUCT_TEXT   801 /* 200 characters of up to 4 bytes, and the NUL */

struct product_row {
    char name[PRODUCT_TEXT];
    char price[PRICE_BYTES];
    int64_t initial_stock;
    char strategy[PRODUCT_TEXT];
};

struct stock_count {
    int64_t available; /* sum of the rows */
    int64_t returned;  /* units given back, for sale by number */
};

/* OK, and then `row`; UNKNOWN_PRODUCT, BUSY, FAILED. */
enum outcome product_sql_find(struct pg_pool *pool, const char *product_id, struct product_row *row,
                              char message[MESSAGE_BYTES]);

/* Make `shards` rows of stock, as even as can be and with units from 1 on without a gap; rows that
 * exist stay as they are. OK, BUSY, UNKNOWN, FAILED; may be done again. */
enum outcome product_sql_lay_out(struct pg_pool *pool, const char *product_id, int shards,
                                 char message[MESSAGE_BYTES]);

/* OK, BUSY, FAILED. */
enum outcome product_sql_count(struct pg_pool *pool, const char *product_id,
                               struct stock_count *count, char message[MESSAGE_BYTES]);

/* Does the server answer before `deadline_ms`? OK, BUSY, FAILED. */
enum outcome product_sql_ping(struct pg_pool *pool, int64_t deadline_ms,
                              char message[MESSAGE_BYTES]);

/* One row of the ledger: one unit promised to one order. */
struct reservation {
    char order_id[UUID_TEXT];
    char product_id[UUID_TEXT];
    int shard;
    int64_t unit;
    int64_t remaining; /* in that row, after this sale */
    int64_t fence;     /* the token it was written under, 0 for none */
    char instance[INSTANCE_BYTES];
    char price[PRICE_BYTES]; /* the product's */
};

/* Read one row: OK, BUSY, FAILED. */
enum outcome stock_sql_read(struct pg_pool *pool, const char *product_id, int shard,
                            struct stock_row *row, int64_t deadline_ms,
                            char message[MESSAGE_BYTES]);

/* Set the row to sold->remaining, whatever it is now, and write `sold` to the ledger. `on` is a
 * held connection or NULL. SOLD, REPEATED, BUSY, UNKNOWN, FAILED. */
enum outcome stock_sql_write(struct pg_pool *pool, struct pg_conn *on,
                             const struct reservation *sold, int64_t deadline_ms,
                             char message[MESSAGE_BYTES]);

/* Take the last unit of the row, if there is one, and fill in `unit` and `remaining` of `sold`.
 * SOLD, SOLD_OUT, REPEATED, BUSY, UNKNOWN, FAILED. */
enum outcome stock_sql_take(struct pg_pool *pool, struct reservation *sold, int64_t deadline_ms,
                            char message[MESSAGE_BYTES]);

/* The same with a unit that an earlier customer gave back: fills in `shard` and `unit`. */
enum outcome stock_sql_take_returned(struct pg_pool *pool, struct reservation *sold,
                                     int64_t deadline_ms, char message[MESSAGE_BYTES]);

/* Look an order up before `deadline_ms`: OK, and *is_found, and then `found`; BUSY, FAILED. */
enum outcome reservation_sql_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                                  bool *is_found, struct reservation *found,
                                  char message[MESSAGE_BYTES]);

/* Cancel, when it is younger than that: the ledger row goes and its unit becomes a returned unit,
 * in one statement. OK, and *was_there, and then `product_id`; BUSY, UNKNOWN, FAILED. */
enum outcome reservation_sql_cancel(struct pg_pool *pool, const char *order_id,
                                    int64_t younger_than_ms, bool *was_there,
                                    char product_id[UUID_TEXT], char message[MESSAGE_BYTES]);

/* A place in the ledger: after that moment, and among the rows of one moment after that order. */
struct reservation_place {
    int64_t reserved_us; /* microseconds since 1970 */
    char order_id[UUID_TEXT];
};

/* Read up to `limit` reservations that come after `place` and are older than `older_than_ms`,
 * oldest first, into `list`; moves `place` to the last of them. OK, BUSY, FAILED. */
enum outcome reservation_sql_list(struct pg_pool *pool, struct reservation_place *place,
                                  int64_t older_than_ms, size_t limit, struct reservation *list,
                                  size_t *count, char message[MESSAGE_BYTES]);

#endif
