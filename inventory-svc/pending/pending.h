/* Stock that Redis sells: segments and notes; and the sales that the ledger does not have yet,
 * brought there in the background.
 *
 * Happy path: a sale took a unit in Redis, in one step with a note of it, and adds it here.
 * A fiber writes what was added in batches, one statement each, tells those who wait, and has Redis
 * forget the notes.
 *
 * Failures: what cannot be written now, what does not fit, and what an instance had when it died is
 * still noted in Redis. Every second each instance looks there for notes older than 2 s, and writes
 * them, whoever made the sale. Two may bring one sale: the database takes the first and says what
 * became of it (sql/segment_sql.h). Between the commit and the forgetting anything may die: then it
 * is brought again, without effect.
 *
 * Which products may have notes is a set in Redis, "sale:prewarmed": a product is in it before its
 * first segment can be sold from, until it is sold out and all of that is in the ledger.
 *
 * Rows that are loaded into Redis are segments. Each unit that is taken from one leaves a note.
 * Under one hash tag, without a TTL, sale:{<product>}:
 *
 *     stock            hash: data_set, a random token, made with it; last, the row that was loaded
 *                      last; shard, first, left, units: the segment that is being sold from;
 *                      over: there is no row to load any more
 *     stock:segments   list: those loaded ahead, "<row> <first unit> <units>"
 *     stock:orders     hash: order -> "<row> <first unit> <units before> <instance>"
 *     stock:pending    sorted by time: orders that the ledger does not have yet
 *
 * Each change is one script of lua/. lab/world/segments.c does the same in C; lab/model's tests
 * compare the two. */
#ifndef INVENTORY_PENDING_H
#define INVENTORY_PENDING_H

#include "segment_sql.h"

#include <uv.h>

struct pending;
struct redis;

/* A unit that was taken for an order. */
struct pending_sale {
    const char *product_id, *order_id; /* copied */
    int shard;
    int64_t unit;
};

/* Open, and look for notes of others from now on. `instance` is not copied; it sells. NULL without
 * memory. Pool and client must live until it is closed. */
struct pending *pending_open(uv_loop_t *loop, struct pg_pool *pool, struct redis *redis,
                             const char *instance);
/* Write what was added, if that can be done now; then `cb` runs exactly once, later, on the loop.
 * Nothing may be added any more. */
void pending_close(struct pending *pending, void (*cb)(void *data), void *data);

/* Have it written some time soon. */
void pending_add(struct pending *pending, const struct pending_sale *sale);
/* In a fiber: have it written now. SOLD, REPEATED or CONFLICT, as store_write_pending() says; or
 * UNKNOWN, soon after `deadline_ms` at the latest, and it is brought later. */
enum outcome pending_write(struct pending *pending, const struct pending_sale *sale,
                           int64_t deadline_ms, struct why *why);
/* In a fiber: if this order is noted, of whatever product, write it now: OK; BUSY, UNKNOWN, FAILED.
 */
enum outcome pending_bring(struct pending *pending, const char *order_id, struct why *why);

/* The keys of a product, and how to ask for them. */
struct segment_keys {
    struct redis *redis;
    const char *product_id;
    struct why *why;
    int64_t deadline_ms; /* 0: in a second */
    unsigned *sends;     /* counted up with each command; or NULL */
    unsigned *retries;   /* and with each that had to bring its script again; or NULL */
};

/* All of these run in a fiber, and return BUSY with a message when Redis cannot be reached,
 * refuses, or does not answer. A sale uses them by the operations of store.h. */

enum outcome segment_redis_open(const struct segment_keys *keys, struct data_set *set);
enum outcome segment_redis_load(const struct segment_keys *keys, const struct data_set *set,
                                const struct stock_row *row);
/* UNKNOWN, too. */
enum outcome segment_redis_take(const struct segment_keys *keys, const char *order_id,
                                const char *instance, struct loaded_unit *taken);
/* How many units are for sale, and how many sales are noted. */
enum outcome segment_redis_count(const struct segment_keys *keys, int64_t *unsold, int64_t *noted);

/* Add the product to those that may have notes. */
enum outcome segment_redis_announce(const struct segment_keys *keys);

#endif
