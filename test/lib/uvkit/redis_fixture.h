/* Shared by the tests of the Redis client: a loop, and an administrator's connection. */
#ifndef TEST_REDIS_FIXTURE_H
#define TEST_REDIS_FIXTURE_H

#include "clock.h"
#include "fault_proxy.h"
#include "own_redis.h"
#include "redis_admin.h"
#include "redis_internal.h"
#include "said.h"
#include "test.h"
#include "wait.h"

#include <unistd.h>

extern uv_loop_t loop;
extern struct redis *redis;
extern struct redis_address server;
extern bool is_closed;
extern char client_name[32];

extern struct fault_proxy *proxy; /* or NULL */
extern struct own_redis own;

int redis_set_up(void **state);
int redis_set_up_open(void **state); /* with a client that is up */
int redis_set_up_far(void **state);  /* with a proxy before the server, and a client through it */
int redis_tear_down(void **state);
/* With its own server, and with the log kept (said.h). */
int redis_set_up_own(void **state);
int redis_tear_down_own(void **state);
#define TEST(test)      cmocka_unit_test_setup_teardown(test, redis_set_up, redis_tear_down)
#define TEST_OPEN(test) cmocka_unit_test_setup_teardown(test, redis_set_up_open, redis_tear_down)
#define TEST_FAR(test)  cmocka_unit_test_setup_teardown(test, redis_set_up_far, redis_tear_down)
#define TEST_OWN(test)  cmocka_unit_test_setup_teardown(test, redis_set_up_own, redis_tear_down_own)

void open_redis(void); /* and wait until it is up */
void open_redis_at(const char *url);
bool redis_opens(void); /* false: no memory */
void close_redis(void);
void on_closed(void *data);

/* Run an administrator's command. The caller frees the reply. */
__attribute__((format(printf, 1, 2))) redisReply *order(const char *format, ...);
#define ORDER(...) freeReplyObject(order(__VA_ARGS__))

/* Kill our own connections of a type ("normal", "pubsub"). Others may use the server, too. */
void kill_clients(const char *type);

#endif
