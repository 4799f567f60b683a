/* Rows of a table: the server's clock, and the effects of releases, waits and missing rights. */
#include "backend.h"
#include "postgres_env.h"

#include <libpq-fe.h>

/* A field of the lock's row. */
static const char *row(struct env *env, const char *field) {
    char sql[200];

    (void)snprintf(sql, sizeof sql, "SELECT %s FROM lockkit_lock WHERE name = '%s'", field,
                   env->fixture.name);
    return postgres_ask(sql);
}

static void test_release_empties_the_row_and_keeps_its_token(void **state) {
    struct env *env = *state;
    struct caller caller;
    char fence[24];

    obtain(&env->fixture, &caller, env->fixture.lock, LK_TRY);
    (void)snprintf(fence, sizeof fence, "%llu", (unsigned long long)lk_lease_fence(caller.lease));
    assert_string_equal(row(env, "owner"), lk_lease_owner(caller.lease));
    assert_string_equal(row(env, "until > now()"), "t");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    assert_string_equal(row(env, "owner IS NULL AND until = '-infinity'"), "t");
    assert_string_equal(row(env, "fence"), fence);
}

/* Long before its next poll. */
static void test_release_wakes_the_waiter_of_another_client(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;
    lk_lock *lock;

    lock = open_lock_as(&env->fixture, env->far,
                        (struct lk_lock_options){.ttl_ms = 60000, .poll_ms = 60000});
    for (int i = 0; i < 5; i++) {
        obtain(&env->fixture, &holder, env->fixture.lock, 5000);
        start(&waiter, lock, LK_FOREVER);
        WAIT_FOR(&env->fixture.loop,
                 *postgres_ask("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
                               " AND state = 'idle'") == '1');
        assert_int_equal(give(&env->fixture, &holder), LK_OK);
        await_and_give(&env->fixture, &waiter);
    }
}

static void test_token_that_was_seen_is_passed(void **state) {
    struct env *env = *state;
    struct caller caller;
    uint64_t seen = 1ULL << 52; /* years ahead of the clock */

    obtain(&env->fixture, &caller, env->fixture.lock, LK_TRY);
    lk_lease_saw_fence(caller.lease, seen);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    obtain(&env->fixture, &caller, env->fixture.lock, LK_TRY);
    assert_true(lk_lease_fence(caller.lease) > seen);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_never_revives(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->fixture.client, 200);
    struct caller caller;
    char sql[200];

    obtain(&env->fixture, &caller, lock, 10000);
    lk_lease_on_state(caller.lease, env_trace_state, env);
    (void)snprintf(sql, sizeof sql, "UPDATE lockkit_lock SET until = now() WHERE name = '%s'",
                   env->fixture.name);
    (void)postgres_ask(sql);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    assert_string_equal(row(env, "until <= now()"), "t");
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

static void test_reply_lost_after_the_command_took_effect(void **state) {
    struct env *env = *state;
    struct caller first, caller;
    char reserved[24];
    lk_lock *lock;

    lock = open_lock_as(&env->fixture, env->far,
                        (struct lk_lock_options){.ttl_ms = 2000, .handover = 16});
    obtain(&env->fixture, &first, lock, LK_FOREVER); /* it opens a connection */
    assert_int_equal(give(&env->fixture, &first), LK_OK);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(&caller, lock, 5000);
    WAIT_FOR(&env->fixture.loop, *row(env, "owner IS NOT NULL") == 't');
    fault_proxy_cut(env->proxy);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_OK); /* its own grant, found again */
    (void)snprintf(reserved, sizeof reserved, "%llu",
                   (unsigned long long)lk_lease_fence(caller.lease) + 16);
    assert_string_equal(row(env, "fence"), reserved);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    assert_string_equal(row(env, "owner"), "");
}

/* A role of its own, in a schema in which it may not create a table. */
static void test_missing_rights_are_refused(void **state) {
    struct env *env = *state;
    PGconn *admin = postgres_admin();
    struct caller caller;
    lk_client *client;
    char url[300];

    (void)postgres_ask("DROP SCHEMA IF EXISTS lockkit_bare; CREATE SCHEMA lockkit_bare;"
                       " DO $$ BEGIN CREATE ROLE lockkit_bare LOGIN PASSWORD 'bare';"
                       " EXCEPTION WHEN duplicate_object THEN END $$;"
                       "GRANT CONNECT ON DATABASE scratch TO lockkit_bare");
    (void)snprintf(url, sizeof url,
                   "postgres://lockkit_bare:bare@127.0.0.1:%s/%s?%s&options=-csearch_path%%3D"
                   "lockkit_bare",
                   PQport(admin), PQdb(admin), postgres_mode);
    client = open_client(&env->fixture, url);
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, client, 2000), LK_TRY),
                     LK_REFUSED);
    close_client(&env->fixture, client);
    (void)postgres_ask(
        "DROP SCHEMA lockkit_bare; REVOKE CONNECT ON DATABASE scratch FROM lockkit_bare;"
        "DROP ROLE lockkit_bare");
}

