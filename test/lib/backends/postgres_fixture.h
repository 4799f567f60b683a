/* What the tests of the postgres backend share: a schema on the server, a client that talks to the
 * server directly, one that goes through a proxy, and a trace of what a lease was told. */
#ifndef LOCKKIT_TEST_POSTGRES_FIXTURE_H
#define LOCKKIT_TEST_POSTGRES_FIXTURE_H

#include "fault_proxy.h"
#include "fixture.h"

#include <libpq-fe.h>

/* Of the scratch database TEST_PG, in a schema of this process's own, made at the first call and
 * dropped at exit; `mode` and more parameters. Static, until the next call. */
const char *postgres_url(const char *parameters);
/* The same at another address, such as a proxy's. */
const char *postgres_url_at(int port, const char *parameters);
/* A connection that blocks, to look into that schema. */
PGconn *postgres_admin(void);
/* Run SQL there, which must succeed; the first field of what it answers, "" without one. Static,
 * until the next call. */
const char *postgres_ask(const char *sql);

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
