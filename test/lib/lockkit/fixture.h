/* What the lockkit tests share: a loop that is awaited with a deadline, and callers that remember
 * what they were told. */
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

/* How long clients wait for a reply: a machine that stalls is not silent. */
#define FIXTURE_REPLY_MS 2000

struct fixture {
    uv_loop_t loop;
    uv_timer_t tick;           /* keeps UV_RUN_ONCE from sleeping for long */
    lk_client *client, *other; /* closed at the end, if there is one */
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

void on_flag(void *data); /* sets a bool */
void close_client(struct fixture *fixture, lk_client *client);
lk_client *open_client(struct fixture *fixture, const char *url);
struct lk_counters counters(const lk_client *client);
lk_lock *open_lock(struct fixture *fixture, lk_client *client, uint32_t ttl_ms);
/* The same, SUSPECT so long before it is LOST that a stall does not skip either. */
lk_lock *open_wary_lock(struct fixture *fixture, lk_client *client, uint32_t ttl_ms,
                        uint32_t suspect_ms);

void on_caller_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data);
void on_caller_released(enum lk_status status, void *data);
/* Start acquiring. */
void start(struct caller *caller, lk_lock *lock, uint32_t wait_ms);
/* Acquire, and wait for the outcome. */
enum lk_status take(struct fixture *fixture, struct caller *caller, lk_lock *lock,
                    uint32_t wait_ms);
/* Release, and wait for the outcome. */
enum lk_status give(struct fixture *fixture, struct caller *caller);
/* Until so many hold the fixture's lock and wait for it, by what the server tells its client. */
void await_crowd(struct fixture *fixture, size_t holders, size_t waiters);

#endif
