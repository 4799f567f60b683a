/* Stock that Redis sells: the scripts and commands, and the reading of their replies.
 *
 * A row of stock that is loaded into Redis is a segment. Orders take units from one, last unit
 * first. All orders that one call sells from one segment have a note.
 *
 * On a Redis Cluster a product has several parts. Row n is of part n modulo their number. Each part
 * has a data set, segments and notes of its own, all in one slot. One Redis server has one part.
 *
 * The keys of a part have one hash tag, `<product>` or `<product>.<part>`, and no TTL, sale:{<tag>}:
 *
 *     stock            hash: data_set, a random token, made with it; last, the row that was loaded
 *                      last; shard, first, left, units: the segment on sale; over: there is no row
 *                      to load any more
 *     stock:segments   list: segments loaded ahead, "<row> <first unit> <units>"
 *     stock:orders     hash: order that may be a repeat, or was noted behind many notes -> "<row>
 *                      <first unit> <units before> <instance>"
 *     stock:notes      stream: orders that the ledger may not have yet; at, "<row> <first unit>
 *                      <units before the first order>"; by, the instance; orders
 *
 * The set "sale:prewarmed" has the tags of parts that may have notes. A part is in it before its first
 * segment can be sold from, and until it is sold out and the ledger has all its sales.
 *
 * Each change is one script of lua/. lab/world/segments.c does the same in C, for one order at a
 * time, and lab/model's tests compare the two.
 *
 * All of these run in a fiber. They return BUSY with a message when Redis cannot be reached,
 * refuses, or does not answer. */
#ifndef INVENTORY_SEGMENT_REDIS_H
#define INVENTORY_SEGMENT_REDIS_H

#include "made_note.h"
#include "redis_cluster.h"
#include "reservation.h"
#include "segment_sql.h"

#define SEGMENT_ORDERS_MAX 256 /* that take a unit in one call */

/* The hash tag of a part. */
#define TAG_BYTES (UUID_TEXT + 8)
void segment_tag(char tag[TAG_BYTES], const char *product_id, int parts, int part);

/* The server of segments. */
struct segment_server {
    struct redis *redis;           /* or NULL */
    struct redis_cluster *cluster; /* instead, or NULL */
    uv_loop_t *loop;
};

/* The keys of a part, and the way to ask for them. */
struct segment_keys {
    struct segment_server server;
    const char *tag;
    struct why *why;
    int64_t deadline_ms; /* 0: in a second */
    unsigned *sends;     /* raised with each command; or NULL */
    unsigned *retries;   /* raised with each that had to send its script again; or NULL */
    unsigned
        replicas; /* so many of a cluster's node must confirm what segment_redis_take() wrote */
};

enum outcome segment_redis_open(const struct segment_keys *keys, struct data_set *set);
/* Make sure that a failover of the cluster does not lose the data set, as far as one replica can. One
 * Redis server, or a node without replicas, needs nothing. OK, BUSY. */
enum outcome segment_redis_keep(const struct segment_keys *keys, const struct data_set *set);
enum outcome segment_redis_load(const struct segment_keys *keys, const struct data_set *set,
                                const struct stock_row *row);

/* An order that wants a unit. The caller fills in the first part, and zeroes the second one. */
struct segment_want {
    const char *order_id;
    bool may_be_repeat; /* Redis remembers it until all is sold */
    bool has_asked;     /* an earlier call may have given it a unit */

    enum outcome outcome; /* OK or SOLD_OUT, see store_take_loaded() */
    struct loaded_unit taken;
    struct made_note *note; /* the caller's; NULL if it took no unit now */
};

/* Take a unit for each order, in one step. OK, and then the outcome of each. BUSY, or UNKNOWN: some
 * or all may have a unit. */
enum outcome segment_redis_take(const struct segment_keys *keys, const char *instance,
                                struct segment_want *wants, size_t count);

/* A note. */
struct segment_note {
    char id[NOTE_ID_BYTES];
    char instance[INSTANCE_BYTES];
    int shard;
    size_t count;
    struct segment_sale *sales; /* `count`, in the list of all notes */
};

struct segment_notes {
    bool is_finished; /* nothing is noted or for sale, and nothing will be */
    size_t count;     /* the caller frees both arrays */
    struct segment_note *notes;
    struct segment_sale *sales;
};

/* Read the oldest notes of a product that are `age_ms` old, or older: `most` at most. */
enum outcome segment_redis_read(const struct segment_keys *keys, int64_t age_ms, size_t most,
                                struct segment_notes *notes);
/* Find the notes with this order. If Redis remembers it without one, the id of its note is 0-0. The
 * ledger may have it. The caller frees both arrays, here too. */
enum outcome segment_redis_find(const struct segment_keys *keys, const char *order_id,
                                struct segment_notes *notes);

/* The ledger has the sales of all these notes. */
struct segment_forget {
    const struct segment_note *notes; /* only the id matters */
    size_t note_count;
    const struct segment_sale *sales; /* an order that is not SOLD is forgotten: it can buy again */
    size_t sale_count;
};
enum outcome segment_redis_forget(const struct segment_keys *keys,
                                  const struct segment_forget *forget);

/* Count the units for sale, and the sales that are noted. */
enum outcome segment_redis_count(const struct segment_keys *keys, int64_t *unsold, int64_t *noted);

/* Add the part to the set of parts that may have notes, or remove it. It is added when a replica has
 * it, as in segment_redis_keep(). */
enum outcome segment_redis_announce(const struct segment_keys *keys);
enum outcome segment_redis_retire(const struct segment_keys *keys);

/* The parts that may have notes. keys->tag is not used. */
struct segment_parts {
    char (*tags)[TAG_BYTES]; /* the caller frees it */
    size_t count;
};
enum outcome segment_redis_parts(const struct segment_keys *keys, struct segment_parts *parts);

/* Does the cluster serve each slot with stock or notes? If it does not even tell which slots these
 * are, the question is for all slots. 0; or -1 by `deadline_ms`, and `why`. */
int segment_redis_check(const struct segment_server *server, int64_t deadline_ms, struct why *why);

#endif
