/* The Redis of the tests, and a look at its keys. */
#include "redis_env.h"

redisContext *redis;
char redis_key[96];
struct own_redis own_server;
uint64_t fake_now_ns;

lk_client *open_with(struct env *env, const char *url, uint32_t reply_ms,
                     uint64_t (*clock)(void *)) {
    struct lk_client_options options = {
        .size = sizeof options, .reply_ms = reply_ms, .cleanup_ms = 15000, .clock_ns = clock};
    lk_client *client;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    return client;
}

uint64_t fake_clock(void *data) {
    (void)data;
    return fake_now_ns;
}

lk_lock *open_unpolled(struct env *env, lk_client *client) {
    return open_lock_as(&env->fixture, client,
                        (struct lk_lock_options){.ttl_ms = 120000, .poll_ms = 120000});
}

int env_set_up(void **state) {
    struct env *env;

    (void)env_open(state, redis_url(), redis_url());
    env = *state;
    if (redis == NULL)
        redis = redis_admin_connect();
    (void)snprintf(redis_key, sizeof redis_key, "lk:{%s}", env->fixture.name);
    return 0;
}

int env_set_up_own(void **state) {
    own_redis_start(&own_server);
    return env_open(state, own_server.url, own_server.url);
}

int env_close_own(void **state) {
    (void)env_close(state);
    own_redis_stop(&own_server);
    return 0;
}

int64_t ask(const char *command) {
    redisReply *reply = redisCommand(redis, command, redis_key);
    int64_t value = -1;

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_INTEGER)
        value = reply->integer;
    if (reply->type == REDIS_REPLY_STRING)
        value = strtoll(reply->str, NULL, 10);
    freeReplyObject(reply);
    return value;
}

int64_t calls_of(const char *command) {
    redisReply *reply = redisCommand(own_server.admin, "INFO commandstats");
    char name[64];
    const char *at;
    int64_t calls;

    (void)snprintf(name, sizeof name, "cmdstat_%s:calls=", command);
    at = strstr(reply->str, name);
    calls = at != NULL ? strtoll(at + strlen(name), NULL, 10) : 0;
    freeReplyObject(reply);
    return calls;
}

bool exists(void) {
    return ask("EXISTS %s") == 1;
}

void assert_owner(const lk_lease *lease) {
    redisReply *reply = redisCommand(redis, "GET %s", redis_key);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_memory_equal(reply->str, lk_lease_owner(lease), 40);
    freeReplyObject(reply);
}
