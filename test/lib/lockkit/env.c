/* The clients, the proxy and the trace. */
#include "env.h"

lk_client *env_open_client(struct env *env, const char *url) {
    struct lk_client_options options = {
        .size = sizeof options, .label = "far", .reply_ms = FIXTURE_REPLY_MS, .cleanup_ms = 15000};
    lk_client *client;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    return client;
}

int env_open(void **state, const char *near, const char *far) {
    struct env *env = fixture_open(state, sizeof *env, near);

    env->proxy = fault_proxy_open_url(&env->fixture.loop, far);
    fault_proxy_listen(env->proxy);
    env->far = env_open_client(env, env->proxy->url);
    return 0;
}

int env_close(void **state) {
    struct env *env = *state;

    fault_proxy_set(env->proxy, PROXY_PASSES);
    close_client(&env->fixture, env->far);
    fault_proxy_close(env->proxy);
    return fixture_close(state);
}

static void append(struct env *env, const char *what) {
    strncat(env->trace, what, sizeof env->trace - strlen(env->trace) - 1);
}

void env_trace_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct env *env = data;

    (void)lease;
    assert_non_null(why);
    (void)snprintf(env->why, sizeof env->why, "%s", why);
    append(env, state == LK_HELD ? "held " : state == LK_SUSPECT ? "suspect " : "lost ");
}

void env_trace_successor(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    assert_int_equal(status, LK_OK);
    append(data, "successor ");
    lk_release(lease, NULL, NULL);
}

void env_hold_warily(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms,
                     uint32_t suspect_ms) {
    lk_lock *lock = open_wary_lock(&env->fixture, client, ttl_ms, suspect_ms);

    obtain(&env->fixture, caller, lock, LK_FOREVER);
    lk_lease_on_state(caller->lease, env_trace_state, env);
}

void env_hold(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms) {
    env_hold_warily(env, caller, client, ttl_ms, 0);
}

void env_warm_up(struct env *env, lk_lock *lock) {
    (void)use_once(&env->fixture, lock, LK_FOREVER);
}

void env_lose_grant(struct env *env, struct caller *caller, lk_lock *lock, uint32_t wait_ms) {
    env_warm_up(env, lock);
    await_crowd(&env->fixture, 0, 0);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(caller, lock, wait_ms);
    await_crowd(&env->fixture, 1, 0);
    fault_proxy_cut(env->proxy);
}
