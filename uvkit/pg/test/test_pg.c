/* The Postgres pool in good order: results, statements, the queue, deadlines, held connections. */
#include "pg_fixture.h"

static const struct pg_statement add = {"test_add", "SELECT $1::int + $2::int, $3::text", 3};

static void test_results_come_back_as_text_and_numbers(void **state) {
    struct pg_query query;

    open_pool(fixture.conninfo, 2, 0);
    assert_int_equal(run_sql(&query, "SELECT 'Wärme', 42, NULL UNION ALL SELECT '', 7, 1"), PG_OK);
    assert_int_equal(query.affected, 2);
    assert_string_equal(pg_text(&query, 0, 0), "Wärme");
    assert_int_equal(pg_int(&query, 0, 1), 42);
    assert_string_equal(pg_text(&query, 0, 2), "");
    assert_int_equal(pg_int(&query, 0, 2), 0);
    assert_true(PQgetisnull(query.result, 0, 2));
    assert_int_equal(pg_int(&query, 1, 1), 7);
    pg_query_clear(&query);
    pg_query_clear(&query);
}

static void add_in_fiber(void) {
    for (int i = 0; i < 3; i++) {
        struct pg_query query = {.statement = &add,
                                 .params = {"40", "2", i == 0 ? NULL : "x"},
                                 .deadline_ms = clock_now_ms() + PATIENCE_MS};

        assert_int_equal(pg_query_await(fixture.pool, &query), PG_OK);
        assert_int_equal(pg_int(&query, 0, 0), 42);
        assert_int_equal(PQgetisnull(query.result, 0, 1), i == 0);
        pg_query_clear(&query);
    }
}

static void test_statement_is_prepared_once_per_connection(void **state) {
    run_in_fiber(add_in_fiber);
    expect_first("SELECT count(*) FROM pg_prepared_statements", "1");
}

static void test_an_error_is_told_as_one_printable_line(void **state) {
    struct pg_query query;

    assert_int_equal(run_sql(&query, "DO $$BEGIN RAISE E'a\\x1b[2J\\u009b\\u202e\\nb'; END$$"),
                     PG_REJECTED);
    assert_string_equal(query.message, "a?[2J?????");
}

static void test_error_leaves_the_connection_usable(void **state) {
    struct pg_query query;
    int64_t pid;

    assert_int_equal(run_sql(&query, "SELECT pg_backend_pid()"), PG_OK);
    pid = pg_int(&query, 0, 0);
    pg_query_clear(&query);
    assert_int_equal(run_sql(&query, "SELECT 1 / 0"), PG_REJECTED);
    assert_null(query.result);
    assert_string_equal(query.sqlstate, "22012");
    assert_string_equal(query.message, "division by zero");
    assert_int_equal(run_sql(&query, "SELECT pg_backend_pid()"), PG_OK);
    assert_int_equal(pg_int(&query, 0, 0), pid);
    pg_query_clear(&query);
}

static void await_wrong_statement(void) {
    static const struct pg_statement wrong = {"test_wrong", "SELECT * FROM no_such_table", 0};

    for (int i = 0; i < 2; i++) {
        struct pg_query query = {.statement = &wrong, .deadline_ms = clock_now_ms() + PATIENCE_MS};

        assert_int_equal(pg_query_await(fixture.pool, &query), PG_REJECTED);
        assert_string_equal(query.sqlstate, "42P01");
    }
    add_in_fiber();
}

static void test_statement_that_cannot_be_prepared_is_rejected(void **state) {
    run_in_fiber(await_wrong_statement);
}

static void test_statement_that_the_server_forgot_is_prepared_again(void **state) {
    run_in_fiber(add_in_fiber);
    expect_sql("DEALLOCATE ALL", PG_OK);
    run_in_fiber(add_in_fiber);
}

static void await_duplicate(void) {
    static const struct pg_statement insert = {"test_late_insert",
                                               "INSERT INTO test_pg_late VALUES ($1)", 1};
    struct pg_query query = {
        .statement = &insert, .params = {"1"}, .deadline_ms = clock_now_ms() + PATIENCE_MS};

    assert_int_equal(pg_query_await(fixture.pool, &query), PG_OK);
    assert_int_equal(query.affected, 1);
    pg_query_clear(&query);
    assert_int_equal(pg_query_await(fixture.pool, &query), PG_REJECTED);
    assert_string_equal(query.sqlstate, "23505");
}

