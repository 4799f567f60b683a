/* The Redis of the tests: its URL, and an administrator's connection that blocks. */
#ifndef TEST_REDIS_ADMIN_H
#define TEST_REDIS_ADMIN_H

#include <hiredis/hiredis.h>

/* TEST_REDIS. Exits with a hint when it is not set. */
const char *redis_url(void);

/* In the database of the URL; for redisFree(). */
redisContext *redis_admin_connect(void);

#endif
