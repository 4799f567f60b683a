/* Fibers: functions on their own stacks that wait without blocking the loop.
 *
 * Every HTTP request runs in a fiber, so a handler reads top to bottom: a call that waits suspends
 * the fiber, and the callback of the operation resumes it. Fibers belong to one thread (the one of
 * their loop) and switch only where they wait, so code between two waits needs no lock.
 *
 * To turn a callback into a wait (`on_answer` runs on the loop, never inside `start`):
 *
 *     struct fiber_event done = FIBER_EVENT_INIT;
 *     if (start(op, on_answer, &done) == 0)   // on_answer calls fiber_event_set(&done)
 *         fiber_event_wait(&done);
 *
 * Stacks have a guard page below them and are pooled. AddressSanitizer and valgrind know them. A
 * switch makes no system call (_setjmp and _longjmp; ucontext only enters a new stack): a pair of
 * switches costs tens of nanoseconds (`bench/run fibers`). All fibers share one signal mask. */
#ifndef UVKIT_FIBER_H
#define UVKIT_FIBER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define FIBER_STACK_BYTES (128 * 1024)

struct fiber;

typedef void (*fiber_fn)(void *arg);

/* Run `fn(arg)` in a new fiber at once. Returns when the fiber first waits or ends. 0; or
 * UV_ENOMEM, and then `fn` never runs. `arg` stays the caller's. */
__attribute__((warn_unused_result)) int fiber_start(fiber_fn fn, void *arg);

/* Unmap the pooled stacks, at exit or in a test's tear-down. All fibers must have ended (assert).
 */
void fiber_cleanup(void);

/* An event that happens once, and for which one fiber waits. It may happen before the wait. */
struct fiber_event {
    struct fiber *waiter; /* the fiber in fiber_event_wait(), or NULL */
    bool is_set;
};
#define FIBER_EVENT_INIT                                                                           \
    { NULL, false }

/* Suspend this fiber until fiber_event_set(event). Returns at once if that has happened. Only in a
 * fiber. Only one fiber may wait for an event. The event may be reused after `is_set = false`. */
void fiber_event_wait(struct fiber_event *event);

/* The same for at most `ms` milliseconds; false when the event has not happened by then. When it
 * happens earlier, the fiber goes on when the loop next closes handles, at the end of a turn. */
bool fiber_event_wait_for(uv_loop_t *loop, struct fiber_event *event, uint64_t ms);

/* Set the event. The waiting fiber, if any, runs inside this call up to its next wait or its end.
 * So call it in the last line of a function: the event may be gone when it returns. */
void fiber_event_set(struct fiber_event *event);

/* Drop the fiber that waits for `event` (assert: there is one, and it is not the caller). It never
 * runs again, and its stack goes back to the pool. This is for a scheduler that explores many
 * schedules and abandons most.
 *
 * The fiber's memory, handles and locks stay held. Everything on its stack is gone, the event too
 * if it was there. So nothing may point into that stack any more, no handle or request of libuv
 * either. A fiber may wait again for an event elsewhere. In a fiber or outside. */
void fiber_discard(struct fiber_event *event);

/* Suspend this fiber for `ms` milliseconds. 0: for a turn of the loop, in which all others run.
 * Only in a fiber. */
void fiber_sleep(uv_loop_t *loop, uint64_t ms);

#endif
