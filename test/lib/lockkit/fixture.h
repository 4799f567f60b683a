/* The fixture of the lockkit tests: a loop with waits that have a deadline, and callers that
 * remember their answers. */
#ifndef LOCKKIT_TEST_FIXTURE_H
#define LOCKKIT_TEST_FIXTURE_H

#include "clock.h"
#include "lockkit.h"
#include "wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How long clients wait for a reply: a stalled machine does not count as silent. */
#define FIXTURE_REPLY_MS 2000

struct fixture {
    uv_loop_t loop;
    uv_timer_t tick;           /* keeps UV_RUN_ONCE from sleeping for long */
    lk_client *client, *other; /* closed at the end, unless NULL */
    lk_lock *lock;
    char name[64];
};

/* One caller of lk_acquire() and lk_release(). */
struct caller {
    int calls, releases;
    unsigned round_trips;
    int64_t kept_ns;
    enum lk_status status, release_status;
    lk_lease *lease;
    lk_request *request;
};

void fixture_init(struct fixture *fixture);
void fixture_end(struct fixture *fixture);
/* For set-up: *state becomes a struct of `size` that begins with its struct fixture; the rest is
 * zero. With a `url` the fixture has a client there and a lock with a TTL of 2 s. */
void *fixture_open(void **state, size_t size, const char *url);
int fixture_close(void **state); /* for tear-down */

void on_flag(void *data); /* a callback that sets a bool */
void close_client(struct fixture *fixture, lk_client *client);
lk_client *open_client(struct fixture *fixture, const char *url);
struct lk_counters counters(const lk_client *client);
/* A lock of the fixture's name. The function fills in the size of `options`. */
lk_lock *open_lock_as(struct fixture *fixture, lk_client *client, struct lk_lock_options options);
lk_lock *open_lock(struct fixture *fixture, lk_client *client, uint32_t ttl_ms);
/* The same. It is SUSPECT for so long before it is LOST that a stall skips neither. */
lk_lock *open_wary_lock(struct fixture *fixture, lk_client *client, uint32_t ttl_ms,
                        uint32_t suspect_ms);

void on_caller_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data);
void on_caller_released(enum lk_status status, void *data);
/* Start acquiring. */
void start(struct caller *caller, lk_lock *lock, uint32_t wait_ms);
/* Acquire, and wait for the outcome. */
enum lk_status take(struct fixture *fixture, struct caller *caller, lk_lock *lock,
                    uint32_t wait_ms);
/* The same; asserts that it is granted. */
void obtain(struct fixture *fixture, struct caller *caller, lk_lock *lock, uint32_t wait_ms);
/* Acquire and release, and return the fencing token. */
uint64_t use_once(struct fixture *fixture, lk_lock *lock, uint32_t wait_ms);
/* A started caller is granted now; give its lock back. */
void await_and_give(struct fixture *fixture, struct caller *caller);
/* On Redis a waiting caller asks again once its client has its channel: wait for the answer to
 * that. */
void await_channel(struct fixture *fixture, lk_client *client, const struct caller *caller);
/* Acquire, and wait in vain, for as long as the server needs to answer that another owner holds it.
 */
void time_out(struct fixture *fixture, struct caller *caller, lk_lock *lock);
/* Wait until a try is UNAVAILABLE. Before that it may be UNKNOWN: it was sent when the connection
 * broke. */
void await_unavailable(struct fixture *fixture, lk_lock *lock);
/* Break the lock of `owner`, or of all holders if `owner` is NULL, and wait for the outcome. */
enum lk_status break_lock(struct fixture *fixture, lk_lock *lock, const char *owner);
/* Release, and wait for the outcome. */
enum lk_status give(struct fixture *fixture, struct caller *caller);

/* The answer of lk_inspect(), with its first holder. */
struct inspected {
    int calls;
    enum lk_status status;
    size_t holders, waiters;
    unsigned waiters_here;
    char owner[64], label[64];
    enum lk_mode mode;
    uint64_t fence;
    int64_t remaining_ms;
};
struct inspected inspect_lock(struct fixture *fixture, lk_lock *lock);
void turn(struct fixture *fixture, int times); /* of the loop */
/* Wait until so many hold the fixture's lock and wait for it, by the server's word to its client.
 */
void await_crowd(struct fixture *fixture, size_t holders, size_t waiters);

#endif
