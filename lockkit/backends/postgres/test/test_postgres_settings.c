/* Locks in Postgres under hostile settings of a role and hostile variables of the environment, and
 * over sessions with settings that changed. */
#include "postgres_env.h"

#include <unistd.h>

static const char *const modes[] = {"mode=session", "mode=table"};

static void take_and_give(struct env *env, const char *url) {
    lk_client *client = open_client(&env->fixture, url);

    (void)use_once(&env->fixture, open_lock(&env->fixture, client, 5000), 5000);
    close_client(&env->fixture, client);
}

/* The tests of the pool have all variables. */
static void test_no_variable_says_where_to_connect(void **state) {
    struct env *env = *state;

    (void)postgres_admin();
    assert_int_equal(setenv("PGHOSTADDR", "127.0.0.9", 1), 0);
    for (int i = 0; i < 2; i++)
        take_and_give(env, postgres_url(modes[i]));
    (void)unsetenv("PGHOSTADDR");
}

/* A role with hostile settings for its new sessions, and with the right to make a table. */
static const char *hostile_url(const char *mode) {
    static const char *const settings[] = {
        "search_path = 'nowhere'",   "default_transaction_isolation = 'serializable'",
        "statement_timeout = '1ms'", "lock_timeout = '1ms'",
        "DateStyle = 'SQL, DMY'",    "TimeZone = 'Asia/Kolkata'",
        "row_security = off",        "idle_session_timeout = '100ms'",
        "bytea_output = 'escape'",   "IntervalStyle = 'sql_standard'",
        "synchronous_commit = off",  "extra_float_digits = -15"};
    static char url[300];
    char sql[300];

    (void)snprintf(sql, sizeof sql,
                   "CREATE ROLE hostile_%d LOGIN PASSWORD 'x'; GRANT ALL ON SCHEMA public TO"
                   " hostile_%d; GRANT CONNECT ON DATABASE %s TO hostile_%d",
                   getpid(), getpid(), PQdb(postgres_admin()), getpid());
    (void)postgres_ask(sql);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        (void)snprintf(sql, sizeof sql, "ALTER ROLE hostile_%d SET %s", getpid(), settings[i]);
        (void)postgres_ask(sql);
    }
    (void)snprintf(url, sizeof url, "postgres://hostile_%d:x@127.0.0.1:%s/%s?%s", getpid(),
                   PQport(postgres_admin()), PQdb(postgres_admin()), mode);
    return url;
}

static void drop_role(void) {
    char sql[100];

    (void)snprintf(sql, sizeof sql, "DROP OWNED BY hostile_%d; DROP ROLE hostile_%d", getpid(),
                   getpid());
    (void)postgres_ask(sql);
}

static void test_no_setting_of_a_role_changes_a_lock(void **state) {
    struct env *env = *state;

    for (int i = 0; i < 2; i++) {
        lk_client *client = open_client(&env->fixture, hostile_url(modes[i]));
        lk_lock *lock = open_lock(&env->fixture, client, 5000);
        struct caller holder, waiter;

        obtain(&env->fixture, &holder, lock, 5000);
        assert_int_equal(take(&env->fixture, &waiter, lock, LK_TRY), LK_BUSY);
        start(&waiter, lock, LK_FOREVER);
        assert_int_equal(give(&env->fixture, &holder), LK_OK);
        await_and_give(&env->fixture, &waiter);
        assert_string_equal(postgres_ask("SELECT to_regclass('public.lockkit_lock')"),
                            "public.lockkit_lock");
        close_client(&env->fixture, client);
        drop_role();
    }
}

/* A session that finds a table of the test in place of the system's view pg_settings. */
static const char *own_settings_url(const char *mode) {
    char parameters[120];

    (void)postgres_ask("CREATE TABLE IF NOT EXISTS pg_settings AS TABLE pg_catalog.pg_settings");
    (void)snprintf(parameters, sizeof parameters,
                   "%s&options=-csearch_path%%3Dlockkit_%d,pg_catalog", mode, getpid());
    return postgres_url(parameters);
}

#define WAITS_HERE                                                                                 \
    " FROM pg_locks JOIN pg_class c ON c.oid = relation JOIN pg_namespace n ON n.oid ="            \
    " relnamespace WHERE NOT granted AND relname = 'pg_settings' AND nspname = current_schema()"

/* When the question began to wait for the test's lock; "" before. */
static const char *waits_since(void) {
    return postgres_ask("SELECT coalesce(max(waitstart)::text, '')" WAITS_HERE);
}

/* A role's statement_timeout may cancel the first question of a session. Here it waits for a lock
 * while the test cancels it. */
