/* The Postgres pool connects by its settings alone, and sets its sessions, against the environment
 * and the role. */
#include "pg_fixture.h"

#include "pg_conninfo.h"

/* libpq always takes an unset service from PGSERVICE; a program removes that (pg_variables.h). */
static void for_each_variable(void (*act)(const char *name)) {
    PQconninfoOption *options = PQconndefaults();

    assert_non_null(options);
    for (PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (option->envvar != NULL && strcmp(option->envvar, "PGSERVICE") != 0)
            act(option->envvar);
    act("PGREQUIRESSL");
    PQconninfoFree(options);
}

static void set_nonsense(const char *name) {
    assert_int_equal(setenv(name, strcmp(name, "PGREQUIRESSL") == 0 ? "1" : "nonsense", 1), 0);
}

static void unset(const char *name) {
    (void)unsetenv(name);
}

static int forget_variables(void **state) {
    for_each_variable(unset);
    return pg_tear_down(state);
}

static void test_no_variable_says_where_to_connect_and_how(void **state) {
    for_each_variable(set_nonsense);
    open_pool(fixture.conninfo, 1, 0);
    expect_first("SELECT current_user", PQuser(fixture.admin));
}

static void test_variables_that_make_sense_are_not_obeyed_either(void **state) {
    static const char *const variables[][2] = {
        {"PGHOSTADDR", "127.0.0.9"},       {"PGSSLMODE", "require"},
        {"PGCHANNELBINDING", "require"},   {"PGTARGETSESSIONATTRS", "read-only"},
        {"PGCLIENTENCODING", "LATIN1"},    {"PGAPPNAME", "another"},
        {"PGOPTIONS", "-c work_mem=777kB"}};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
    open_pool(fixture.conninfo, 1, 0);
    expect_first("SELECT current_setting('work_mem') = '777kB'", "f");
    expect_first("SELECT current_setting('application_name')", fixture.name);
    expect_first("SELECT current_setting('client_encoding')", "UTF8");
}

static void test_service_that_a_variable_names_says_nothing(void **state) {
    char path[] = "/tmp/test_pg_service_XXXXXX";
    int file = mkstemp(path);

    assert_true(file >= 0);
    assert_true(dprintf(file, "[work]\nhostaddr=127.0.0.9\nsslmode=require\n") > 0);
    (void)close(file);
    assert_int_equal(setenv("PGSERVICEFILE", path, 1), 0);
    assert_int_equal(setenv("PGSERVICE", "work", 1), 0);
    open_pool(fixture.conninfo, 1, 0);
    expect_first("SELECT 'in'", "in");
    (void)unsetenv("PGSERVICE");
    (void)unsetenv("PGSERVICEFILE");
    (void)unlink(path);
}

static void test_service_that_the_string_names_says_the_rest(void **state) {
    char *whole;

    assert_int_equal(setenv("PGSSLMODE", "disable", 1), 0);
    assert_int_equal(pg_conninfo_make(&whole, "service=work dbname=db", "", "", ""), 0);
    assert_non_null(strstr(whole, "service='work'"));
    assert_null(strstr(whole, "sslmode"));
    free(whole);
}

static void test_what_the_string_says_stands_as_it_is(void **state) {
    PQconninfoOption *options;
    char *whole;

    assert_int_equal(pg_conninfo_make(&whole,
                                      "postgresql://me:it%27s%5C@a:1,b:2/db?sslmode=verify-full"
                                      "&sslrootcert=%2Fca&options=-c%20x%3Dy",
                                      "keepalives_idle=5 sslrootcert=/default ", "-c before=1 ",
                                      " -c after=1"),
                     0);
    options = PQconninfoParse(whole, NULL);
    assert_non_null(options);
    for (PQconninfoOption *option = options; option->keyword != NULL; option++) {
        static const char *const said[][2] = {
            {"user", "me"},          {"password", "it's\\"},
            {"host", "a,b"},         {"port", "1,2"},
            {"dbname", "db"},        {"sslmode", "verify-full"},
            {"sslrootcert", "/ca"},  {"options", "-c before=1 -c x=y -c after=1"},
            {"keepalives_idle", "5"}};
        const char *value = NULL;

        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            if (strcmp(option->keyword, said[i][0]) == 0)
                value = said[i][1];
        if (value == NULL)
            assert_null(option->val);
        else
            assert_string_equal(option->val, value);
    }
    PQconninfoFree(options);
    free(whole);
}

#define HOSTILE(X)                                                                                 \
    X("default_transaction_isolation", "'serializable'", "read committed")                         \
    X("default_transaction_deferrable", "on", "off")                                               \
    X("DateStyle", "'SQL, DMY'", "ISO, MDY")                                                       \
    X("TimeZone", "'Asia/Kolkata'", "UTC")                                                         \
    X("IntervalStyle", "'sql_standard'", "postgres")                                               \
    X("bytea_output", "'escape'", "hex")                                                           \
    X("extra_float_digits", "-15", "1")                                                            \
    X("standard_conforming_strings", "off", "on")                                                  \
    X("array_nulls", "off", "on")                                                                  \
    X("row_security", "off", "on")                                                                 \
    X("search_path", "'nowhere'", "\"$user\",public")                                              \
    X("synchronous_commit", "off", "on")                                                           \
    X("statement_timeout", "1", "0")                                                               \
    X("lock_timeout", "1", "0")                                                                    \
    X("idle_in_transaction_session_timeout", "1", "0")                                             \
    X("idle_session_timeout", "1", "0")                                                            \
    X("client_encoding", "'LATIN1'", "UTF8")

static void test_no_setting_of_a_role_is_a_session_s(void **state) {
    char sql[300], conninfo[512];

    make_role(conninfo);
#define X(name_, value, pinned)                                                                    \
    (void)snprintf(sql, sizeof sql, "ALTER ROLE %s SET " name_ " = " value, fixture.name);         \
    (void)ask(sql);
    HOSTILE(X)
#undef X
    open_pool(conninfo, 1, 0);
#define X(name_, value, pinned)                                                                    \
    expect_first("SELECT setting FROM pg_settings WHERE name = '" name_ "'", pinned);
    HOSTILE(X)
#undef X
    drop_role();
}

static void test_a_url_says_the_same(void **state) {
    PQconninfoOption *options;
    char *url;

    assert_int_equal(pg_conninfo_url(&url, "host=/run/a&b user='m e' password='it\\'s %?#'"), 0);
    assert_string_equal(url,
                        "postgres://?user=m%20e&password=it%27s%20%25%3F%23&host=%2Frun%2Fa%26b");
    options = PQconninfoParse(url, NULL);
    assert_non_null(options);
    PQconninfoFree(options);
    free(url);
    assert_int_equal(pg_conninfo_url(&url, ""), 0);
    assert_string_equal(url, "postgres://");
    free(url);
    assert_int_equal(pg_conninfo_url(&url, "host"), UV_EINVAL);
}

#define TRANSACTION_TIMEOUT "FROM pg_settings WHERE name = 'transaction_timeout'"

/* Postgres 17 and later have it. A transaction that lasts longer ends its session. */
static void test_no_transaction_timeout_of_a_role_is_a_session_s(void **state) {
    char sql[100], conninfo[512];

    make_role(conninfo);
    (void)snprintf(sql, sizeof sql, "ALTER ROLE %s SET transaction_timeout = '200ms'",
                   fixture.name);
    if (ask("SELECT count(*) " TRANSACTION_TIMEOUT) == 1)
        (void)ask(sql);
    for (unsigned pipelines = 0; pipelines < 2; pipelines++) {
        fixture.pipelines = pipelines;
        open_ready_pool(conninfo, pipelines + 1, 0);
        expect_first("SELECT count(*) " TRANSACTION_TIMEOUT " AND setting <> '0'", "0");
        close_pool();
    }
    drop_role();
}

static void test_connection_string_says_where_tables_are(void **state) {
    char conninfo[700];

    (void)snprintf(conninfo, sizeof conninfo, "%s options='-c search_path=app -c DateStyle=SQL'",
                   fixture.conninfo);
    open_pool(conninfo, 1, 0);
    expect_first("SELECT current_setting('search_path')", "app");
    expect_first("SELECT current_setting('DateStyle')", "ISO, MDY");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_variable_says_where_to_connect_and_how, pg_set_up,
                                        forget_variables),
        cmocka_unit_test_setup_teardown(test_variables_that_make_sense_are_not_obeyed_either,
                                        pg_set_up, forget_variables),
        cmocka_unit_test_setup_teardown(test_service_that_a_variable_names_says_nothing, pg_set_up,
                                        forget_variables),
        cmocka_unit_test_setup_teardown(test_service_that_the_string_names_says_the_rest, pg_set_up,
                                        forget_variables),
        TEST(test_what_the_string_says_stands_as_it_is),
        cmocka_unit_test(test_a_url_says_the_same),
        TEST(test_no_setting_of_a_role_is_a_session_s),
        TEST(test_no_transaction_timeout_of_a_role_is_a_session_s),
        TEST(test_connection_string_says_where_tables_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
