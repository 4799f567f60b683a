/* The environment of the etcd tests: a cluster, a client that talks to it directly, and a client
 * that reaches its first member through a proxy. */
#ifndef LOCKKIT_TEST_ETCD_ENV_H
#define LOCKKIT_TEST_ETCD_ENV_H

#include "env.h"
#include "own_etcd.h"

/* For a group of tests: a cluster of one, or of three. */
extern struct own_etcd etcd;
int etcd_one_start(void **state);
int etcd_three_start(void **state);
int etcd_stop(void **state);

int etcd_env_set_up(void **state);
#define ETCD_TEST(test) cmocka_unit_test_setup_teardown(test, etcd_env_set_up, env_close)

/* The number of leases. */
int etcd_leases(void);

#endif
