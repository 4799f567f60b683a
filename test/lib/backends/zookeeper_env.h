/* What the tests of the zookeeper backend share: a server of their own, a client that talks to it
 * directly, one that goes through a proxy, and a record of what a holder was told. */
#ifndef LOCKKIT_TEST_ZOOKEEPER_ENV_H
#define LOCKKIT_TEST_ZOOKEEPER_ENV_H

#include "fault_proxy.h"
#include "fixture.h"
#include "own_zookeeper.h"

struct zookeeper_env {
    struct fixture fixture; /* its client talks to the server directly */
    struct fault_proxy *proxy;
    lk_client *far;  /* through the proxy; its sessions last ENV_SESSION_MS */
    char trace[128]; /* of events, in the order they came */
};

/* So long that it outlives a test, unless that waits for its end. */
#define ENV_SESSION_MS 2000

/* Of the test program. Its servers end with it. */
extern struct own_zookeeper zookeeper;
int zookeeper_up(void **state); /* a group's set-up, and its end: one server */
int zookeeper_up_three(void **state);
int zookeeper_down(void **state);

int zookeeper_env_set_up(void **state);
int zookeeper_env_tear_down(void **state);

/* A client of `servers`; `query` is what follows the path, or "". */
lk_client *open_zookeeper(struct zookeeper_env *env, const char *servers, const char *query);
/* An on_state callback, with the env for its data, which writes "held ", "suspect " or "lost ". */
void trace_state(lk_lease *lease, enum lk_state state, const char *why, void *data);

/* Until so many hold and wait, by the server, as the first client sees it. */
void await_crowd(struct zookeeper_env *env, size_t holders, size_t waiters);

#define ZOOKEEPER_TEST(test)                                                                       \
    cmocka_unit_test_setup_teardown(test, zookeeper_env_set_up, zookeeper_env_tear_down)

#endif
