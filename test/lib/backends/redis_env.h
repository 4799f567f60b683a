/* What the tests of the Redis backend share: two clients, and a connection to look at the keys of
 * their lock. */
#ifndef LOCKKIT_TEST_REDIS_ENV_H
#define LOCKKIT_TEST_REDIS_ENV_H

#include "env.h"
#include "own_redis.h"
#include "redis_admin.h"

extern redisContext *redis;
extern char redis_key[96]; /* of the fixture's lock */

lk_client *open_with(struct env *env, const char *url, uint32_t reply_ms,
                     uint64_t (*clock)(void *));
int env_set_up(void **state);
/* The integer that the server answers to `command key`, or -1. */
int64_t ask(const char *command);
/* How often the server has run `command`, for all its clients: a server of the test's own, because
 * other tests use the common one at the same time. */
int64_t calls_of(struct own_redis *own, const char *command);
bool exists(void);
void assert_owner(const lk_lease *lease);

#define REDIS_TEST(test) cmocka_unit_test_setup_teardown(test, env_set_up, env_close)

#endif
