/* What the tests of the postgres backend share: a client that talks to the server directly, one
 * that goes through a proxy, and a trace of what a lease was told. */
#ifndef LOCKKIT_TEST_POSTGRES_FIXTURE_H
#define LOCKKIT_TEST_POSTGRES_FIXTURE_H

#include "fault_proxy.h"
#include "fixture.h"
#include "postgres_env.h"

struct postgres_fixture {
    struct fixture fixture; /* its client talks to the server directly */
    struct fault_proxy *proxy;
    lk_client *far; /* the same server through the proxy */
    char trace[64]; /* of states, in the order they came: S, H, L */
    const char *why;
};

extern const char *postgres_mode; /* of the clients: "mode=session", or another */

int postgres_set_up(void **state);
int postgres_tear_down(void **state);
/* Append to the trace what becomes of the lease. */
void follow(struct postgres_fixture *env, lk_lease *lease);
/* A number that the server answers about the advisory lock of the fixture's name. */
long ask_locks(struct postgres_fixture *env, const char *what);
#define HELD    "granted"
#define WAITING "NOT granted"

#define POSTGRES_TEST(test)                                                                        \
    cmocka_unit_test_setup_teardown(test, postgres_set_up, postgres_tear_down)

#endif
