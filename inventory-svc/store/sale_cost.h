/* The cost of one sale: its round trips, and how it spent its time. A reply tells it in a
 * Server-Timing header (W3C), so that strategies can be compared by the work of each order.
 *
 *   wait;dur=1.234, hold;dur=3.001, commit;dur=1.020, pg;desc="4", redis;desc="2", retry;desc="0",
 *   lock;desc="redis", shard;desc="3"
 *
 * Durations are milliseconds. A metric that does not apply is left out:
 *
 *     wait, hold, redis,     only with a lock; hold not while the lock is shared; in a batch,
 *     retry, lock            `wait` is until it went, and its statement counts for each sale
 *     commit, shard          only with a sale
 *     kept                   only for a sale that did not get the lock: how long before the end
 *                            of its wait others kept it, without a change that this instance saw;
 *                            not if it knows nothing of that
 *
 * Not counted: reading the product (once per instance), subscribing to a lock's release, renewing a
 * long lease, and work after the answer, such as the confirmation of a release. */
#ifndef INVENTORY_SALE_COST_H
#define INVENTORY_SALE_COST_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>

struct sale_cost {
    unsigned postgres; /* statements that it sent and awaited */
    unsigned redis;    /* attempts at locks, and releases; also those at ZooKeeper or etcd */
    unsigned retries;  /* attempts beyond the first, of each lock and of the sale; one that had to
                          send Redis its script, once after Redis starts, counts twice */
    bool has_lock;     /* it asked for one, of this kind: */
    enum lock_kind lock;
    int64_t wait_ns;   /* until its locks were won or given up, or its batch went; -1: no wait */
    int64_t hold_ns;   /* from winning its locks to giving them back; -1: none won */
    int64_t kept_ns;   /* others kept the lock so long before the wait ended; -1: unknown, or won */
    int64_t commit_ns; /* of the statement that sold, with its waits for a connection and the row,
                          without failpoints; -1: nothing sold */
    int shard;         /* its row; -1: nothing sold */
};

#define SALE_COST_INIT                                                                             \
    { .wait_ns = -1, .hold_ns = -1, .kept_ns = -1, .commit_ns = -1, .shard = -1 }

/* A lock was won, or given up, after `wait_ns` and this many attempts at the server. */
void sale_cost_lock(struct sale_cost *cost, enum lock_kind kind, int64_t wait_ns,
                    unsigned attempts);
/* The lock was given back after `hold_ns`, or -1 if it was shared. is_released: at the server, not
 * by running out or by a hand-over. */
void sale_cost_unlock(struct sale_cost *cost, enum lock_kind kind, int64_t hold_ns,
                      bool is_released);

#define SALE_COST_TEXT 192
/* The header's value; returns `text`. */
const char *sale_cost_text(const struct sale_cost *cost, char text[SALE_COST_TEXT]);

#endif