static void test_error_at_commit_is_not_taken_for_success(void **state) {
    (void)ask("DROP TABLE IF EXISTS test_pg_late; CREATE TABLE test_pg_late (n int UNIQUE "
              "DEFERRABLE INITIALLY DEFERRED)");
    open_pool(fixture.conninfo, 1, 0);
    run_in_fiber(await_duplicate);
    assert_int_equal(ask("SELECT count(*) FROM test_pg_late"), 1);
    (void)ask("DROP TABLE test_pg_late");
}

static void test_large_parameters_and_results_pass(void **state) {
    static char sql[4000000];
    struct pg_query query;

    fault_proxy_listen(fixture.proxy);
    open_pool(fixture.proxy_conninfo, 1, 0);
    memset(sql, 'x', sizeof(sql) - 1);
    memcpy(sql, "SELECT '", 8);
    sql[sizeof(sql) - 2] = '\'';
    assert_int_equal(run_sql(&query, sql), PG_OK);
    assert_int_equal(strlen(pg_text(&query, 0, 0)), sizeof(sql) - 1 - 9);
    pg_query_clear(&query);
}

static void test_queries_run_in_the_order_of_their_start(void **state) {
    struct asked asked[6];

    open_pool(fixture.conninfo, 1, 0);
    endings = 0;
    for (int i = 0; i < 6; i++)
        start_query(&asked[i], "SELECT 1", PATIENCE_MS);
    WAIT_FOR(&fixture.loop, endings == 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(asked[i].ended, i + 1);
        pg_query_clear(&asked[i].query);
    }
    assert_int_equal(pool_stats().queries, 6);
}

static void test_full_queue_refuses(void **state) {
    struct asked asked[4];

    open_ready_pool(fixture.conninfo, 1, 2);
    start_query(&asked[0], "SELECT pg_sleep(0.1)", PATIENCE_MS);
    for (int i = 1; i < 4; i++)
        start_query(&asked[i], "SELECT 1", PATIENCE_MS);
    WAIT_FOR(&fixture.loop, asked[0].ended && asked[1].ended && asked[2].ended && asked[3].ended);
    assert_int_equal(asked[3].query.status, PG_NOT_SENT);
    assert_string_equal(asked[3].query.message, "the queue is full");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(asked[i].query.status, PG_OK);
        pg_query_clear(&asked[i].query);
    }
}

static void test_query_late_in_the_queue_is_not_sent(void **state) {
    struct asked slow, late, next;

    (void)ask("SELECT pg_advisory_lock(7702)");
    start_query(&slow, "SELECT pg_advisory_xact_lock(7702)", PATIENCE_MS);
    start_query(&next, "SELECT 1", PATIENCE_MS);
    start_query(&late, "SELECT 1", 20);
    WAIT_FOR(&fixture.loop, late.ended != 0);
    assert_int_equal(slow.ended, 0);
    assert_int_equal(late.query.status, PG_NOT_SENT);
    assert_string_equal(late.query.message, "all connections were busy until the deadline");
    (void)ask("SELECT pg_advisory_unlock(7702)");
    WAIT_FOR(&fixture.loop, slow.ended != 0 && next.ended != 0);
    pg_query_clear(&slow.query);
    pg_query_clear(&next.query);
}

static void test_query_late_in_flight_is_unknown_and_cancelled(void **state) {
    struct asked asked;

    start_query(&asked, "SELECT pg_sleep(1000)", 30);
    expect_end(&asked, PG_UNKNOWN);
    assert_string_equal(asked.query.message, "no answer by the deadline");
    WAIT_FOR(&fixture.loop, ask("SELECT count(*) " POOL_BACKENDS " AND state = 'active'") == 0);
    assert_int_equal(run_sql(&asked.query, "SELECT 1"), PG_OK);
    assert_int_equal(pool_stats().reconnects, 1);
    pg_query_clear(&asked.query);
}

static void await_late_in_prepare(void) {
    struct pg_query query = {
        .statement = &add, .params = {"1", "2", ""}, .deadline_ms = clock_now_ms() + 30};

    assert_int_equal(pg_query_await(fixture.pool, &query), PG_NOT_SENT);
    assert_string_equal(query.message, "the statement was not prepared by the deadline");
}

