/* The orders database: all SQL of order-svc.
 *
 * Every function runs in a fiber, and sets `message` unless it returns OK. */
#ifndef ORDER_SQL_H
#define ORDER_SQL_H

#include "buffer.h"
#include "pg.h"
#include "uuid.h"

#include <jansson.h>
#include <stdbool.h>

struct order {
    char order_id[UUID_TEXT];
    char product_id[UUID_TEXT];
    int64_t unit;
    int64_t remaining;
    char price[24];
    char instance[64];
};

/* An order to be recorded, and the result. */
struct order_insert {
    const struct order *order;
    bool is_new; /* its unit was sold by this very call: an order with its id is unlikely */
    enum pg_status status;
    bool is_repeat; /* when OK: an order with this id was there before, and is unchanged */
    char *message;  /* the caller's PG_MESSAGE_BYTES: why it is not OK */
};

/* Record orders by one statement: all of them if it returns OK, and none if the server refused or
 * it was not sent. `message` then holds for all. OK fills in `is_repeat` of each, and no other
 * member. Of several orders with one id the first is recorded. It is cheaper if all are `is_new`.
 * `text` is the caller's buffer for the parameters of the statement. */
enum pg_status order_insert_all(struct pg_pool *pool, struct order_insert *const *inserts,
                                unsigned count, int64_t deadline_ms, struct buffer *text,
                                char message[PG_MESSAGE_BYTES]);
/* True when the server would let an order be recorded. If not, `why` tells the state of the
 * database: "is read only". */
bool order_can_insert(struct pg_pool *pool, int64_t deadline_ms, char why[PG_MESSAGE_BYTES]);
/* Find an order by id: OK and *is_found, and then `order`. */
enum pg_status order_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                          struct order *order, bool *is_found, char message[PG_MESSAGE_BYTES]);

/* Find the ids, of an array, that are not orders yet. Their ids as {"order_ids": [...]}, which the
 * caller frees; NULL for none. NOT_SENT if one of the array is no UUID. */
enum pg_status order_find_missing(struct pg_pool *pool, const json_t *order_ids,
                                  int64_t deadline_ms, char **missing_json,
                                  char message[PG_MESSAGE_BYTES]);
/* Record all of these reservations that have no order yet. They are JSON from inventory-svc's
 * confirmation. `on_settled` gets each order id that had no order. */
enum pg_status order_settle(struct pg_pool *pool, const char *reservations_json,
                            int64_t deadline_ms, void (*on_settled)(const char *order_id),
                            char message[PG_MESSAGE_BYTES]);

/* How far settling has come. */
struct settlement {
    char cursor[88];  /* "" before the first page; then it begins at */
    int64_t since_ms; /* Unix milliseconds */
};
enum pg_status settlement_read(struct pg_pool *pool, int64_t deadline_ms,
                               struct settlement *settlement, char message[PG_MESSAGE_BYTES]);
enum pg_status settlement_write(struct pg_pool *pool, const char *cursor, int64_t deadline_ms,
                                char message[PG_MESSAGE_BYTES]);

#endif
