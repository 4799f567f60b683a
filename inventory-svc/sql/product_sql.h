/* SQL of the products: read one, lay out its rows of stock, count its units.
 *
 * All of these run in a fiber, and set `why` when they do not return OK. */
#ifndef INVENTORY_PRODUCT_SQL_H
#define INVENTORY_PRODUCT_SQL_H

#include "pg.h"
#include "reservation.h"
#include "statement.h"
#include "store.h"

#include <stdbool.h>

#define PRODUCT_TEXT 801 /* 200 characters of up to 4 bytes, and the NUL */

struct product_row {
    char name[PRODUCT_TEXT];
    char price[PRICE_BYTES];
    int64_t initial_stock;
    char strategy[PRODUCT_TEXT];
};

struct stock_count {
    int64_t available; /* sum of the rows */
    int64_t loaded;    /* the part of it in rows that were handed to Redis */
    int64_t returned;  /* units given back, for sale by number */
};

/* OK, and then `row`; UNKNOWN_PRODUCT, BUSY, FAILED. */
enum outcome product_sql_find(struct pg_pool *pool, const char *product_id, struct product_row *row,
                              struct why *why);

/* Make `shards` rows of stock, as even as possible, with units numbered from 1 without a gap.
 * `returns_to_count`: a unit that comes back raises its row's count. Rows that exist stay
 * unchanged. OK, BUSY, UNKNOWN, FAILED; may be repeated. */
enum outcome product_sql_lay_out(struct pg_pool *pool, const char *product_id, int shards,
                                 bool returns_to_count, struct why *why);

/* OK, BUSY, FAILED. */
enum outcome product_sql_count(struct pg_pool *pool, const char *product_id,
                               struct stock_count *count, struct why *why);

#endif
