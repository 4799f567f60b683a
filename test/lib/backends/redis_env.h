/* What the tests of the Redis backend share: a client that talks to the server directly, one that
 * goes through a proxy, and a connection to look at the keys with. */
#ifndef LOCKKIT_TEST_REDIS_ENV_H
#define LOCKKIT_TEST_REDIS_ENV_H

#include "fault_proxy.h"
#include "fixture.h"
#include "own_redis.h"
#include "redis_admin.h"

struct env {
    struct fixture fixture; /* its client talks to the server directly */
    struct fault_proxy *proxy;
    lk_client *far; /* the same server through the proxy */
    redisContext *redis;
    char key[96];
    char trace[64]; /* of events, in the order they came */
};

lk_client *open_with(struct env *env, const char *url, uint32_t reply_ms,
                     uint64_t (*clock)(void *));
int env_set_up(void **state);
int env_tear_down(void **state);
/* The integer that the server answers to `command key`, or -1. */
int64_t ask(struct env *env, const char *command);
/* How often the server has run `command`, for whomever: one of the test's own, as others use the
 * common one at the same time. */
int64_t calls_of(struct own_redis *own, const char *command);
bool exists(struct env *env);
void assert_owner(struct env *env, const lk_lease *lease);

#define REDIS_TEST(test) cmocka_unit_test_setup_teardown(test, env_set_up, env_tear_down)

#endif
