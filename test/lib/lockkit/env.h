/* Two clients of one server, the second through a proxy, and a trace of the news for a holder. */
#ifndef LOCKKIT_TEST_ENV_H
#define LOCKKIT_TEST_ENV_H

#include "fault_proxy.h"
#include "fixture.h"

struct env {
    struct fixture fixture; /* its client talks to the server directly */
    struct fault_proxy *proxy;
    lk_client *far;  /* through the proxy */
    char trace[128]; /* the events, in their order */
    char why[96];    /* from the last state */
};

/* `near` is the URL of the first client, `far` that of the second. The proxy stands before the
 * first server of `far`. The fixture's lock has a TTL of 2 s. `state` becomes the struct env. */
int env_open(void **state, const char *near, const char *far);
int env_close(void **state);
/* A client that goes on giving back for longer than a test takes. */
lk_client *env_open_client(struct env *env, const char *url);

/* For lk_lease_on_state() and lk_acquire(), with the env as data. They append to the trace: "held
 * ", "suspect " or "lost "; and "successor ", which gives its lease back at once. */
void env_trace_state(lk_lease *lease, enum lk_state state, const char *why, void *data);
void env_trace_successor(lk_request *request, enum lk_status status, lk_lease *lease, void *data);
/* Acquire with a lock of its own, and trace the lease. */
void env_hold(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms);
/* The same lock. It is SUSPECT for so long before it is LOST that a stall skips neither. */
void env_hold_warily(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms,
                     uint32_t suspect_ms);
/* Acquire and release once, so that the next attempt is one command. */
void env_warm_up(struct env *env, lk_lock *lock);
/* Start acquiring, and cut the connection when the server has granted the lock, before its answer
 * arrives. The proxy still holds the answer back. */
void env_lose_grant(struct env *env, struct caller *caller, lk_lock *lock, uint32_t wait_ms);

#endif
