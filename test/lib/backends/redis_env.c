/* Two clients of one Redis, a proxy before one of them, and a look behind both. */
#include "redis_env.h"

lk_client *open_with(struct env *env, const char *url, uint32_t reply_ms,
                     uint64_t (*clock)(void *)) {
    struct lk_client_options options = {
        .size = sizeof options, .reply_ms = reply_ms, .cleanup_ms = 15000, .clock_ns = clock};
    lk_client *client;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    return client;
}

int env_set_up(void **state) {
    struct env *env = calloc(1, sizeof *env);

    assert_non_null(env);
    fixture_init(&env->fixture);
    env->fixture.client = open_client(&env->fixture, redis_url());
    env->proxy = fault_proxy_open_url(&env->fixture.loop, redis_url());
    fault_proxy_listen(env->proxy);
    env->redis = redis_admin_connect();
    env->far = open_with(env, env->proxy->url, FIXTURE_REPLY_MS, NULL);
    (void)snprintf(env->key, sizeof env->key, "lk:{%s}", env->fixture.name);
    *state = env;
    return 0;
}

int env_tear_down(void **state) {
    struct env *env = *state;

    fault_proxy_set(env->proxy, PROXY_PASSES);
    close_client(&env->fixture, env->far);
    fault_proxy_close(env->proxy);
    redisFree(env->redis);
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

int64_t ask(struct env *env, const char *command) {
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

int64_t calls_of(struct own_redis *own, const char *command) {
    redisReply *reply = redisCommand(own->admin, "INFO commandstats");
    char name[64];
    const char *at;
    int64_t calls;

    (void)snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    at = strstr(reply->str, name);
    calls = at ? strtoll(at + strlen(name), NULL, 10) : 0;
    freeReplyObject(reply);
    return calls;
}

bool exists(struct env *env) {
    return ask(env, "EXISTS %s") == 1;
}

void assert_owner(struct env *env, const lk_lease *lease) {
    redisReply *reply = redisCommand(env->redis, "GET %s", env->key);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_memory_equal(reply->str, lk_lease_owner(lease), 40);
    freeReplyObject(reply);
}
