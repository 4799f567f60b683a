/* The environment of the Redis tests: two clients, and a connection to look at the keys of their
 * lock. Other tests use the common server at the same time. A test that counts everything on a
 * server has a server of its own. */
#ifndef LOCKKIT_TEST_REDIS_ENV_H
#define LOCKKIT_TEST_REDIS_ENV_H

#include "env.h"
#include "own_redis.h"
#include "redis_admin.h"

extern redisContext *redis;
extern char redis_key[96]; /* the key of the fixture's lock */

lk_client *open_with(struct env *env, const char *url, uint32_t reply_ms,
                     uint64_t (*clock)(void *));
/* A clock for it that stands still. */
extern uint64_t fake_now_ns;
uint64_t fake_clock(void *data);
/* A lock without polls, and with a TTL that frees it too late: only a message helps. */
lk_lock *open_unpolled(struct env *env, lk_client *client);
int env_set_up(void **state);
/* The integer in the server's answer to `command key`, or -1. */
int64_t ask(const char *command);
/* How often the test's own server has run `command`. */
int64_t calls_of(const char *command);
bool exists(void);
void assert_owner(const lk_lease *lease);

extern struct own_redis own_server; /* for OWN_REDIS_TEST */
int env_set_up_own(void **state);
int env_close_own(void **state);

#define REDIS_TEST(test)     cmocka_unit_test_setup_teardown(test, env_set_up, env_close)
#define OWN_REDIS_TEST(test) cmocka_unit_test_setup_teardown(test, env_set_up_own, env_close_own)

#endif
