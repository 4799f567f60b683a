/* Locks among the fibers of this process, by name: exclusive or shared, in a queue or without one.
 * Another process has locks of its own. A lock exists while a fiber holds it or waits for it. */
#ifndef INVENTORY_PROCESS_LOCK_H
#define INVENTORY_PROCESS_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct process_lock;

enum process_lock_mode {
    /* First come, first served. A fiber that wants to share it waits behind one that came before
     * and wants it alone. */
    PROCESS_LOCK_EXCLUSIVE, /* one holder */
    PROCESS_LOCK_SHARED,    /* any number, while nobody has it exclusively */
    /* Exclusively, also while others wait for it. */
    PROCESS_LOCK_AT_ONCE, /* or UV_EBUSY */
    PROCESS_LOCK_SPIN,    /* tried again in each turn of the loop, which never sleeps meanwhile: it
                             goes to the first try that finds it free, and there is no queue */
};

/* In a fiber: 0 with *lock held, to be given to process_lock_release(); or, with NULL, UV_ENOMEM,
 * UV_EBUSY, or UV_ETIMEDOUT: not won by `deadline_ms`, of clock_now_ms(). `attempts` at a lock that
 * spins are counted in all cases. */
__attribute__((warn_unused_result)) int process_lock_acquire(uv_loop_t *loop, const char *name,
                                                             enum process_lock_mode mode,
                                                             int64_t deadline_ms,
                                                             struct process_lock **lock,
                                                             unsigned *attempts);

/* Nobody has it and nobody waits for it. */
bool process_lock_is_free(const char *name);

/* Those who are next run in the same turn of the loop, but not inside this call. */
void process_lock_release(struct process_lock *lock);

#endif
