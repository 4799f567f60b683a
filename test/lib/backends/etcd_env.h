/* What the tests of the etcd backend share: a cluster, a client that talks to it directly, and one
 * that goes to its first member through a proxy. */
#ifndef LOCKKIT_TEST_ETCD_ENV_H
#define LOCKKIT_TEST_ETCD_ENV_H

#include "fault_proxy.h"
#include "fixture.h"
#include "own_etcd.h"

struct etcd_env {
    struct fixture fixture; /* its client talks to the cluster directly */
    struct own_etcd *own;
    struct fault_proxy *proxy;
    lk_client *far;
    char trace[64]; /* of states, in the order they came */
    char why[96];   /* of the last */
};

/* Of a group of tests: a cluster of one, or of three. */
int etcd_one_start(void **state);
int etcd_three_start(void **state);
int etcd_stop(void **state);

int etcd_env_set_up(void **state);
int etcd_env_tear_down(void **state);
#define ETCD_TEST(test) cmocka_unit_test_setup_teardown(test, etcd_env_set_up, etcd_env_tear_down)

/* For lk_lease_on_state() and lk_acquire(), with the env as data: writes to its trace. */
void etcd_trace_state(lk_lease *lease, enum lk_state state, const char *why, void *data);
void etcd_trace_successor(lk_request *request, enum lk_status status, lk_lease *lease, void *data);
/* How many leases there are. */
int etcd_leases(const struct etcd_env *env);

#endif
