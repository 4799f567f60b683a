/* Stock that Redis sells: segments and notes. Brings its sales to the ledger in the background.
 *
 * Happy path: a sale takes a unit in Redis, with a note of it in the same step, and adds it here. A
 * fiber writes the added sales in batches, one statement each. It tells the waiting fibers, and has
 * Redis forget the notes.
 *
 * Failures: a sale keeps its note in Redis if it cannot be written now, does not fit into the
 * queue, or its instance died. Every second each instance looks there for notes older than 2 s, of
 * any instance, and writes their sales. Two instances may bring one sale: the database takes the
 * first and says what became of it (sql/segment_sql.h). If an instance dies between the commit and
 * the forgetting, the sale is brought again, without effect.
 *
 * The set "sale:prewarmed" in Redis has the products that may have notes. A product is in it before
 * its first segment can be sold from, and until it is sold out and the ledger has all its sales.
 *
 * A row that is loaded into Redis is a segment. Each unit that is taken from one leaves a note. The
 * keys have one hash tag and no TTL, sale:{<product>}:
 *
 *     stock            hash: data_set, a random token, made with it; last, the row that was loaded
 *                      last; shard, first, left, units: the segment on sale; over: there is no row
 *                      to load any more
 *     stock:segments   list: segments loaded ahead, "<row> <first unit> <units>"
 *     stock:orders     hash: order -> "<row> <first unit> <units before> <instance>"
 *     stock:pending    sorted by time: orders that the ledger does not have yet
 *
 * Each change is one script of lua/. lab/world/segments.c does the same in C, and lab/model's tests
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

/* Open, and from now on look for notes of others. `instance` is the seller; it is not copied. NULL
 * without memory. Pool and client must live until this is closed. */
struct pending *pending_open(uv_loop_t *loop, struct pg_pool *pool, struct redis *redis,
                             const char *instance);
/* Write all added sales, if that is possible now. Then `cb` runs exactly once, later, on the loop.
 * Nothing may be added any more. */
void pending_close(struct pending *pending, void (*cb)(void *data), void *data);

/* Have the sale written some time soon. */
void pending_add(struct pending *pending, const struct pending_sale *sale);
/* In a fiber: have the sale written now. SOLD, REPEATED or CONFLICT, see store_write_pending(). Or
 * UNKNOWN, soon after `deadline_ms` at the latest; then the sale is brought later. */
enum outcome pending_write(struct pending *pending, const struct pending_sale *sale,
                           int64_t deadline_ms, struct why *why);
/* In a fiber: if any product has a note of this order, write it now. OK; BUSY, UNKNOWN, FAILED. */
enum outcome pending_bring(struct pending *pending, const char *order_id, struct why *why);

/* The keys of a product, and the way to ask for them. */
struct segment_keys {
    struct redis *redis;
    const char *product_id;
    struct why *why;
    int64_t deadline_ms; /* 0: in a second */
    unsigned *sends;     /* raised with each command; or NULL */
    unsigned *retries;   /* raised with each that had to send its script again; or NULL */
};

/* All of these run in a fiber. They return BUSY with a message when Redis cannot be reached,
 * refuses, or does not answer. The operations of store.h use them. */

enum outcome segment_redis_open(const struct segment_keys *keys, struct data_set *set);
enum outcome segment_redis_load(const struct segment_keys *keys, const struct data_set *set,
                                const struct stock_row *row);
/* Also UNKNOWN. */
enum outcome segment_redis_take(const struct segment_keys *keys, const char *order_id,
                                const char *instance, struct loaded_unit *taken);
/* Count the units for sale, and the sales that are noted. */
enum outcome segment_redis_count(const struct segment_keys *keys, int64_t *unsold, int64_t *noted);

/* Add the product to the set of products that may have notes. */
enum outcome segment_redis_announce(const struct segment_keys *keys);

#endif
