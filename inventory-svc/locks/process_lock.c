/* A tree of locks by name, each with its queue of waiters. The next waiter gets the lock before its
 * fiber runs, so no fiber overtakes it. It runs once its timer has closed. */
#include "process_lock.h"

#include "clock.h"
#include "fiber.h"

#include <assert.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct process_lock {
    const char *name; /* the key; first, so a search needs no whole lock */
    unsigned holders;
    bool is_exclusive; /* while there are holders */
    TAILQ_HEAD(waiters, waiter) waiters;
    char name_copy[];
};

/* On the stack of a fiber. */
struct waiter {
    uv_timer_t timer;
    struct fiber_event is_over;
    struct process_lock *lock;
    enum process_lock_mode mode;
    bool has_won;
    TAILQ_ENTRY(waiter) others;
};

static void *locks; /* fibers belong to one thread, and so does this tree */

static int process_lock_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct process_lock *process_lock_find(const char *name) {
    struct process_lock **found = tfind(&name, &locks, process_lock_compare);

    return found != NULL ? *found : NULL;
}

static struct process_lock *find_or_make(const char *name) {
    size_t size = strlen(name) + 1;
    struct process_lock *lock = process_lock_find(name);

    if (lock != NULL)
        return lock;
    lock = calloc(1, sizeof *lock + size);
    if (lock == NULL)
        return NULL;
    memcpy(lock->name_copy, name, size);
    lock->name = lock->name_copy;
    TAILQ_INIT(&lock->waiters);
    if (tsearch(lock, &locks, process_lock_compare) != NULL)
        return lock;
    free(lock);
    return NULL;
}

static bool process_lock_is_open(const struct process_lock *lock, enum process_lock_mode mode) {
    return lock->holders == 0 || (mode == PROCESS_LOCK_SHARED && !lock->is_exclusive);
}

static void process_lock_take(struct process_lock *lock, enum process_lock_mode mode) {
    assert(process_lock_is_open(lock, mode));
    lock->holders++;
    lock->is_exclusive = mode != PROCESS_LOCK_SHARED;
}

static void process_lock_on_timer_closed(uv_handle_t *timer) {
    struct waiter *waiter = timer->data;

    fiber_event_set(&waiter->is_over);
}

static void leave_queue(struct waiter *waiter) {
    TAILQ_REMOVE(&waiter->lock->waiters, waiter, others);
    uv_close((uv_handle_t *)&waiter->timer, process_lock_on_timer_closed);
}

/* Pass the lock to the first waiters that may have it now. It ends with its last user. */
static void process_lock_pass_on(struct process_lock *lock) {
    struct waiter *next;

    while ((next = TAILQ_FIRST(&lock->waiters)) != NULL && process_lock_is_open(lock, next->mode)) {
        process_lock_take(lock, next->mode);
        next->has_won = true;
        leave_queue(next);
    }
    if (lock->holders > 0)
        return;
    assert(TAILQ_EMPTY(&lock->waiters)); /* a lock without holders has no waiters */
    tdelete(lock, &locks, process_lock_compare);
    free(lock);
}

static void on_late(uv_timer_t *timer) {
    struct waiter *waiter = timer->data;

    leave_queue(waiter);
    process_lock_pass_on(waiter->lock); /* those behind it may share with the holders */
}

static bool wait_in_queue(uv_loop_t *loop, struct waiter *waiter, int64_t deadline_ms) {
    int64_t left_ms = deadline_ms - clock_now_ms();

    (void)uv_timer_init(loop, &waiter->timer); /* cannot fail */
    waiter->timer.data = waiter;
    uv_update_time(loop);
    (void)uv_timer_start(&waiter->timer, on_late, left_ms > 0 ? (uint64_t)left_ms : 0, 0);
    TAILQ_INSERT_TAIL(&waiter->lock->waiters, waiter, others);
    fiber_event_wait(&waiter->is_over);
    return waiter->has_won;
}

/* The lock exists while a fiber holds it. */
static void process_lock_spin(uv_loop_t *loop, const char *name, int64_t deadline_ms,
                              unsigned *attempts) {
    for (*attempts = 1; process_lock_find(name) != NULL && clock_now_ms() < deadline_ms;
         ++*attempts)
        fiber_sleep(loop, 0);
}

int process_lock_acquire(uv_loop_t *loop, const char *name, enum process_lock_mode mode,
                         int64_t deadline_ms, struct process_lock **out, unsigned *attempts) {
    struct waiter waiter = {.mode = mode, .is_over = FIBER_EVENT_INIT};
    struct process_lock *lock;

    *out = NULL;
    if (mode == PROCESS_LOCK_SPIN)
        process_lock_spin(loop, name, deadline_ms, attempts);
    lock = waiter.lock = find_or_make(name);
    if (lock == NULL)
        return UV_ENOMEM;
    if (process_lock_is_open(lock, mode) && TAILQ_EMPTY(&lock->waiters))
        process_lock_take(lock, mode);
    else if (mode == PROCESS_LOCK_AT_ONCE)
        return UV_EBUSY;
    else if (mode == PROCESS_LOCK_SPIN || !wait_in_queue(loop, &waiter, deadline_ms))
        return UV_ETIMEDOUT;
    *out = lock;
    return 0;
}

bool process_lock_is_free(const char *name) {
    return process_lock_find(name) == NULL;
}

void process_lock_release(struct process_lock *lock) {
    assert(lock->holders > 0);
    if (--lock->holders == 0)
        process_lock_pass_on(lock);
}
