/* Connects to the Redis of the tests, from TEST_REDIS. */
#include "redis_admin.h"

#include "redis_internal.h"
#include "test.h"

const char *redis_url(void) {
    const char *url = getenv("TEST_REDIS");

    if (url == NULL) {
        (void)fprintf(stderr, "set TEST_REDIS to a redis:// URL (test/run does)\n");
        exit(1);
    }
    return url;
}

redisContext *redis_admin_connect(void) {
    struct redis_address address;
    redisContext *redis;

    assert_int_equal(redis_address_parse(&address, redis_url()), 0);
    redis = redisConnect(address.host, address.port);
    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    if (address.password != NULL)
        freeReplyObject(redisCommand(redis, "AUTH %s", address.password));
    freeReplyObject(redisCommand(redis, "SELECT %d", address.db));
    redis_address_free(&address);
    return redis;
}
