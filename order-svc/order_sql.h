/* The orders database: all SQL of order-svc. Every function runs in a fiber. */
#ifndef ORDER_SQL_H
#define ORDER_SQL_H

#include "pg.h"

#include <stdbool.h>

struct order {
    char order_id[37];
    char product_id[37];
    int64_t unit;
    int64_t remaining;
    char price[24];
    char instance[64];
};

/* Record an order. `*is_repeat` tells that one with this id was there before; it is untouched. */
enum pg_status order_insert(struct pg_pool *pool, const struct order *order, int64_t deadline_ms,
                            bool *is_repeat, char *why, size_t why_size);
/* Find an order by id. OK with `*is_found`; else `why`. */
enum pg_status order_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                          struct order *order, bool *is_found, char *why, size_t why_size);

/* Record all of a page of reservations, JSON as inventory-svc lists them, that have no order yet.
 * `on_settled` is told each order id that had none. */
enum pg_status order_settle(struct pg_pool *pool, const char *reservations_json,
                            int64_t deadline_ms, void (*on_settled)(const char *order_id),
                            char *why, size_t why_size);
/* How far settling has come: the cursor ("" at the very beginning) and where to begin then, Unix
 * milliseconds. */
enum pg_status settlement_read(struct pg_pool *pool, int64_t deadline_ms, char *cursor,
                               size_t cursor_size, int64_t *since_ms, char *why, size_t why_size);
enum pg_status settlement_write(struct pg_pool *pool, const char *cursor, int64_t deadline_ms,
                                char *why, size_t why_size);

#endif
