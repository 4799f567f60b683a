/* The locks of sales: each kind is of this process, of this machine, or at a server.
 *
 * The functions run in a fiber. A failure puts its reason into lock->why. */
#ifndef INVENTORY_LOCK_H
#define INVENTORY_LOCK_H

#include "lock_servers.h"
#include "product.h"
#include "reservation.h"
#include "store.h"

/* A lock that a sale asks for, and then holds. The first part is the caller's to fill in. */
struct store_lock {
    struct lock_servers *servers;
    struct product *product; /* in use until the lock is given back */
    struct sale *sale;
    struct why *why; /* it is not won, or not ours any more */
    enum lock_kind kind;
    enum lock_mode mode;
    int shard;
    uint64_t stamp;      /* with MODE_UNCHANGED */
    int64_t deadline_ms; /* to win it */
    int64_t due_ms;      /* of the last statement for it */

    void *grant;         /* the kind's own; NULL while it is not held */
    bool is_handed_over; /* it went to another sale of this instance: no server was asked */
    int64_t acquired_ns; /* or given up */
    int64_t wait_ns;     /* until then */
    int64_t kept_ns;     /* of it, others kept the lock; -1: it was won, or that is not known */
    unsigned attempts;   /* that were made, where the kind counts them */
};

/* OK, and it is the caller's until lock_release() or lock_abandon(). BUSY, FAILED; CONFLICT with a
 * stamp. */
enum outcome lock_acquire(struct store_lock *lock);
/* Is it ours for long enough to write? OK, or BUSY. */
enum outcome lock_check(const struct store_lock *lock);
void lock_release(struct store_lock *lock);
/* The sale's write may still take effect: no other sale gets the lock for `hold_ms`, nor before
 * what frees it has done so. */
void lock_abandon(struct store_lock *lock, int64_t hold_ms);

/* A number that the next grant of the product's stamped lock changes; 0: the lock is held. */
uint64_t lock_stamp(const struct product *product, int shard);

/* The token that grew with this grant; 0: the kind has none. */
int64_t lock_fence(const struct store_lock *lock);
/* The row that the lock guards has this token: later grants get higher ones. */
void lock_saw_fence(const struct store_lock *lock, int64_t fence);

/* For the metrics: how long it was waited for until it was won or given up, and held. Locks count
 * their waits by themselves. */
void lock_note_wait(enum lock_kind kind, int64_t wait_ns);
void lock_note_hold(enum lock_kind kind, int64_t hold_ns);

/* The name of the instance that holds the lock of the product's first row of stock; "" when none
 * does, no sale of it took one at a server, or it could not be learned in half a second. */
void lock_holder(struct lock_servers *servers, const struct product *product,
                 char holder[INSTANCE_BYTES]);

#endif
