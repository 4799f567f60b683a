/* Two clients of one server, the second through a proxy, and a trace of what a holder is told. */
#ifndef LOCKKIT_TEST_ENV_H
#define LOCKKIT_TEST_ENV_H

#include "fault_proxy.h"
#include "fixture.h"

struct env {
    struct fixture fixture; /* its client talks to the server directly */
    struct fault_proxy *proxy;
    lk_client *far;  /* through the proxy */
    char trace[128]; /* of events, in the order they came */
    char why[96];    /* of the last state */
};

/* `near` is the URL of the first client, `far` that of the second; the proxy stands before the
 * first server of `far`. The fixture's lock has a TTL of 2 s. `state` gets the struct env. */
int env_open(void **state, const char *near, const char *far);
int env_close(void **state);
/* A client that goes on trying to give back for longer than a test takes. */
lk_client *env_open_client(struct env *env, const char *url);

/* For lk_lease_on_state() and lk_acquire(), with the env as data: they append "held ", "suspect "
 * or "lost " to the trace, and "successor ", whose lease is given back at once. */
void env_trace_state(lk_lease *lease, enum lk_state state, const char *why, void *data);
void env_trace_successor(lk_request *request, enum lk_status status, lk_lease *lease, void *data);
/* Acquire with a lock of its own, and trace the lease. */
void env_hold(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms);
/* The same lock, SUSPECT so long before it is LOST that a stall does not skip either. */
void env_hold_warily(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms,
                     uint32_t suspect_ms);
/* Acquire and release once, so that the next attempt is one command. */
void env_warm_up(struct env *env, lk_lock *lock);
/* Start acquiring, and cut the connection when the server has granted it and has not told so. What
 * comes is still held back. */
void env_lose_grant(struct env *env, struct caller *caller, lk_lock *lock, uint32_t wait_ms);

#endif
