/* The environment of the Redlock tests: five servers, clients of them, and a look at the votes. */
#ifndef LOCKKIT_TEST_REDLOCK_ENV_H
#define LOCKKIT_TEST_REDLOCK_ENV_H

#include "fixture.h"
#include "own_ensemble.h"

#define REDLOCK_LONG_MS 60000 /* a TTL that no test waits for */

struct redlock_env {
    /* Its client trusts the nodes to remember. Its lock has the long TTL. */
    struct fixture fixture;
    struct own_ensemble *ensemble;
};

int redlock_env_start(void **state);
int redlock_env_stop(void **state);
int redlock_env_set_up(void **state);
int redlock_env_tear_down(void **state);

/* Another client; its votes may take as long as its replies. `options` begin with "?". */
lk_client *redlock_env_open(struct redlock_env *env, const char *options);
/* The number of running nodes on which somebody has the vote. */
int votes_held(struct redlock_env *env);
/* The remaining time of a node's vote, or less than 0. */
int64_t vote_left_ms(struct redlock_env *env, int node);

#define REDLOCK_TEST(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, redlock_env_set_up, redlock_env_tear_down)
#define REDLOCK_MAIN(tests) cmocka_run_group_tests(tests, redlock_env_start, redlock_env_stop)

#endif
