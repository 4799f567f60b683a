/* Locks among the fibers of this process, by name: exclusive or shared, with or without a queue.
 * Another process has its own. A lock exists while a fiber holds it or waits for it. */
#ifndef INVENTORY_PROCESS_LOCK_H
#define INVENTORY_PROCESS_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct process_lock;

enum process_lock_mode {
    /* First come, first served. A fiber that wants to share waits behind an earlier one that wants
     * the lock alone. */
    PROCESS_LOCK_EXCLUSIVE, /* one holder */
    PROCESS_LOCK_SHARED,    /* any number, while no fiber holds it exclusively */
    /* Exclusive, without a place in the queue. */
    PROCESS_LOCK_AT_ONCE, /* or UV_EBUSY */
    PROCESS_LOCK_SPIN,    /* tried again in each turn of the loop, which never sleeps meanwhile: the
                             first try that finds it free wins, and there is no queue */
};

/* In a fiber. 0: *lock is held, until process_lock_release(). Otherwise *lock is NULL: UV_ENOMEM,
 * UV_EBUSY, or UV_ETIMEDOUT if it was not won by `deadline_ms`, of clock_now_ms(). `attempts`
 * counts the attempts at a lock that spins, in all cases. */
__attribute__((warn_unused_result)) int process_lock_acquire(uv_loop_t *loop, const char *name,
                                                             enum process_lock_mode mode,
                                                             int64_t deadline_ms,
                                                             struct process_lock **lock,
                                                             unsigned *attempts);

/* No fiber holds it or waits for it. */
bool process_lock_is_free(const char *name);

/* The next fibers run in the same turn of the loop, but not inside this call. */
void process_lock_release(struct process_lock *lock);

#endif
