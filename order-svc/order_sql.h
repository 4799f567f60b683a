/* The orders database: all SQL of order-svc.
 *
 * Every function runs in a fiber, and when it does not return OK, `message` says why. */
#ifndef ORDER_SQL_H
#define ORDER_SQL_H

#include "pg.h"
#include "uuid.h"

#include <stdbool.h>

struct order {
    char order_id[UUID_TEXT];
    char product_id[UUID_TEXT];
    int64_t unit;
    int64_t remaining;
    char price[24];
    char instance[64];
};

/* Record an order. `*is_repeat` tells that one with this id was there before; it is untouched. */
enum pg_status order_insert(struct pg_pool *pool, const struct order *order, int64_t deadline_ms,
                            bool *is_repeat, char message[PG_MESSAGE_BYTES]);
/* Find an order by id: OK, and *is_found, and then `order`. */
enum pg_status order_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                          struct order *order, bool *is_found, char message[PG_MESSAGE_BYTES]);

/* Which of a page of reservations, JSON as inventory-svc lists them, have no order yet: their ids
 * as {"order_ids": [...]}, allocated and the caller's; NULL for none of them. */
enum pg_status order_find_missing(struct pg_pool *pool, const char *reservations_json,
                                  int64_t deadline_ms, char **order_ids_json,
                                  char message[PG_MESSAGE_BYTES]);
/* Record all of such a page that have no order yet. `on_settled` is told each order id that had
 * none. */
enum pg_status order_settle(struct pg_pool *pool, const char *reservations_json,
                            int64_t deadline_ms, void (*on_settled)(const char *order_id),
                            char message[PG_MESSAGE_BYTES]);

/* How far settling has come. */
struct settlement {
    char cursor[88];  /* "" at the very beginning, and then it begins at */
    int64_t since_ms; /* Unix milliseconds */
};
enum pg_status settlement_read(struct pg_pool *pool, int64_t deadline_ms,
                               struct settlement *settlement, char message[PG_MESSAGE_BYTES]);
enum pg_status settlement_write(struct pg_pool *pool, const char *cursor, int64_t deadline_ms,
                                char message[PG_MESSAGE_BYTES]);

#endif
