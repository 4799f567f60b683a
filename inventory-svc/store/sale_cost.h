/* What one sale cost: its round trips, and where its time went; told as a Server-Timing header
 * (W3C), so that strategies can be compared by the work that each order took.
 *
 *   wait;dur=1.234, hold;dur=3.001, commit;dur=1.020, pg;desc="4", redis;desc="2", retry;desc="0",
 *   lock;desc="redis", shard;desc="3"
 *
 * Durations are milliseconds. A customer who did not get the lock is also told kept;dur: how much
 * of the wait, up to its end, others kept the lock without a change that this instance saw, unless
 * it knows nothing of that. Left out is what does not apply: wait, hold, redis, retry and lock
 * without a lock, commit and shard without a sale; hold, while a lock is shared. The statement of a
 * batch counts as one for each of its sales, and `wait` is then that for the batch to go. No part
 * of a sale is reading the product, once per instance; subscribing to a lock's release and renewing
 * a long lease; and what follows the answer: the confirmation of a release, cleaning up. */
#ifndef INVENTORY_SALE_COST_H
#define INVENTORY_SALE_COST_H

#include "store.h"

#include <stdbool.h>
#include <stdint.h>

struct sale_cost {
    unsigned postgres; /* statements that it asked for and awaited */
    unsigned redis;    /* attempts at locks, and their releases; of a lock in ZooKeeper or etcd
                          those there */
    unsigned retries;  /* attempts beyond the first of each lock, and of the sale; one that had to
                          bring Redis its script, once after Redis starts, counts as two */
    bool has_lock;     /* it asked for one, of this kind: */
    enum lock_kind lock;
    int64_t wait_ns; /* until its locks were won or given up, or its batch went; -1: none asked
                        for */
    int64_t hold_ns; /* from winning them to giving them back; -1: none won */
    int64_t kept_ns; /* before the wait ended: others kept the lock; -1: not told, or it was won */
    int64_t commit_ns; /* of the statement that sold, with its wait for a connection and for the
                          row, without a failpoint's; -1: nothing sold */
    int shard;         /* that it was sold from, -1: nothing sold */
};

#define SALE_COST_INIT                                                                             \
    { .wait_ns = -1, .hold_ns = -1, .kept_ns = -1, .commit_ns = -1, .shard = -1 }

/* A lock was won, or given up, after `wait_ns` and so many attempts at the server. */
void sale_cost_lock(struct sale_cost *cost, enum lock_kind kind, int64_t wait_ns,
                    unsigned attempts);
/* It is given back after `hold_ns`, or -1 where it was shared; released: at the server, not merely
 * left to run out, nor handed over. */
void sale_cost_unlock(struct sale_cost *cost, enum lock_kind kind, int64_t hold_ns,
                      bool is_released);

#define SALE_COST_TEXT 192
/* The header's value; returns `text`. */
const char *sale_cost_text(const struct sale_cost *cost, char text[SALE_COST_TEXT]);

#endif
