/* What the tests of the Redis client share: a loop, and an administrator's connection. */
#ifndef TEST_REDIS_FIXTURE_H
#define TEST_REDIS_FIXTURE_H

#include "clock.h"
#include "fault_proxy.h"
#include "redis_admin.h"
#include "redis_internal.h"
#include "test.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern uv_loop_t loop;
extern struct redis *redis;
extern struct redis_address server;
extern bool is_closed;
extern char client_name[32];

int redis_set_up(void **state);
int redis_tear_down(void **state);

void open_redis(void); /* and wait until it is up */
void open_redis_at(const char *url);
void close_redis(void);
void on_closed(void *data);

/* An administrator's command; the reply is the caller's. */
__attribute__((format(printf, 1, 2))) redisReply *order(const char *format, ...);
#define ORDER(...) freeReplyObject(order(__VA_ARGS__))

/* Kill our own connections of a type ("normal", "pubsub"): others may be using the server. */
void kill_clients(const char *type);

#endif
