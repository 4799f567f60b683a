/* A cluster for a group of tests, and a fixture on it for each. */
#include "etcd_env.h"

static struct own_etcd own;

static int start_cluster(int count) {
    own_etcd_start(&own, count);
    return 0;
}

int etcd_one_start(void **state) {
    (void)state;
    return start_cluster(1);
}

int etcd_three_start(void **state) {
    (void)state;
    return start_cluster(3);
}

int etcd_stop(void **state) {
    (void)state;
    own_etcd_stop(&own);
    return 0;
}

int etcd_env_set_up(void **state) {
    struct etcd_env *env = calloc(1, sizeof *env);
    struct lk_client_options options = {
        .size = sizeof options, .label = "far", .reply_ms = FIXTURE_REPLY_MS, .cleanup_ms = 5000};
    char first[64];

    assert_non_null(env);
    fixture_init(&env->fixture);
    env->own = &own;
    own_etcd_clear(&own);
    env->fixture.client = open_client(&env->fixture, own.url);
    env->fixture.lock = open_lock(&env->fixture, env->fixture.client, 2000);
    (void)snprintf(first, sizeof first, "etcd://127.0.0.1:%d", own.members[0].port);
    env->proxy = fault_proxy_open_url(&env->fixture.loop, first);
    fault_proxy_listen(env->proxy);
    assert_int_equal(lk_client_open(&env->far, &env->fixture.loop, env->proxy->url, &options),
                     LK_OK);
    *state = env;
    return 0;
}

int etcd_env_tear_down(void **state) {
    struct etcd_env *env = *state;

    close_client(&env->fixture, env->far);
    fault_proxy_close(env->proxy);
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

static void note(struct etcd_env *env, const char *what) {
    strncat(env->trace, what, sizeof env->trace - strlen(env->trace) - 1);
}

void etcd_trace_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct etcd_env *env = data;

    (void)lease;
    (void)snprintf(env->why, sizeof env->why, "%s", why);
    note(env, state == LK_HELD ? "held " : state == LK_SUSPECT ? "suspect " : "lost ");
}

void etcd_trace_successor(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    assert_int_equal(status, LK_OK);
    note(data, "successor ");
    lk_release(lease, NULL, NULL);
}

int etcd_leases(const struct etcd_env *env) {
    char reply[16384];
    int count = 0;

    assert_true(own_etcd_ask(env->own, 0, "/v3/lease/leases", "{}", reply, sizeof reply));
    for (const char *at = reply; (at = strstr(at, "\"ID\"")); at++)
        count++;
    return count;
}
