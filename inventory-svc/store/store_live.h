/* The store as it is in service: `struct store_ops` filled with Postgres, Redis and lockkit. */
#ifndef INVENTORY_STORE_LIVE_H
#define INVENTORY_STORE_LIVE_H

#include "lab_events.h"
#include "lock.h"
#include "product.h"
#include "reservation.h"
#include "sale_cost.h"
#include "store.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct pending;
struct redis;

/* What all sales of an instance share, and its handlers. Owned by whoever opened it (main.c). */
struct store {
    uv_loop_t *loop;
    struct pg_pool *pool;
    struct lock_servers locks;
    struct redis *kv;        /* for raw commands */
    struct pending *pending; /* sales that Redis made */
    struct lab_events *lab;  /* what fails on purpose is told there; NULL without --lab */
    struct product_table *products;
    const char *instance; /* its name, shorter than INSTANCE_BYTES */
    const char *secret;   /* shared with order-svc; "" for none */
    int port;             /* that it listens on: the article's replies name it */
};

/* A sale on the live store. `sale` is its first member: the operations get from one to the other.
 */
struct live_sale {
    struct sale sale;
    struct store *store;
    struct product *product; /* in use until the sale is over */
    struct why *why;         /* of sale.message */
    const char *order_id;
    int64_t lock_deadline_ms;         /* for all locks and pauses of this sale together */
    int64_t deadline_ms;              /* for all that it does, but for a last look at the ledger */
    bool has_passed[SPEC_FAILPOINTS]; /* the product's failpoints */
    bool is_reply_dropped;            /* by a failpoint: cut the connection instead of answering */
    struct store_lock lock;           /* one at a time */
    unsigned lock_times;              /* it is to be given back: more than once if reentrant */
    bool is_lock_unsure;              /* a write under it may still take effect */
    struct pg_conn *conn;             /* held for a write or a transaction, or NULL */
    bool is_transaction;              /* begun, on `conn` */
    struct sale_cost cost;
    struct reservation sold; /* once the outcome is SOLD: as the ledger has it */
    int64_t write_begun_ns;  /* without the time that a failpoint took since */
    int64_t server_ahead_us; /* the database's wall clock, of clock_now_ms(), at least */
    int64_t lands_until_ms;  /* a write that was not answered may; or 0 */
    int64_t key_asked_ns;    /* when it first asked for a lock made of a raw key, or 0 */
    int64_t key_set_ns;
    /* How often it was refused a raw lock, one after the other: to be told as one event. */
    unsigned refusals;
    int64_t refused_from_ns, refused_ns; /* it asked first, and was refused last */
    char refused_key[LAB_KEY], refused_token[KV_TEXT];
};

/* Begin a sale that was asked for at `begun_ms`; it ends by itself, 8 s later under the default
 * options, so that whoever asked (order-svc: for 9 s) gets a definite answer. `order_id` is not
 * copied, nor is `why`, which is "" from now on. */
void live_sale_init(struct live_sale *live, struct store *store, struct product *product,
                    const char *order_id, int64_t begun_ms, struct why *why);

/* Look for this order in the ledger, and confirm it: it cannot be cancelled any more. OK, and then
 * *is_found, and then `found`; BUSY, UNKNOWN, FAILED. */
enum outcome live_sale_confirm(struct live_sale *live, bool *is_found, struct reservation *found);

/* What is left of a product. Of one whose stock Redis sells: what that has unsold, too, and how
 * many sales the ledger does not have yet. OK, BUSY, FAILED. */
struct stock_left {
    int64_t available; /* for sale */
    int64_t returned;  /* given back, and for sale by number */
    int64_t in_redis;  /* of `available` */
    int64_t pending;
};
enum outcome store_live_count(struct store *store, const struct product *product,
                              struct stock_left *left, struct why *why);

#endif
