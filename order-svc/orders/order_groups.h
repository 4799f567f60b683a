/* Records orders in groups (batcher.h): the orders that come while a statement is out go together
 * with the next one, and each has its own outcome. One statement runs at a time. When many orders
 * are in flight, it waits up to 2 ms until half of them, at most 16, are there: each commit writes
 * the disk, and the sales' own commits wait for that write. Under `atomic` with 32 in flight this
 * sells 50 % more than groups of the orders that happened to come (one or two). Two groups at a
 * time sell 20 % less.
 *
 * A statement that the server refuses has recorded nothing. Then each half of its group is tried by
 * itself, and so on, until the faulty order stands alone and all others are recorded. A statement
 * without an answer leaves its own orders unknown, and no other. */
#ifndef ORDER_GROUPS_H
#define ORDER_GROUPS_H

#include "batcher.h"
#include "buffer.h"
#include "order_sql.h"

struct order_groups {
    struct pg_pool *pool; /* the caller's; may be replaced when nothing is under way */
    struct batcher batcher;
    unsigned in_flight; /* orders that may still come; the caller counts them */
    struct buffer text; /* of the statement that is out */
};

void order_groups_init(struct order_groups *groups, uv_loop_t *loop, struct pg_pool *pool);
/* Nothing may be under way. */
void order_groups_free(struct order_groups *groups);

/* In a fiber: record an order. `is_new`: its unit was sold by this very call. `*is_repeat`: an order
 * with this id was there before, and is unchanged. NOT_SENT when its turn has not come by
 * `deadline_ms`. Its statement has until the last deadline of its orders. `message` is set unless it
 * returns OK. */
enum pg_status order_groups_insert(struct order_groups *groups, const struct order *order,
                                   bool is_new, int64_t deadline_ms, bool *is_repeat,
                                   char message[PG_MESSAGE_BYTES]);

#endif
