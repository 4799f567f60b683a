/* The Redis of the tests: its URL, and a blocking connection for administration. */
#ifndef TEST_REDIS_ADMIN_H
#define TEST_REDIS_ADMIN_H

#include <hiredis/hiredis.h>

/* The value of TEST_REDIS. If it is not set, the program ends with a hint. */
const char *redis_url(void);

/* Connect to the database of the URL. Free it with redisFree(). */
redisContext *redis_admin_connect(void);

#endif
