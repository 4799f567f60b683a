/* The orders database: all SQL of order-svc.
 *
 * Every function runs in a fiber, and when it does not return OK, `message` says why. */
#ifndef ORDER_SQL_H
#define ORDER_SQL_H

#include "buffer.h"
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

/* An order that is to be recorded, and what becomes of it. */
struct order_insert {
    const struct order *order;
    enum pg_status status;
    bool is_repeat; /* when OK: one with this id was there before; it is untouched */
    char *message;  /* the caller's PG_MESSAGE_BYTES: why, when not OK */
};

/* Record orders by one statement: all of them when it returns OK, and else `message` holds for all,
 * and of each only `is_repeat` is filled in. Of several with one id the first is recorded. `text`
 * is the caller's, for what the statement needs to say. */
enum pg_status order_insert_all(struct pg_pool *pool, struct order_insert *const *inserts,
                                unsigned count, int64_t deadline_ms, struct buffer *text,
                                char message[PG_MESSAGE_BYTES]);
/* True when the server would let an order be recorded; false, and `why` says what the database
 * does: "is read only". */
bool order_can_insert(struct pg_pool *pool, int64_t deadline_ms, char why[PG_MESSAGE_BYTES]);
/* Find an order by id: OK, and *is_found, and then `order`. */
enum pg_status order_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                          struct order *order, bool *is_found, char message[PG_MESSAGE_BYTES]);

/* Which of these, a JSON array, are no orders yet: their ids as {"order_ids": [...]}, allocated and
 * the caller's; NULL for none of them. */
enum pg_status order_find_missing(struct pg_pool *pool, const char *order_ids_json,
                                  int64_t deadline_ms, char **missing_json,
                                  char message[PG_MESSAGE_BYTES]);
/* Record all of these reservations, JSON as inventory-svc confirms them, that have no order yet.
 * `on_settled` is told each order id that had none. */
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
