/* SQL of stock that Redis sells, a row at a time: hand a row out, and write what was sold of it.
 *
 * Both run in a fiber, end soon after `deadline_ms`, and set `why` when they return BUSY,
 * UNKNOWN or FAILED. */
#ifndef INVENTORY_SEGMENT_SQL_H
#define INVENTORY_SEGMENT_SQL_H

#include "pg.h"
#include "statement.h"
#include "store.h"
#include "uuid.h"

#include <stddef.h>

/* Hand the first row after set->last that has units and no other data set to this one. OK, and then
 * `row`; SOLD_OUT, when there is none; BUSY, UNKNOWN, FAILED. */
enum outcome segment_sql_hand_out(struct pg_pool *pool, const char *product_id,
                                  const struct data_set *set, struct stock_row *row,
                                  int64_t deadline_ms, struct why *why);

/* A unit that Redis took for an order. */
struct segment_sale {
    char order_id[UUID_TEXT];
    int64_t unit;
    enum outcome outcome; /* once it was written: SOLD, REPEATED or CONFLICT, as the seam says */
};

#define SEGMENT_SALES_MAX 500

/* Bring sales of one row, which `instance` made, to the ledger, each of them once whoever else
 * brings it, and lower the row by as many. OK, and then the outcome of each; BUSY, UNKNOWN, FAILED,
 * and it may be done again. */
enum outcome segment_sql_write(struct pg_pool *pool, const char *product_id, int shard,
                               const char *instance, struct segment_sale *sales, size_t count,
                               int64_t deadline_ms, struct why *why);

#endif
