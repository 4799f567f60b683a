/* Records orders in groups: those that come while a statement is out go together with the next one
 * (batcher.h), and each has an outcome of its own. One at a time, and when many orders are in
 * flight half of them together, up to 16, unless they take over 2 ms to come: each commit has the
 * disk written, which the sales' own commits then wait for. Under `atomic` with 32 in flight that
 * sells by a half more than a group of those that came meanwhile (one or two), and two groups at a
 * time a fifth less.
 *
 * A statement that the server refuses has recorded nothing. Then each half of its group is tried
 * by itself, and so on, until what is wrong stands alone and all others are recorded. A statement
 * that is sent and not answered leaves its own orders unknown, and no other. */
#ifndef ORDER_GROUPS_H
#define ORDER_GROUPS_H

#include "batcher.h"
#include "buffer.h"
#include "order_sql.h"

struct order_groups {
    struct pg_pool *pool; /* the caller's; may be another when nothing is under way */
    struct batcher batcher;
    unsigned in_flight; /* orders that may come to be recorded; the caller counts them */
    struct buffer text; /* of the statement that is out */
};

void order_groups_init(struct order_groups *groups, uv_loop_t *loop, struct pg_pool *pool);
/* Nothing may be under way. */
void order_groups_free(struct order_groups *groups);

/* In a fiber: record an order. `*is_repeat` tells that one with this id was there before; it is
 * untouched. NOT_SENT when its turn has not come by `deadline_ms`; its statement has until the
 * deadline of the last order in it. When it does not return OK, `message` says why. */
enum pg_status order_groups_insert(struct order_groups *groups, const struct order *order,
                                   int64_t deadline_ms, bool *is_repeat,
                                   char message[PG_MESSAGE_BYTES]);

#endif
