/* SQL of stock that Redis sells, a row at a time: hand a row out, and write the sales of it.
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

/* Hand a row to this data set of a part: the first one after set->last that has units and no other
 * data set, and is `part` modulo `parts`.
 * OK, and then `row`; SOLD_OUT when there is none; BUSY, UNKNOWN, FAILED. */
enum outcome segment_sql_hand_out(struct pg_pool *pool, const char *product_id, int parts, int part,
                                  const struct data_set *set, struct stock_row *row,
                                  int64_t deadline_ms, struct why *why);

/* A unit that Redis took for an order. */
struct segment_sale {
    char order_id[UUID_TEXT];
    int64_t unit;
    enum outcome outcome; /* once it is written: SOLD, REPEATED or CONFLICT, see store.h */
};

#define SEGMENT_SALES_MAX 500

/* Bring the sales of one row, which `instance` made, to the ledger, and lower the row by their
 * number. Each is brought only once, even if another instance brings it, too. OK, and then the
 * outcome of each; BUSY, UNKNOWN, FAILED, and it may be repeated. */
enum outcome segment_sql_write(struct pg_pool *pool, const char *product_id, int shard,
                               const char *instance, struct segment_sale *sales, size_t count,
                               int64_t deadline_ms, struct why *why);

#endif
