/* Products: what this instance remembers of each, in a table of bounded size.
 *
 * A product is read from the database the first time it is asked for, once, while others that ask
 * for it wait. It stays while a sale uses it, and then until `limit` others were used after it; one
 * with a bad strategy, or with a failpoint where there is no --lab, stays as well. An id that names
 * no product, or could not be read, is not remembered. */
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
    unsigned next_shard;            /* where the next sale starts */
    uint64_t seen_empty;            /* rows, when last read: by their number, modulo 64 */
    int64_t none_returned_until_ms; /* see selling.c */
    bool is_leased;                 /* some sale of it asked for a lease at a server: */
    enum lock_kind lease;
    uint64_t stamped;         /* how often a stamped lock of it was won */
    struct batcher *batchers; /* one per row of stock; or NULL: no sale of it joined a batch yet */

    /* The table's own. */
    struct product_table *table;
    enum { PRODUCT_LOADING, PRODUCT_REMEMBERED, PRODUCT_FORGOTTEN } state;
    enum outcome outcome; /* of loading it: what product_get() returns */
    struct why why;       /* it is not OK */
    unsigned users;
    LIST_HEAD(product_waiters, product_waiter) waiters;
    TAILQ_ENTRY(product) by_use;
    LIST_ENTRY(product) in_bucket;
};

struct product_table;

/* `limit` counts remembered products; only products in use may exceed it. `instance` is not copied;
 * it decides at which shard this instance starts, so that instances spread. NULL without memory. */
struct product_table *product_table_open(struct pg_pool *pool, const char *instance, bool is_lab,
                                         unsigned limit);
/* Beside Postgres and Redis this instance has the servers of these bits, each 1 << enum
 * strategy_server; a strategy that needs another is a bad one. */
void product_table_has(struct product_table *table, unsigned servers);
/* No product may be in use. NULL is fine. */
void product_table_close(struct product_table *table);
unsigned product_table_count(const struct product_table *table);

/* In a fiber: get a product, to be given to product_put(). `id` in lower case. OK; or else *product
 * is NULL, and `why` says so: UNKNOWN_PRODUCT, BAD_STRATEGY, BUSY, FAILED. */
enum outcome product_get(struct product_table *table, const char *id, struct product **product,
                         struct why *why);
void product_put(struct product *product);

/* A unit of this product was given back: look for it from now on. */
void product_note_returned(struct product_table *table, const char *id);

#endif
