/* Two clients of one ZooKeeper, and a proxy before one of them. */
#include "zookeeper_env.h"

struct own_zookeeper zookeeper;

int zookeeper_up(void **state) {
    (void)state;
    own_zookeeper_start(&zookeeper, 1);
    return 0;
}

int zookeeper_up_three(void **state) {
    (void)state;
    own_zookeeper_start(&zookeeper, 3);
    return 0;
}

int zookeeper_down(void **state) {
    (void)state;
    own_zookeeper_stop(&zookeeper);
    return 0;
}

lk_client *open_zookeeper(struct zookeeper_env *env, const char *servers, const char *query) {
    struct lk_client_options options = {
        .size = sizeof options, .reply_ms = FIXTURE_REPLY_MS, .cleanup_ms = 15000, .label = "far"};
    char url[300];
    lk_client *client;

    (void)snprintf(url, sizeof url, "%s/test%s", servers, query);
    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    return client;
}

int zookeeper_env_set_up(void **state) {
    struct zookeeper_env *env = calloc(1, sizeof *env);
    char query[32];

    assert_non_null(env);
    fixture_init(&env->fixture);
    env->fixture.client = open_zookeeper(env, zookeeper.url, "?session=10000");
    env->fixture.lock = open_lock(&env->fixture, env->fixture.client, 10000);
    env->proxy = fault_proxy_open_url(&env->fixture.loop, zookeeper.url);
    fault_proxy_listen(env->proxy);
    (void)snprintf(query, sizeof query, "?session=%d", ENV_SESSION_MS);
    env->far = open_zookeeper(env, env->proxy->url, query);
    *state = env;
    return 0;
}

int zookeeper_env_tear_down(void **state) {
    struct zookeeper_env *env = *state;

    fault_proxy_set(env->proxy, PROXY_PASSES);
    close_client(&env->fixture, env->far);
    fault_proxy_close(env->proxy);
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

void trace_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct zookeeper_env *env = data;

    (void)lease;
    assert_non_null(why);
    strncat(env->trace,
            state == LK_HELD      ? "held "
            : state == LK_SUSPECT ? "suspect "
                                  : "lost ",
            sizeof env->trace - strlen(env->trace) - 1);
}

struct look {
    bool is_done, is_seen;
    size_t holders, waiters;
};

/* A server that stalls answers too late, and is asked again. */
static void on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                         void *data) {
    struct look *look = data;

    look->is_done = true;
    look->is_seen = status == LK_OK;
    if (look->is_seen) {
        look->holders = inspection->holder_count;
        look->waiters = inspection->waiter_count;
    }
}

static bool is_crowd(struct zookeeper_env *env, size_t holders, size_t waiters) {
    struct look look = {0};

    assert_int_equal(lk_inspect(env->fixture.lock, on_inspected, &look), LK_OK);
    WAIT_FOR(&env->fixture.loop, look.is_done);
    return look.is_seen && look.holders == holders && look.waiters == waiters;
}

void await_crowd(struct zookeeper_env *env, size_t holders, size_t waiters) {
    WAIT_FOR(&env->fixture.loop, is_crowd(env, holders, waiters));
}
