/* A store that is a model of a few lines: no server, and every interleaving by hand. */
#ifndef TEST_MODEL_STORE_H
#define TEST_MODEL_STORE_H

#include "fiber.h"
#include "strategies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SHARDS 4

/* The stock of one product, a lock per shard that one sale holds and others are refused, and a raw
 * key. */
struct model {
    struct stock_row rows[SHARDS];
    bool seen_empty[SHARDS]; /* when last read */
    bool is_locked[SHARDS];
    int readers;                        /* who share the lock of row 0 */
    const struct sale *holders[SHARDS]; /* and how often they have it */
    int times[SHARDS];
    uint64_t stamped;           /* how often a lock was won */
    bool is_row_locked[SHARDS]; /* by a transaction; one that wants to wait is refused at once */
    int locks_taken;
    enum outcome read_outcome, write_outcome; /* OK, or what the next ones answer */
    enum outcome unlocked_with;
    bool is_lease_lost;
    int64_t fence; /* of the last lock */
    struct sale_options options;

    char key[KV_TEXT]; /* its value, "" when it is not there */
    int64_t key_ttl_ms;
    char said[200]; /* the commands, in the order they came */
    enum outcome kv_outcome;
    bool may_pause;               /* else the wait is over */
    enum fail_point stop;         /* where a sale waits for go, too, ... */
    bool does_stop;               /* ... if it does */
    enum outcome passes_with[10]; /* what a failpoint answers, by enum fail_point */
};

extern struct model model;

/* What store_lock() hands out. */
struct model_lock {
    int shard;
    int64_t fence;
    bool is_shared;
};

/* A sale in a fiber that stops in store_work() until it is let on. */
struct model_sale {
    struct sale sale;
    struct model_lock lock;
    struct {
        bool is_open, has_row, has_written;
        enum isolation isolation;
        struct stock_row row; /* kept from others, with has_row; seen, with has_written */
    } transaction;
    const struct strategy *strategy;
    int first_shard;
    struct fiber_event go;
    enum outcome outcome;
};

/* Before and after each test; the first also begins anew in the middle of one. */
int model_set_up(void **state);
int model_tear_down(void **state);

/* Begin a sale under a strategy; it runs up to where it waits. */
void model_begin(struct model_sale *sale, const char *name, int first_shard);
/* Let it on, from where it waits to where it waits next, or to its end. */
void model_go_on(struct model_sale *sale);
/* The same without a stop. */
enum outcome model_sell(const char *name, int first_shard, struct model_sale *sale);
/* Set the raw key, or take it away: "". */
void model_set_key(const char *value, int64_t ttl_ms);

#endif
