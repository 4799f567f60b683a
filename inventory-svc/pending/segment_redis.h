/* Stock that Redis sells, as Redis has it: rows that are loaded, called segments, and notes of the
 * units that were taken from them.
 *
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
 * compare the two. All functions run in a fiber, and return BUSY with a message when Redis cannot
 * be reached, refuses, or does not answer. */
#ifndef INVENTORY_SEGMENT_REDIS_H
#define INVENTORY_SEGMENT_REDIS_H

#include "reservation.h"
#include "segment_sql.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>

struct redis;

/* The keys of a product, and how to ask for them. */
struct segment_keys {
    struct redis *redis;
    const char *product_id;
    char *message;       /* MESSAGE_BYTES */
    int64_t deadline_ms; /* 0: in a second */
    unsigned *sends;     /* counted up with each command; or NULL */
    unsigned *retries;   /* and with each that had to bring its script again; or NULL */
};

/* ---- What a sale does: see store.h */

enum outcome segment_redis_open(const struct segment_keys *keys, struct data_set *set);
enum outcome segment_redis_load(const struct segment_keys *keys, const struct data_set *set,
                                const struct stock_row *row);
/* UNKNOWN, too. */
enum outcome segment_redis_take(const struct segment_keys *keys, const char *order_id,
                                const char *instance, struct loaded_unit *taken);

/* ---- Notes */

/* Of one product, made by one instance, of one row. */
struct note {
    struct segment_sale sale;
    int shard;
    char instance[INSTANCE_BYTES];
};

struct notes {
    size_t count;
    bool is_finished; /* nothing is noted, nor for sale: nothing will be */
    struct note notes[SEGMENT_SALES_MAX];
};

/* The oldest notes of a product that are `age_ms` old, or older. */
enum outcome segment_redis_read(const struct segment_keys *keys, int64_t age_ms,
                                struct notes *notes);
/* The note of this order, old or young, of a sale that may have been brought before. */
enum outcome segment_redis_find(const struct segment_keys *keys, const char *order_id,
                                struct note *note, bool *is_found);
/* These have been brought to the ledger. Of an order that is not SOLD there nothing is kept, so
 * that it can buy again. */
enum outcome segment_redis_forget(const struct segment_keys *keys, const struct segment_sale *sales,
                                  size_t count);

/* ---- For all instances */

/* How many units are for sale, and how many sales are noted. */
enum outcome segment_redis_count(const struct segment_keys *keys, int64_t *unsold, int64_t *noted);

/* Add the product to those that may have notes; or remove it. */
enum outcome segment_redis_announce(const struct segment_keys *keys);
enum outcome segment_redis_retire(const struct segment_keys *keys);
/* The products that may have notes, whatever keys->product_id is; *products is an array of *count,
 * to be freed. */
enum outcome segment_redis_products(const struct segment_keys *keys, char (**products)[UUID_TEXT],
                                    size_t *count);

#endif
