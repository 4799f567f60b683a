/* Products: a table of bounded size with the products that this instance remembers.
 *
 * The first caller loads a product from the database, and others wait for that load. The product
 * stays while a sale uses it, and after that until `limit` others were used. So does one with a bad
 * strategy, or with a failpoint without --lab. An id without a product, or one that could not be
 * read, is not remembered. */
#ifndef INVENTORY_PRODUCT_H
#define INVENTORY_PRODUCT_H

#include "product_sql.h"
#include "spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct batcher;

struct product {
    char id[UUID_TEXT];
    struct product_row row;
    struct strategy_spec spec;
    unsigned next_shard;            /* the next sale starts here */
    uint64_t seen_empty;            /* rows last read as empty: bit of their number, modulo 64 */
    int64_t none_returned_until_ms; /* see store_live.c */
    bool is_leased;                 /* some sale asked a server for a lease, of this kind: */
    enum lock_kind lease;
    uint64_t stamped; /* how often its stamped lock was won */
    struct batcher
        *takers;         /* one per part of the stock in Redis; or NULL: no sale took a unit yet */
    int next_part;       /* the next new order tries it first */
    uint32_t parts_over; /* bits of parts that have no unit, and get none */
    struct batcher *batchers; /* one per row of stock; or NULL: no sale of it joined a batch yet */

    /* For the table only. */
    struct product_table *table;
    enum { PRODUCT_LOADING, PRODUCT_REMEMBERED, PRODUCT_FORGOTTEN } state;
    enum outcome outcome; /* of its load; product_get() returns it */
    struct why why;       /* set unless that is OK */
    unsigned users;
    LIST_HEAD(product_waiters, product_waiter) waiters;
    TAILQ_ENTRY(product) by_use;
    LIST_ENTRY(product) in_bucket;
};

struct product_table;

/* `limit` counts remembered products. Only products in use may exceed it. `instance` is not copied.
 * It decides the shard at which this instance starts, so that instances spread. NULL without
 * memory. */
struct product_table *product_table_open(struct pg_pool *pool, const char *instance, bool is_lab,
                                         unsigned limit);
/* This instance has the servers of these bits, each 1 << enum strategy_server, beside Postgres and
 * Redis. A strategy that needs another server is a bad one. */
void product_table_has(struct product_table *table, unsigned servers);
/* No product may be in use. NULL is fine. */
void product_table_close(struct product_table *table);
unsigned product_table_count(const struct product_table *table);

/* In a fiber: get a product, which must go back by product_put(). `id` in lower case. OK; or
 * *product is NULL and `why` is set: UNKNOWN_PRODUCT, BAD_STRATEGY, BUSY, FAILED. */
enum outcome product_get(struct product_table *table, const char *id, struct product **product,
                         struct why *why);
void product_put(struct product *product);

/* A unit of this product was given back: look for it. */
void product_note_returned(struct product_table *table, const char *id);

#endif
