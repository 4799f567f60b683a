/* Fibers: functions on stacks of their own that wait without blocking the loop.
 *
 * Every HTTP request runs in a fiber, so a handler reads top to bottom: a call that waits suspends
 * the fiber, and the callback of the operation resumes it. Fibers belong to one thread (that of
 * their loop) and switch only where they wait, so code between two waits needs no lock.
 *
 * How a module turns a callback into a wait (`on_answer` runs on the loop, never inside `start`):
 *
 *     struct fiber_event done = FIBER_EVENT_INIT;
 *     if (start(op, on_answer, &done) == 0)   // on_answer calls fiber_event_set(&done)
 *         fiber_event_wait(&done);
 *
 * Stacks are mapped with a guard page below them, are pooled, and are announced to AddressSanitizer
 * and valgrind. A switch makes no system call (_setjmp and _longjmp; ucontext only enters a new
 * stack): a pair costs tens of nanoseconds (`bench/run fibers`). All share one signal mask. */
#ifndef UVKIT_FIBER_H
#define UVKIT_FIBER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define FIBER_STACK_BYTES (128 * 1024)

struct fiber;

typedef void (*fiber_fn)(void *arg);

/* Run `fn(arg)` in a new fiber, at once, up to its first wait; returns when the fiber first waits
 * or ends. 0, or UV_ENOMEM, and then `fn` never runs. `arg` stays the caller's. */
__attribute__((warn_unused_result)) int fiber_start(fiber_fn fn, void *arg);

/* Unmap the pooled stacks. All fibers must have ended (assert): at exit, or in a test's tear-down.
 */
void fiber_cleanup(void);

/* Something that one fiber waits for and that happens once. It may happen before the wait. */
struct fiber_event {
    struct fiber *waiter; /* the fiber in fiber_event_wait(), or NULL */
    bool is_set;
};
#define FIBER_EVENT_INIT                                                                           \
    { NULL, false }

/* Suspend this fiber until fiber_event_set(event); returns at once if that has happened. Only in a
 * fiber; only one fiber may wait for an event. The event may be reused after `is_set = false`. */
void fiber_event_wait(struct fiber_event *event);

/* The same for at most `ms` milliseconds; false when it has not happened by then. When it happens
 * meanwhile, the fiber goes on the next time that the loop closes handles, at the end of a turn. */
bool fiber_event_wait_for(uv_loop_t *loop, struct fiber_event *event, uint64_t ms);

/* Say that it happened. The waiting fiber, if any, runs inside this call up to its next wait or its
 * end, so it is the last line of the function that calls it: the event may be gone when it returns.
 */
void fiber_event_set(struct fiber_event *event);

/* Drop the fiber that waits for `event` (assert: there is one, and it is not the caller) where it
 * stands: nothing of it runs any more, and its stack goes back to the pool. For a scheduler that
 * explores many schedules and abandons most. What the fiber held (memory, handles, locks) stays
 * held, and what lay on its stack is gone, the event too if it was there: so nothing may point into
 * that stack any more, no handle or request of libuv either. An event elsewhere may be waited for
 * again. In a fiber or outside. */
void fiber_discard(struct fiber_event *event);

/* Suspend this fiber for `ms` milliseconds; 0: for a turn of the loop, in which all others run.
 * Only in a fiber. */
void fiber_sleep(uv_loop_t *loop, uint64_t ms);

#endif
