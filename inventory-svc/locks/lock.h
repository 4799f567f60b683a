/* The locks of sales. Each kind is in this process, on this machine, or at a server.
 *
 * The functions run in a fiber. A failure puts its reason into lock->why. */
#ifndef INVENTORY_LOCK_H
#define INVENTORY_LOCK_H

#include "lock_servers.h"
#include "product.h"
#include "reservation.h"
#include "store.h"

/* A lock that a sale asks for and then holds. The caller fills in the first part. */
struct store_lock {
    struct lock_servers *servers;
    struct product *product; /* in use until the lock is given back */
    struct sale *sale;
    struct why *why; /* why it is not won, or not ours any more */
    enum lock_kind kind;
    enum lock_mode mode;
    int shard;
    uint64_t stamp;      /* with MODE_UNCHANGED */
    int64_t deadline_ms; /* for winning it */
    int64_t due_ms;      /* for its last statement */

    void *grant;         /* the kind's own; NULL while it is not held */
    bool is_handed_over; /* another sale of this instance has it now, without asking a server */
    int64_t acquired_ns; /* when it was won or given up */
    int64_t wait_ns;     /* until then */
    int64_t kept_ns;     /* part of that in which others kept it; -1: it was won, or unknown */
    unsigned attempts;   /* if the kind counts them */
};

/* OK: it is the caller's until lock_release() or lock_abandon(). BUSY, FAILED; with a stamp also
 * CONFLICT. */
enum outcome lock_acquire(struct store_lock *lock);
/* Is it ours for long enough to write? OK or BUSY. */
enum outcome lock_check(const struct store_lock *lock);
void lock_release(struct store_lock *lock);
/* The sale's write may still take effect. So no other sale gets the lock for `hold_ms`, and not
 * before the lock's own way of freeing it is done. */
void lock_abandon(struct store_lock *lock, int64_t hold_ms);

/* A number that the next grant of the product's stamped lock changes; 0: the lock is held. */
uint64_t lock_stamp(const struct product *product, int shard);

/* The token of this grant, higher than those of earlier grants; 0: the kind has none. */
int64_t lock_fence(const struct store_lock *lock);
/* The row under this lock has this token: later grants get higher ones. */
void lock_saw_fence(const struct store_lock *lock, int64_t fence);

/* For the metrics: the time until it was won or given up, and the time it was held. Locks count
 * their waits themselves. */
void lock_note_wait(enum lock_kind kind, int64_t wait_ns);
void lock_note_hold(enum lock_kind kind, int64_t hold_ns);

/* The name of the instance that holds the lock of the product's first row. "" when none holds it,
 * when no sale of the product took one at a server, or when half a second did not suffice to learn
 * it. */
void lock_holder(struct lock_servers *servers, const struct product *product,
                 char holder[INSTANCE_BYTES]);

#endif
