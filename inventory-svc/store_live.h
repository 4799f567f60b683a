/* The store as it is in service: `struct store_ops` filled with Postgres, Redis and lockkit. */
#ifndef INVENTORY_STORE_LIVE_H
#define INVENTORY_STORE_LIVE_H

#include "product.h"
#include "reservation.h"
#include "store.h"

#include <lockkit.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* What all sales of an instance share. Owned by whoever opened it (main.c). */
struct store {
    uv_loop_t *loop;
    struct pg_pool *pool;
    lk_client *local;
    lk_client *redis;
    const char *instance; /* shorter than INSTANCE_BYTES */
};

/* A sale on the live store. `sale` is its first member: the operations get from one to the other.
 */
struct live_sale {
    struct sale sale;
    struct store *store;
    struct product *product; /* in use until the sale is over */
    const char *order_id;
    int64_t lock_deadline_ms; /* for all locks of this sale together */
    int64_t deadline_ms;      /* for all that it does, but for a last look at the ledger */
    bool has_passed;          /* the product's failpoint */
    bool is_reply_dropped;    /* by a failpoint: cut the connection instead of answering */
};

/* Begin a sale that was asked for at `begun_ms`; it ends by itself, 8 s later under the default
 * options, so that whoever asked (order-svc: for 9 s) gets a definite answer. `order_id` is not
 * copied. */
void live_sale_init(struct live_sale *live, struct store *store, struct product *product,
                    const char *order_id, int64_t begun_ms);
/* When a look at the ledger on behalf of this sale must have ended. */
int64_t live_sale_look_up_due_ms(const struct live_sale *live);

/* After SOLD_OUT, sell a unit that an earlier customer gave back: SOLD, SOLD_OUT when there is
 * none, REPEATED, BUSY, UNKNOWN, FAILED. */
enum outcome live_sale_take_returned(struct live_sale *live);

/* What was sold, as the ledger has it; call it after SOLD. */
void live_sale_reservation(const struct live_sale *live, struct reservation *sold);

#endif