static void test_a_cancelled_first_question_is_asked_again(void **state) {
    struct fixture *fixture = &((struct env *)*state)->fixture;

    for (int i = 0; i < 2; i++) {
        lk_client *client = open_client(fixture, own_settings_url(modes[i]));
        lk_lock *lock = open_lock(fixture, client, 5000);
        struct caller caller;
        char since[64], lock_own[64];

        (void)snprintf(lock_own, sizeof lock_own, "BEGIN; LOCK TABLE lockkit_%d.pg_settings",
                       getpid());
        (void)postgres_ask(lock_own);
        start(&caller, lock, LK_TRY);
        WAIT_FOR(&fixture->loop, waits_since()[0] != '\0');
        (void)snprintf(since, sizeof since, "%s", waits_since());
        (void)postgres_ask("SELECT pg_cancel_backend(pid)" WAITS_HERE);
        WAIT_FOR(&fixture->loop, waits_since()[0] != '\0' && strcmp(waits_since(), since) != 0);
        (void)postgres_ask("COMMIT");
        await_and_give(fixture, &caller);
        close_client(fixture, client);
    }
}

static void test_table_that_was_dropped_is_made_again(void **state) {
    struct env *env = *state;

    for (int i = 0; i < 2; i++) {
        lk_client *client = open_client(&env->fixture, postgres_url(modes[i]));
        lk_lock *lock = open_lock(&env->fixture, client, 5000);

        (void)use_once(&env->fixture, lock, 5000);
        (void)postgres_ask("DROP TABLE lockkit_lock");
        (void)use_once(&env->fixture, lock, LK_TRY);
        close_client(&env->fixture, client);
    }
}

/* The statement runs again on a new connection, not on another one from before. */
static void test_no_idle_connection_is_asked_after_the_table_was_dropped(void **state) {
    struct fixture *fixture = &((struct env *)*state)->fixture;
    lk_client *client = open_client(fixture, postgres_url("mode=table"));
    lk_lock *lock = open_lock(fixture, client, 5000);
    struct caller callers[2];
    lk_lock *other;

    assert_int_equal(lk_lock_open(&other, client, "other", NULL), LK_OK);
    (void)use_once(fixture, lock, 5000);
    (void)postgres_ask("BEGIN; LOCK TABLE lockkit_lock"); /* so each attempt has a connection */
    start(&callers[0], lock, 60000);
    start(&callers[1], other, 60000);
    WAIT_FOR(&fixture->loop, strcmp(postgres_ask("SELECT count(*) FROM pg_locks WHERE NOT granted"
                                                 " AND relation = 'lockkit_lock'::regclass"),
                                    "2") == 0);
    (void)postgres_ask("COMMIT");
    for (int i = 0; i < 2; i++)
        await_and_give(fixture, &callers[i]);
    (void)postgres_ask("DROP TABLE lockkit_lock");
    (void)use_once(fixture, lock, LK_TRY);
    lk_lock_close(other);
    close_client(fixture, client);
}

/* This behaves like a pooler with serializable sessions, or one that lost its prepared statements.
 * A sequence does not go back with the transaction. */
static void run_again(struct env *env, const char *sqlstate) {
    lk_client *client = open_client(&env->fixture, postgres_url("mode=table"));
    lk_lock *lock = open_lock(&env->fixture, client, 5000);
    struct caller caller;
    char sql[400];

    (void)use_once(&env->fixture, lock, 5000);
    (void)snprintf(sql, sizeof sql,
                   "CREATE SEQUENCE attempts; CREATE FUNCTION fail() RETURNS trigger"
                   " LANGUAGE plpgsql AS $$ BEGIN IF nextval('attempts') = 1 THEN RAISE"
                   " EXCEPTION USING ERRCODE = '%s'; END IF; RETURN NEW; END $$;"
                   "CREATE TRIGGER fail BEFORE INSERT ON lockkit_lock FOR EACH ROW"
                   " EXECUTE FUNCTION fail()",
                   sqlstate);
    (void)postgres_ask(sql);
    obtain(&env->fixture, &caller, lock, LK_TRY);
    assert_string_equal(postgres_ask("SELECT last_value FROM attempts"), "2");
    (void)postgres_ask("DROP FUNCTION fail CASCADE; DROP SEQUENCE attempts");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    close_client(&env->fixture, client);
}

static void test_statement_that_met_another_is_run_again(void **state) {
    run_again(*state, "40001");
}

static void test_statement_that_its_session_refuses_is_run_again(void **state) {
    static const char *const sqlstates[] = {"0A000", "25006", "26000", "3F000", "42501", "XX000"};

    for (size_t i = 0; i < sizeof sqlstates / sizeof *sqlstates; i++)
        run_again(*state, sqlstates[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        POSTGRES_TEST(test_no_variable_says_where_to_connect),
        POSTGRES_TEST(test_no_setting_of_a_role_changes_a_lock),
        POSTGRES_TEST(test_a_cancelled_first_question_is_asked_again),
        POSTGRES_TEST(test_table_that_was_dropped_is_made_again),
        POSTGRES_TEST(test_no_idle_connection_is_asked_after_the_table_was_dropped),
        POSTGRES_TEST(test_statement_that_met_another_is_run_again),
        POSTGRES_TEST(test_statement_that_its_session_refuses_is_run_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