/* ---- Commands in the backend's queue */

#define CROWD 200

struct crowd {
    struct lk_command commands[CROWD + 1]; /* the last is a release */
    char names[CROWD + 1][16];
    int answered;
    bool is_released, is_closed;
};

static void on_crowd_answer(struct lk_command *command) {
    struct crowd *crowd = command->data;

    crowd->is_released = crowd->is_released || command->verb == LK_RELEASE;
    crowd->answered++;
    free(command->internal);
}

static void crowd_run(struct crowd *crowd, struct lk_backend *backend, int index,
                      enum lk_verb verb) {
    struct lk_command *command = &crowd->commands[index];

    (void)snprintf(crowd->names[index], sizeof crowd->names[index], "crowd-%d", index);
    *command = (struct lk_command){.verb = verb,
                                   .permits = 1,
                                   .name = crowd->names[index],
                                   .owner = "00112233445566778899aabbccddeeff00112233",
                                   .ttl_ms = 60000,
                                   .reply_ms = 60000,
                                   .on_answer = on_crowd_answer,
                                   .data = crowd,
                                   .internal = calloc(1, backend->ops->command_size)};
    assert_non_null(command->internal);
    backend->ops->run(backend, command);
}

static void ignore_push(void *data, enum lk_push what, const char *name, const char *owner,
                        const char *why) {
}

/* No connection is open yet, so all wait in the backend's queue. The test has rows of all names that
 * it has not committed, so each ACQUIRE that is sent keeps its connection until then. */
static void test_release_goes_before_acquires_that_wait(void **state) {
    struct env *env = *state;
    struct crowd *crowd = calloc(1, sizeof *crowd);
    const struct lk_backend_config config = {.loop = &env->fixture.loop,
                                             .url = postgres_url(postgres_mode),
                                             .label = "crowd",
                                             .push = ignore_push};
    struct lk_backend *backend;

    assert_non_null(crowd);
    (void)postgres_ask("BEGIN; INSERT INTO lockkit_lock (name, fence, until) SELECT 'crowd-' || i,"
                       " 1, 'infinity' FROM generate_series(0, 199) AS i");
    assert_int_equal(backend_postgres.open(&backend, &config), LK_OK);
    for (int i = 0; i < CROWD; i++)
        crowd_run(crowd, backend, i, LK_ACQUIRE);
    crowd_run(crowd, backend, CROWD, LK_RELEASE);
    WAIT_FOR(&env->fixture.loop, crowd->is_released);
    assert_int_equal(crowd->answered, 1);
    (void)postgres_ask("ROLLBACK");
    WAIT_FOR(&env->fixture.loop, crowd->answered == CROWD + 1);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(crowd->commands[i].status, LK_OK);
    backend->ops->close(backend, on_flag, &crowd->is_closed);
    WAIT_FOR(&env->fixture.loop, crowd->is_closed);
    free(crowd);
}

static void test_url_names_the_mode(void **state) {
    struct env *env = *state;
    static const struct {
        const char *url;
        enum lk_status status;
    } cases[] = {
        {"postgres://127.0.0.1/db", LK_INVALID},
        {"postgres://127.0.0.1/db?mode=none", LK_INVALID},
        {"postgresql://127.0.0.1/db?mode=transaction", LK_UNSUPPORTED},
        {"postgres://127.0.0.1/db?mode=table&no_such_parameter=1", LK_INVALID},
        {"postgres://127.0.0.1/db?connect_timeout=1&mode=table", LK_OK},
        {"postgresql://127.0.0.1/db?mode=session&connect_timeout=1", LK_OK},
    };
    lk_client *client;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(lk_client_open(&client, &env->fixture.loop, cases[i].url, NULL),
                         cases[i].status);
        if (client != NULL)
            close_client(&env->fixture, client);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        POSTGRES_TEST(test_release_empties_the_row_and_keeps_its_token),
        POSTGRES_TEST(test_release_wakes_the_waiter_of_another_client),
        POSTGRES_TEST(test_token_that_was_seen_is_passed),
        POSTGRES_TEST(test_renewal_never_revives),
        POSTGRES_TEST(test_reply_lost_after_the_command_took_effect),
        POSTGRES_TEST(test_missing_rights_are_refused),
        POSTGRES_TEST(test_release_goes_before_acquires_that_wait),
        POSTGRES_TEST(test_url_names_the_mode),
    };

    postgres_mode = "mode=table";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
