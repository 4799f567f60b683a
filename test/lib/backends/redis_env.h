/* What the tests of the Redis backend share: two clients, and a connection to look at the keys of
 * their lock. Other tests use the common server at the same time; where all counts that the server
 * does, the test has one of its own. */
#ifndef LOCKKIT_TEST_REDIS_ENV_H
#define LOCKKIT_TEST_REDIS_ENV_H

#include "env.h"
#include "own_redis.h"
#include "redis_admin.h"

extern redisContext *redis;
extern char redis_key[96]; /* of the fixture's lock */

lk_client *open_with(struct env *env, const char *url, uint32_t reply_ms,
                     uint64_t (*clock)(void *));
/* A clock for it, which stands still. */
extern uint64_t fake_now_ns;
uint64_t fake_clock(void *data);
/* That is never polled for, and that no TTL frees in time: only a message helps. */
lk_lock *open_unpolled(struct env *env, lk_client *client);
int env_set_up(void **state);
/* The integer that the server answers to `command key`, or -1. */
int64_t ask(const char *command);
/* How often the test's own server has run `command`. */
int64_t calls_of(const char *command);
bool exists(void);
void assert_owner(const lk_lease *lease);

extern struct own_redis own_server; /* of OWN_REDIS_TEST */
int env_set_up_own(void **state);
int env_close_own(void **state);

#define REDIS_TEST(test)     cmocka_unit_test_setup_teardown(test, env_set_up, env_close)
#define OWN_REDIS_TEST(test) cmocka_unit_test_setup_teardown(test, env_set_up_own, env_close_own)

#endif
