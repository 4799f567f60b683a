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

/* Look an order up before `deadline_ms`: OK, and *is_found, and then `found`; BUSY, FAILED. */
enum outcome reservation_sql_find(struct pg_pool *pool, const char *order_id, int64_t deadline_ms,
                                  bool *is_found, struct reservation *found, struct why *why);

/* Confirm those of some orders that are there, and read up to `limit` of them into `list`: from now
 * on no cancel takes effect on them, however late it comes. `order_ids` is a JSON array. OK, BUSY,
 * UNKNOWN, FAILED. */
enum outcome reservation_sql_confirm(struct pg_pool *pool, const char *order_ids,
                                     int64_t deadline_ms, size_t limit, struct reservation *list,
                                     size_t *count, struct why *why);

/* Cancel, unless it was confirmed: the ledger row goes and its unit becomes a returned unit, or
 * with return=count the last of its row, in one statement. OK, and *was_there, and then
 * `product_id`; BUSY, UNKNOWN, FAILED. */
enum outcome reservation_sql_cancel(struct pg_pool *pool, const char *order_id, bool *was_there,
                                    char product_id[UUID_TEXT], struct why *why);

/* A place in the ledger: after that moment, and among the rows of one moment after that order. */
struct reservation_place {
    int64_t reserved_us; /* microseconds since 1970 */
    int64_t seen_xid;    /* what older transactions wrote up to here has been read; 0: nothing */
    char order_id[UUID_TEXT];
};

/* Append the ids of the orders of up to `limit` reservations that come after `place` and are older
 * than `older_than_ms`, oldest first, to `order_ids`, as a JSON array; moves `place` to the last.
 * With those that came behind it, up to `overlap_ms`, since the last reading with an overlap: by a
 * commit that took its time, or a clock that was set back. A place that the database's clock has
 * not come to yet counts as one `older_than_ms` ago. OK, BUSY, FAILED. */
enum outcome reservation_sql_list(struct pg_pool *pool, struct reservation_place *place,
                                  int64_t overlap_ms, int64_t older_than_ms, size_t limit,
                                  struct buffer *order_ids, struct why *why);

#endif
