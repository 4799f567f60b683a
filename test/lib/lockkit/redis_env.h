/* What the tests of the Redis backend share: a client that talks to the server directly, one that
 * goes through a proxy, and a connection to look at the keys with. */
#ifndef LOCKKIT_TEST_REDIS_ENV_H
#define LOCKKIT_TEST_REDIS_ENV_H

#include "proxy.h"

#include <hiredis/hiredis.h>

struct env {
    struct fixture fixture; /* its client talks to the server directly */
    struct proxy proxy;
    lk_client *far; /* the same server through the proxy, with quick deadlines */
    redisContext *redis;
    char key[96];
    char trace[64]; /* of events, in the order they came */
};

static inline lk_client *open_with(struct env *env, const char *url, uint64_t (*clock)(void *)) {
    struct lk_client_options options = {
        .size = sizeof options, .reply_ms = 150, .cleanup_ms = 15000, .clock_ns = clock};
    lk_client *client;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    return client;
}

static inline redisContext *connect_to(const struct proxy *proxy, const char *url) {
    const char *at = strchr(url, '@');
    const char *password = url + strlen("redis://:");
    char host[32];
    redisContext *redis;

    assert_int_equal(uv_ip4_name(&proxy->server, host, sizeof host), 0);
    redis = redisConnect(host, ntohs(proxy->server.sin_port));
    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    if (at)
        freeReplyObject(redisCommand(redis, "AUTH %b", password, (size_t)(at - password)));
    at = strchr(at ? at : url + strlen("redis://"), '/');
    if (at)
        freeReplyObject(redisCommand(redis, "SELECT %s", at + 1));
    return redis;
}

static inline int set_up(void **state) {
    struct env *env = calloc(1, sizeof *env);

    assert_non_null(env);
    fixture_init(&env->fixture);
    env->fixture.client = open_client(&env->fixture, redis_url());
    proxy_init(&env->proxy, &env->fixture.loop, redis_url());
    env->redis = connect_to(&env->proxy, redis_url());
    env->far = open_with(env, env->proxy.url, NULL);
    (void)snprintf(env->key, sizeof env->key, "lk:{%s}", env->fixture.name);
    *state = env;
    return 0;
}

static inline int tear_down(void **state) {
    struct env *env = *state;

    proxy_hold(&env->proxy, false, false);
    close_client(&env->fixture, env->far);
    proxy_close(&env->proxy);
    redisFree(env->redis);
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

/* The integer that the server answers to `command key`, or -1. */
static inline int64_t ask(struct env *env, const char *command) {
    redisReply *reply = redisCommand(env->redis, command, env->key);
    int64_t value = -1;

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_INTEGER)
        value = reply->integer;
    if (reply->type == REDIS_REPLY_STRING)
        value = strtoll(reply->str, NULL, 10);
    freeReplyObject(reply);
    return value;
}

static inline bool exists(struct env *env) {
    return ask(env, "EXISTS %s") == 1;
}

static inline void assert_owner(struct env *env, const lk_lease *lease) {
    redisReply *reply = redisCommand(env->redis, "GET %s", env->key);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_memory_equal(reply->str, lk_lease_owner(lease), 40);
    freeReplyObject(reply);
}

static inline struct lk_counters counters(const lk_client *client) {
    struct lk_counters counted;

    lk_client_counters(client, &counted);
    return counted;
}

#define REDIS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
