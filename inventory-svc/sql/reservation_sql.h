/* SQL of the ledger: find a reservation, confirm or cancel it, list the reservations in the order
 * of time.
 *
 * All of these run in a fiber, and set `why` when they return BUSY, UNKNOWN or FAILED. */
#ifndef INVENTORY_RESERVATION_SQL_H
#define INVENTORY_RESERVATION_SQL_H

#include "buffer.h"
#include "pg.h"
#include "reservation.h"
#include "statement.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>

/* Look up an order before `deadline_ms`: OK and *is_found, and then `found`; BUSY, FAILED. */
enum outcome reservation_sql_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                                  bool *is_found, struct reservation *found, struct why *why);

/* Confirm each of some orders that the ledger has, and read up to `limit` of them into `list`. From
 * now on no cancel takes effect on them, however late it comes. `order_ids` is a JSON array. OK,
 * BUSY, UNKNOWN, FAILED. */
enum outcome reservation_sql_confirm(struct pg_pool *pool, const char *order_ids,
                                     int64_t deadline_ms, size_t limit, struct reservation *list,
                                     size_t *count, struct why *why);

/* Cancel an order unless it was confirmed, in one statement: its ledger row goes, and its unit
 * becomes a returned unit, or the last of its row with return=count. OK and *was_there, and then
 * `product_id`; BUSY, UNKNOWN, FAILED. */
enum outcome reservation_sql_cancel(struct pg_pool *pool, const char *order_id, bool *was_there,
                                    char product_id[UUID_TEXT], struct why *why);

/* A place in the ledger: after that moment, and among rows of the same moment after that order. */
struct reservation_place {
    int64_t reserved_us; /* microseconds since 1970 */
    int64_t seen_xid;    /* all writes of older transactions up to here are read; 0: none */
    char order_id[UUID_TEXT];
};

/* Append the order ids of up to `limit` reservations to `order_ids` in a JSON array, oldest first,
 * and move `place` to the last. They come after `place` and are older than `older_than_ms`. With
 * `overlap_ms`, also rows up to that far behind `place` that appeared since the last reading with
 * an overlap, because a commit was slow or a clock was set back. A place in the future of the
 * database's clock counts as `older_than_ms` ago. OK, BUSY, FAILED. */
enum outcome reservation_sql_list(struct pg_pool *pool, struct reservation_place *place,
                                  int64_t overlap_ms, int64_t older_than_ms, size_t limit,
                                  struct buffer *order_ids, struct why *why);

#endif
