/* The live store: `struct store_ops` filled with Postgres, Redis and lockkit. */
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

struct made_note;
struct pending;
struct redis;
struct redis_cluster;

/* Shared by all sales of an instance and its handlers. main.c owns it. */
struct store {
    uv_loop_t *loop;
    struct pg_pool *pool;
    struct lock_servers locks;
    struct redis *kv;                 /* for raw commands */
    struct redis *others[KV_SERVERS]; /* for raw commands at servers 1 .. KV_SERVERS; or NULL */
    struct redis_cluster *cluster;    /* for the segments of prewarm, instead of `kv`; or NULL */
    struct pending *pending;          /* sales that Redis made */
    struct lab_events *lab;           /* for failures on purpose; NULL without --lab */
    struct product_table *products;
    const char *instance; /* its name, shorter than INSTANCE_BYTES */
    const char *secret;   /* shared with order-svc; "" for none */
    int port;             /* it listens there; the article's replies name it */
};

/* A sale on the live store. `sale` is its first member, so operations can convert one to the other.
 */
struct live_sale {
    struct sale sale;
    struct store *store;
    struct product *product; /* in use until the sale is over */
    struct why *why;         /* of sale.message */
    const char *order_id;
    int64_t lock_deadline_ms;         /* for all locks and pauses of this sale together */
    int64_t deadline_ms;              /* for all its work, except a last look at the ledger */
    bool has_passed[SPEC_FAILPOINTS]; /* the product's failpoints */
    bool is_reply_dropped;            /* by a failpoint: cut the connection instead of answering */
    struct store_lock lock;           /* one at a time */
    unsigned lock_times;              /* times to give it back: more than one if reentrant */
    bool is_lock_unsure;              /* a write under it may still take effect */
    struct pg_conn *conn;             /* held for a write or a transaction, or NULL */
    bool is_transaction;              /* begun, on `conn` */
    struct sale_cost cost;
    struct reservation sold; /* the ledger row, once the outcome is SOLD */
    int first_of_cart;       /* 1 + the row of its first written unit; 0: none, or not a cart */
    bool is_first_sold;      /* that write is not part of an open transaction */
    int64_t write_begun_ns;  /* moved on by the time that failpoints took since */
    int64_t server_ahead_us; /* least lead of the database's wall clock over clock_now_ms() */
    int64_t lands_until_ms;  /* an unanswered write may land until then; or 0 */
    int64_t key_asked_ns;    /* its first attempt at a lock made of a raw key, or 0 */
    int64_t key_set_ns;
    int64_t worked_ms;      /* of the work that it has begun and not ended */
    struct made_note *note; /* of the unit that it took in Redis and did not bring yet; or NULL */
    bool has_asked;         /* Redis may have given it such a unit, of this part: */
    int part;
    /* Refusals of a raw lock in a row, which become one event. */
    unsigned refusals;
    int64_t refused_from_ns, refused_ns; /* its first attempt, and its last refusal */
    char refused_key[LAB_KEY], refused_token[KV_TEXT];
};

/* Begin a sale that was asked for at `begun_ms`. It ends by itself, 8 s later under the default
 * options. So order-svc, which waits 9 s, gets a definite answer. `order_id` and `why` are not
 * copied. `why` is "" from now on. */
void live_sale_init(struct live_sale *live, struct store *store, struct product *product,
                    const char *order_id, int64_t begun_ms, struct why *why);

/* After the sale. */
void live_sale_end(struct live_sale *live);

/* Look for this order in the ledger and confirm it: it cannot be cancelled any more. OK and
 * *is_found, and then `found`; BUSY, UNKNOWN, FAILED. */
enum outcome live_sale_confirm(struct live_sale *live, bool *is_found, struct reservation *found);

/* The number of parts of a product's stock in Redis. */
#define STOCK_PARTS_MOST 16
int store_live_parts(const struct store *store, const struct product *product);

/* Count the units of a product that are left. If Redis sells its stock, also count its unsold units
 * there, and its sales that the ledger does not have yet. OK, BUSY, FAILED. */
struct stock_left {
    int64_t available; /* for sale */
    int64_t returned;  /* given back, and for sale by number */
    int64_t in_redis;  /* the part of `available` that Redis sells */
    int64_t pending;
};
enum outcome store_live_count(struct store *store, const struct product *product,
                              struct stock_left *left, struct why *why);

#endif