static void test_query_late_in_prepare_is_not_sent(void **state) {
    fault_proxy_listen(fixture.proxy);
    open_ready_pool(fixture.proxy_conninfo, 1, 0);
    fault_proxy_set(fixture.proxy, PROXY_HOLDS);
    run_in_fiber(await_late_in_prepare);
    fault_proxy_set(fixture.proxy, PROXY_PASSES);
    run_in_fiber(add_in_fiber);
}

static void hold_and_leave_open(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);

    assert_non_null(conn);
    assert_int_equal(pool_stats().held, 1);
    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    assert_int_equal(run_on(conn, "CREATE TABLE test_pg_left (n int)"), PG_OK);
    assert_int_equal(run_on(conn, "SELECT 1 / 0"), PG_REJECTED);
    assert_int_equal(run_on(conn, "SELECT 1"), PG_REJECTED);
    pg_give_back(conn);
}

static void test_open_transaction_is_rolled_back_when_given_back(void **state) {
    run_in_fiber(hold_and_leave_open);
    expect_first("SELECT to_regclass('test_pg_left') IS NULL", "t");
    assert_int_equal(pool_stats().held, 0);
    assert_int_equal(pool_stats().reconnects, 0);
}

static void test_transaction_begun_outside_a_hold_is_rolled_back(void **state) {
    expect_sql("BEGIN", PG_OK);
    WAIT_FOR(&fixture.loop, pool_stats().idle == 1);
    expect_sql("COMMIT", PG_OK);
    assert_int_equal(pool_stats().reconnects, 0);
}

static void test_conninfo_that_cannot_be_parsed_is_refused(void **state) {
    const char *const bad[] = {"host=x no_such_option=1", "postgresql://me:pass/word@x/db"};

    for (int i = 0; i < 2; i++) {
        struct pg_pool_options options = {.conninfo = bad[i]};

        assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), UV_EINVAL);
        assert_null(fixture.pool);
    }
}

static void test_settings_of_a_connection(void **state) {
    struct pg_query query;

    open_pool(fixture.conninfo, 1, 0);
    assert_int_equal(run_sql(&query, "SELECT current_setting('application_name'), "
                                     "current_setting('client_encoding')"),
                     PG_OK);
    assert_string_equal(pg_text(&query, 0, 0), fixture.name);
    assert_string_equal(pg_text(&query, 0, 1), "UTF8");
    pg_query_clear(&query);
}

static int64_t count_prepared(struct pg_conn *conn) {
    struct pg_query query = {.sql = "SELECT count(*) FROM pg_prepared_statements",
                             .on = conn,
                             .deadline_ms = clock_now_ms() + PATIENCE_MS};
    int64_t count;

    assert_int_equal(pg_query_await(fixture.pool, &query), PG_OK);
    count = pg_int(&query, 0, 0);
    pg_query_clear(&query);
    return count;
}

static void prepare_on_hold(void) {
    static const struct pg_statement wrong = {"test_wrong", "SELECT * FROM no_such_table", 0};
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct pg_query query = {
        .statement = &add, .on = conn, .deadline_ms = clock_now_ms() + PATIENCE_MS};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(pg_prepare_await(fixture.pool, &query), PG_OK);
        assert_null(query.result);
        assert_int_equal(count_prepared(conn), 1);
    }
    query.statement = &wrong;
    assert_int_equal(pg_prepare_await(fixture.pool, &query), PG_REJECTED);
    assert_string_equal(query.sqlstate, "42P01");
    pg_give_back(conn);
}

static void test_statement_is_prepared_ahead_of_its_query(void **state) {
    run_in_fiber(prepare_on_hold);
    WAIT_FOR(&fixture.loop, pool_stats().idle == 1);
}

static void hold_and_prepare(void *is_done) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct pg_query query = {
        .statement = &add, .on = conn, .deadline_ms = clock_now_ms() + PATIENCE_MS};

    assert_int_equal(pg_prepare_await(fixture.pool, &query), PG_OK);
    pg_give_back(conn);
    *(bool *)is_done = true;
}

static void test_free_connection_and_known_statement_take_no_turn_of_the_loop(void **state) {
    bool is_done = false;

    run_in_fiber(add_in_fiber);
    assert_int_equal(fiber_start(hold_and_prepare, &is_done), 0);
    assert_true(is_done); /* it never waited */
}

