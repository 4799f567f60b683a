/* Five servers for all tests of a program, up and empty before each. */
#include "redlock_env.h"

static struct own_ensemble ensemble;

int redlock_env_start(void **state) {
    own_ensemble_start(&ensemble);
    return 0;
}

int redlock_env_stop(void **state) {
    own_ensemble_stop(&ensemble);
    return 0;
}

lk_client *redlock_env_open(struct redlock_env *env, const char *options) {
    char url[512], all[80];

    (void)snprintf(all, sizeof all, "%s&cutoff=%d", options, FIXTURE_REPLY_MS);
    (void)own_ensemble_url(env->ensemble, url, sizeof url, all);
    return open_client(&env->fixture, url);
}

int redlock_env_set_up(void **state) {
    struct redlock_env *env = calloc(1, sizeof *env);

    assert_non_null(env);
    env->ensemble = &ensemble;
    own_ensemble_renew(&ensemble);
    fixture_init(&env->fixture);
    env->fixture.client = redlock_env_open(env, "?quarantine=0");
    env->fixture.lock = open_lock(&env->fixture, env->fixture.client, REDLOCK_LONG_MS);
    *state = env;
    return 0;
}

int redlock_env_tear_down(void **state) {
    struct redlock_env *env = *state;

    fixture_end(&env->fixture);
    free(env);
    return 0;
}

int votes_held(struct redlock_env *env) {
    int held = 0;

    for (int i = 0; i < ENSEMBLE_NODES; i++)
        if (env->ensemble->nodes[i].pid)
            held += vote_left_ms(env, i) >= 0;
    return held;
}

int64_t vote_left_ms(struct redlock_env *env, int node) {
    return own_redis_do(&env->ensemble->nodes[node], "PTTL lk:{%s}:vote", env->fixture.name);
}
