/* The environment of the zookeeper tests: servers of their own, and two clients. */
#ifndef LOCKKIT_TEST_ZOOKEEPER_ENV_H
#define LOCKKIT_TEST_ZOOKEEPER_ENV_H

#include "env.h"
#include "own_zookeeper.h"

/* For the test program. Its servers end with it. */
extern struct own_zookeeper zookeeper;
int zookeeper_up(void **state); /* a group's set-up and its end: one server */
int zookeeper_up_three(void **state);
int zookeeper_down(void **state);

/* The sessions of the far client last 2 s, those of the near one 10 s. */
int zookeeper_env_set_up(void **state);

/* A client of `servers`. `query` follows the path, or is "". */
lk_client *open_zookeeper(struct env *env, const char *servers, const char *query);

#define ZOOKEEPER_TEST(test) cmocka_unit_test_setup_teardown(test, zookeeper_env_set_up, env_close)

#endif
