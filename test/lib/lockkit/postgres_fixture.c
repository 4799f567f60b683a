/* Two clients, one through a proxy. */
#include "postgres_fixture.h"

const char *postgres_mode = "mode=session";

int postgres_set_up(void **state) {
    struct postgres_fixture *env = calloc(1, sizeof *env);

    assert_non_null(env);
    fixture_init(&env->fixture);
    env->fixture.client = open_client(&env->fixture, postgres_url(postgres_mode));
    env->fixture.lock = open_lock(&env->fixture, env->fixture.client, 2000);
    env->proxy = fault_proxy_open(&env->fixture.loop, "127.0.0.1", PQport(postgres_admin()));
    fault_proxy_listen(env->proxy);
    env->far = open_client(&env->fixture, postgres_url_at(env->proxy->port, postgres_mode));
    *state = env;
    return 0;
}

int postgres_tear_down(void **state) {
    struct postgres_fixture *env = *state;

    close_client(&env->fixture, env->far);
    fault_proxy_close(env->proxy);
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    static const char letters[] = {[LK_HELD] = 'H', [LK_SUSPECT] = 'S', [LK_LOST_STATE] = 'L'};
    struct postgres_fixture *env = data;
    size_t length = strlen(env->trace);

    (void)lease;
    if (length < sizeof env->trace - 1)
        env->trace[length] = letters[state];
    env->why = why;
}

void follow(struct postgres_fixture *env, lk_lease *lease) {
    lk_lease_on_state(lease, on_state, env);
}

long ask_locks(struct postgres_fixture *env, const char *what) {
    char sql[400];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_locks JOIN lockkit_lock ON"
                   " ((classid::bigint << 32) | objid::bigint) = key"
                   " WHERE locktype = 'advisory' AND name = '%s' AND %s",
                   env->fixture.name, what);
    return strtol(postgres_ask(sql), NULL, 10);
}
