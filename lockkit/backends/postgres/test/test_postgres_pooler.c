/* A pooler that lends a session for one transaction: an advisory lock does not exclude there, so
 * mode=session refuses it, and mode=table works. */
#include "own_pgbouncer.h"
#include "postgres_env.h"

static struct own_pgbouncer pooler;

static const char *pooled(const char *mode) {
    static char url[200];

    (void)snprintf(url, sizeof url, "%s?%s", pooler.url, mode);
    return url;
}

static int start_pooler(void **state) {
    own_pgbouncer_start(&pooler, postgres_ask("SELECT current_schema()"), 3);
    return 0;
}

static int stop_pooler(void **state) {
    own_pgbouncer_stop(&pooler);
    return 0;
}

/* The reason for the refusal: both have it, and the second gives back a lock that is not its own.
 */
static void test_advisory_lock_through_the_pooler_is_no_lock(void **state) {
    PGconn *clients[2] = {PQconnectdb(pooler.url), PQconnectdb(pooler.url)};

    for (int i = 0; i < 2; i++)
        assert_string_equal(postgres_ask_on(clients[i], "SELECT pg_try_advisory_lock(42)"), "t");
    (void)postgres_ask_on(clients[0], "SELECT pg_advisory_unlock_all()");
    PQfinish(clients[0]);
    PQfinish(clients[1]);
}

static void on_log(enum lk_log_level level, const char *message, const char *pairs, void *data) {
    (void)level;
    (void)message;
    if (strstr(pairs, "connect to the server itself, or use mode=table") != NULL)
        ++*(int *)data;
}

static void test_session_mode_refuses_the_pooler(void **state) {
    struct env *env = *state;
    int told = 0;
    lk_client *client = open_client(&env->fixture, pooled("mode=session"));
    lk_lock *lock = open_lock(&env->fixture, client, 2000);
    struct caller caller;

    lk_set_log(on_log, &told);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_REFUSED);
    assert_int_equal(take(&env->fixture, &caller, lock, 700), LK_REFUSED);
    lk_set_log(NULL, NULL);
    assert_true(told > 0);
    assert_int_equal(ask_locks(env, "true"), 0);
    close_client(&env->fixture, client);
}

/* The next client of the pooler gets an unchanged session. */
static void test_refused_session_is_left_as_it_was(void **state) {
    struct env *env = *state;
    lk_client *client = open_client(&env->fixture, pooled("mode=session"));
    PGconn *other = PQconnectdb(pooler.url);
    struct caller caller;

    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, client, 2000), LK_TRY),
                     LK_REFUSED);
    for (int i = 0; i < 20; i++)
        assert_string_equal(postgres_ask_on(other, "SHOW idle_session_timeout"), "0");
    PQfinish(other);
    close_client(&env->fixture, client);
}

static void test_table_mode_excludes_through_the_pooler(void **state) {
    struct env *env = *state;
    lk_client *clients[2] = {open_client(&env->fixture, pooled("mode=table")),
                             open_client(&env->fixture, postgres_url("mode=table"))};
    lk_lock *locks[2] = {open_lock(&env->fixture, clients[0], 2000),
                         open_lock(&env->fixture, clients[1], 2000)};
    struct caller holder, waiter;
    uint64_t fence = 0;

    for (int i = 0; i < 10; i++) {
        obtain(&env->fixture, &holder, locks[i % 2], 5000);
        assert_true(lk_lease_fence(holder.lease) > fence);
        fence = lk_lease_fence(holder.lease);
        start(&waiter, locks[(i + 1) % 2], 5000);
        assert_int_equal(give(&env->fixture, &holder), LK_OK);
        WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
        assert_int_equal(waiter.status, LK_OK);
        assert_true(lk_lease_fence(waiter.lease) > fence);
        fence = lk_lease_fence(waiter.lease);
        assert_int_equal(give(&env->fixture, &waiter), LK_OK);
    }
    close_client(&env->fixture, clients[0]);
    close_client(&env->fixture, clients[1]);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_advisory_lock_through_the_pooler_is_no_lock),
        POSTGRES_TEST(test_session_mode_refuses_the_pooler),
        POSTGRES_TEST(test_refused_session_is_left_as_it_was),
        POSTGRES_TEST(test_table_mode_excludes_through_the_pooler),
    };

    return cmocka_run_group_tests(tests, start_pooler, stop_pooler);
}