/* Set in the connection string and by us: ours win, and the rest stays. */
static void test_settings_win_over_those_of_the_connection_string(void **state) {
    struct pg_pool_options options = {.settings = "-c statement_timeout=1234", .connections = 1};
    char conninfo[700];

    (void)snprintf(conninfo, sizeof conninfo,
                   "%s options='-c statement_timeout=0 -c lock_timeout=77'", fixture.conninfo);
    options.conninfo = conninfo;
    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
    expect_first("SELECT current_setting('statement_timeout') || ' ' ||"
                 " current_setting('lock_timeout')",
                 "1234ms 77ms");
}

/* ---- Held by one at a time, and never all of them */

static void hold_while_others_wait(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct asked waiting;

    assert_null(pg_hold(fixture.pool, clock_now_ms() + 20));
    start_query(&waiting, "SELECT 1", PATIENCE_MS);
    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    assert_int_equal(run_on(conn, "COMMIT"), PG_OK);
    assert_int_equal(waiting.ended, 0);
    pg_give_back(conn);
    while (waiting.ended == 0)
        fiber_sleep(&fixture.loop, 1);
    assert_int_equal(waiting.query.status, PG_OK);
    pg_query_clear(&waiting.query);
}

static void test_held_connection_serves_nobody_else(void **state) {
    run_in_fiber(hold_while_others_wait);
}

static void hold_as_many_as_there_are(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct pg_query query = {.sql = "SELECT 1", .deadline_ms = clock_now_ms() + PATIENCE_MS};

    assert_null(pg_hold(fixture.pool, clock_now_ms() + 20));
    assert_int_equal(pg_query_await(fixture.pool, &query), PG_OK);
    pg_query_clear(&query);
    pg_give_back(conn);
    conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    assert_non_null(conn);
    pg_give_back(conn);
}

static void test_one_connection_of_several_is_never_held(void **state) {
    open_ready_pool(fixture.conninfo, 2, 0);
    run_in_fiber(hold_as_many_as_there_are);
}

static void start_hold(void *arg) {
    assert_null(pg_hold(fixture.pool, clock_now_ms() + 1000));
}

static void pass_those_that_hold(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct asked asked;

    assert_int_equal(fiber_start(start_hold, NULL), 0);
    start_query(&asked, "SELECT 1", PATIENCE_MS);
    while (asked.ended == 0)
        fiber_sleep(&fixture.loop, 1);
    assert_int_equal(asked.query.status, PG_OK);
    assert_int_equal(pool_stats().queued, 1);
    pg_query_clear(&asked.query);
    while (pool_stats().queued > 0)
        fiber_sleep(&fixture.loop, 1);
    pg_give_back(conn);
}

static void test_queries_pass_those_that_wait_for_a_hold(void **state) {
    open_ready_pool(fixture.conninfo, 2, 0);
    run_in_fiber(pass_those_that_hold);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_results_come_back_as_text_and_numbers),
        TEST(test_settings_win_over_those_of_the_connection_string),
        TEST_READY(test_statement_is_prepared_once_per_connection),
        TEST_READY(test_an_error_is_told_as_one_printable_line),
        TEST_READY(test_error_leaves_the_connection_usable),
        TEST_READY(test_statement_that_cannot_be_prepared_is_rejected),
        TEST_READY(test_statement_that_the_server_forgot_is_prepared_again),
        TEST(test_error_at_commit_is_not_taken_for_success),
        TEST(test_large_parameters_and_results_pass),
        TEST(test_queries_run_in_the_order_of_their_start),
        TEST(test_full_queue_refuses),
        TEST_READY(test_query_late_in_the_queue_is_not_sent),
        TEST_READY(test_query_late_in_flight_is_unknown_and_cancelled),
        TEST(test_query_late_in_prepare_is_not_sent),
        TEST_READY(test_open_transaction_is_rolled_back_when_given_back),
        TEST_READY(test_statement_is_prepared_ahead_of_its_query),
        TEST_READY(test_free_connection_and_known_statement_take_no_turn_of_the_loop),
        TEST_READY(test_transaction_begun_outside_a_hold_is_rolled_back),
        TEST(test_conninfo_that_cannot_be_parsed_is_refused),
        TEST(test_settings_of_a_connection),
        TEST_READY(test_held_connection_serves_nobody_else),
        TEST(test_one_connection_of_several_is_never_held),
        TEST(test_queries_pass_those_that_wait_for_a_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
