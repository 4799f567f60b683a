/* The Postgres pool when things break: killed, cut and unreachable connections. */
#include "log.h"
#include "pg_fixture.h"
#include "said.h"

#define KILL_POOL "SELECT count(pg_terminate_backend(pid)) " POOL_BACKENDS

static void test_killed_idle_connections_are_not_handed_out(void **state) {
    open_ready_pool(fixture.conninfo, 3, 0);
    assert_int_equal(ask(KILL_POOL), 3);
    WAIT_FOR(&fixture.loop, 3 - pool_stats().connections + pool_stats().reconnects == 3);
    expect_sql("SELECT 1", PG_OK);
    WAIT_FOR(&fixture.loop, pool_stats().reconnects == 3);
}

static void test_killed_busy_connection_leaves_its_query_unknown(void **state) {
    struct asked asked;

    start_query(&asked, "SELECT pg_sleep(1000)", PATIENCE_MS);
    WAIT_FOR(&fixture.loop, ask("SELECT count(*) " POOL_BACKENDS " AND state = 'active'") == 1);
    (void)ask(KILL_POOL);
    expect_end(&asked, PG_UNKNOWN);
    assert_string_equal(asked.query.message, "terminating connection due to administrator command");
    expect_sql("SELECT 1", PG_OK);
}

static void test_cut_connection_leaves_its_query_unknown(void **state) {
    struct asked asked;

    fault_proxy_listen(fixture.proxy);
    open_ready_pool(fixture.proxy_conninfo, 1, 0);
    fault_proxy_set(fixture.proxy, PROXY_HOLDS);
    start_query(&asked, "SELECT 1", PATIENCE_MS);
    fault_proxy_set(fixture.proxy, PROXY_REFUSES);
    expect_end(&asked, PG_UNKNOWN);
    assert_true(strlen(asked.query.message) > 0);
    start_query(&asked, "SELECT 1", 50);
    expect_end(&asked, PG_NOT_SENT);
    assert_ptr_equal(strstr(asked.query.message, "no connection: "), asked.query.message);
    fault_proxy_set(fixture.proxy, PROXY_PASSES);
    expect_sql("SELECT 1", PG_OK);
}

static void test_query_cut_in_prepare_is_sent_elsewhere(void **state) {
    struct asked asked;

    fault_proxy_listen(fixture.proxy);
    open_ready_pool(fixture.proxy_conninfo, 1, 0);
    fault_proxy_set(fixture.proxy, PROXY_HOLDS);
    start_statement(&asked, PATIENCE_MS);
    fault_proxy_set(fixture.proxy, PROXY_REFUSES);
    WAIT_FOR(&fixture.loop, pool_stats().connections == 0);
    assert_int_equal(asked.ended, 0);
    fault_proxy_set(fixture.proxy, PROXY_PASSES);
    expect_end(&asked, PG_OK);
    pg_query_clear(&asked.query);
}

static void expect_late(const char *word) {
    struct asked asked;

    WAIT_FOR(&fixture.loop, !pg_pool_is_up(fixture.pool));
    start_query(&asked, "SELECT 1", 2000);
    expect_end(&asked, PG_NOT_SENT);
    if (strstr(asked.query.message, word) == NULL)
        fail_msg("no \"%s\" in \"%s\"", word, asked.query.message);
    assert_null(strchr(asked.query.message, '\n'));
}

static void test_refused_login_is_told_at_the_deadline(void **state) {
    char conninfo[256];

    (void)snprintf(conninfo, sizeof(conninfo),
                   "host='%s' port=%s user=test_pg_nobody password=wrong dbname='%s'",
                   PQhost(fixture.admin), PQport(fixture.admin), PQdb(fixture.admin));
    open_pool(conninfo, 1, 0);
    expect_late("test_pg_nobody");
}

static void test_server_that_does_not_answer_is_told_at_the_deadline(void **state) {
    fault_proxy_listen(fixture.proxy);
    fault_proxy_set(fixture.proxy, PROXY_HOLDS);
    open_pool(fixture.proxy_conninfo, 2, 0);
    expect_late("did not let us in in time");
}

static void test_server_that_comes_later_is_found(void **state) {
    struct asked asked;

    open_pool(fixture.proxy_conninfo, 2, 0);
    expect_late("refused");
    start_query(&asked, "SELECT 1", PATIENCE_MS);
    fault_proxy_listen(fixture.proxy);
    expect_end(&asked, PG_OK);
    pg_query_clear(&asked.query);
}

/* libpq opens another socket for the second host, with the number of the first. */
static void test_second_host_is_tried(void **state) {
    char conninfo[512];

    (void)snprintf(conninfo, sizeof(conninfo),
                   "host='127.0.0.1,%s' port=%d,%s user='%s' password='%s' dbname='%s'",
                   PQhost(fixture.admin), fixture.proxy->port, PQport(fixture.admin),
                   PQuser(fixture.admin), PQpass(fixture.admin), PQdb(fixture.admin));
    open_ready_pool(conninfo, 3, 0);
    expect_sql("SELECT 1", PG_OK);
}

static void test_down_and_up_are_logged_once_and_without_the_password(void **state) {
    int downs, ups, passwords;

    fault_proxy_listen(fixture.proxy);
    open_ready_pool(fixture.proxy_conninfo, 3, 0);
    log_init("test", LOG_INFO);
    said_start();
    fault_proxy_set(fixture.proxy, PROXY_REFUSES);
    for (int i = 0; i < 3; i++) {
        struct asked asked;

        start_query(&asked, "SELECT 1", 100);
        WAIT_FOR(&fixture.loop, asked.ended != 0);
    }
    fault_proxy_set(fixture.proxy, PROXY_PASSES);
    WAIT_FOR(&fixture.loop, pool_stats().connections == 3);
    downs = said("postgres is down");
    ups = said("postgres is up");
    passwords = said(PQpass(fixture.admin)[0] ? PQpass(fixture.admin) : "password");
    said_stop();
    assert_int_equal(downs, 1);
    assert_int_equal(ups, 1);
    assert_int_equal(passwords, 0);
}

static void hold_while_killed(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);

    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    (void)ask(KILL_POOL);
    while (pool_stats().connections == 1)
        fiber_sleep(&fixture.loop, 1);
    assert_int_equal(run_on(conn, "COMMIT"), PG_NOT_SENT);
    assert_null(pg_hold(fixture.pool, clock_now_ms() + 20));
    pg_give_back(conn);
}

static void test_held_connection_that_is_killed_is_replaced_when_given_back(void **state) {
    run_in_fiber(hold_while_killed);
    expect_sql("SELECT 1", PG_OK);
    assert_int_equal(pool_stats().reconnects, 1);
}

static void hold_past_the_deadline(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct pg_query query = {
        .sql = "SELECT pg_sleep(1000)", .on = conn, .deadline_ms = clock_now_ms() + 20};

    assert_int_equal(pg_query_await(fixture.pool, &query), PG_UNKNOWN);
    assert_int_equal(run_on(conn, "COMMIT"), PG_NOT_SENT);
    pg_give_back(conn);
}

static void test_held_connection_breaks_at_a_deadline(void **state) {
    run_in_fiber(hold_past_the_deadline);
    expect_sql("SELECT 1", PG_OK);
}

static void test_query_that_arrives_after_its_cancel_request_is_cancelled(void **state) {
    struct asked asked;
    char is_there[256];

    fault_proxy_listen(fixture.proxy);
    open_ready_pool(fixture.proxy_conninfo, 1, 0);
    (void)snprintf(is_there, sizeof(is_there),
                   "SELECT count(*) FROM pg_stat_activity WHERE pid = %d",
                   ask("SELECT pid " POOL_BACKENDS));
    fault_proxy_freeze(fixture.proxy);
    start_query(&asked, "SELECT pg_sleep(1000)", 30);
    WAIT_FOR(&fixture.loop, asked.ended != 0 && fixture.proxy->cuts > 0); /* the cancel is cut */
    assert_int_equal(asked.query.status, PG_UNKNOWN);
    fault_proxy_set(fixture.proxy, PROXY_PASSES);
    WAIT_FOR(&fixture.loop, ask(is_there) == 0);
}

static void test_answer_that_came_in_time_counts_after_a_pause(void **state) {
    struct asked asked;

    start_query(&asked, "SELECT 1", 100);
    (void)usleep(700 * 1000);
    expect_end(&asked, PG_OK);
    pg_query_clear(&asked.query);
    start_statement(&asked, 100);
    (void)usleep(700 * 1000);
    expect_end(&asked, PG_NOT_SENT);
    assert_string_equal(asked.query.message, "prepared too late to be sent");
    expect_sql("SELECT 1", PG_OK);
    assert_int_equal(pool_stats().reconnects, 0);
}

/* The ledger must agree with the answers to the callers, through all kills. */
static void test_outcomes_agree_with_the_ledger_under_fire(void **state) {
    enum { QUERIES = 400 };
    struct asked asked[QUERIES];
    int told[4] = {0}, rows;

    (void)ask("DROP TABLE IF EXISTS test_pg_fire; CREATE TABLE test_pg_fire (n int)");
    open_pool(fixture.conninfo, 4, QUERIES);
    endings = 0;
    for (int i = 0; i < QUERIES; i++)
        start_query(&asked[i], "INSERT INTO test_pg_fire SELECT 1 FROM pg_sleep(0.001)",
                    PATIENCE_MS);
    while (endings < QUERIES) {
        int before = endings;

        WAIT_FOR(&fixture.loop, endings == QUERIES || endings > before + 50);
        (void)ask(KILL_POOL);
    }
    for (int i = 0; i < QUERIES; i++) {
        told[asked[i].query.status]++;
        pg_query_clear(&asked[i].query);
    }
    close_pool();
    WAIT_FOR(&fixture.loop, ask("SELECT count(*) " POOL_BACKENDS) == 0);
    rows = ask("SELECT count(*) FROM test_pg_fire");
    assert_int_equal(told[PG_OK] + told[PG_UNKNOWN], QUERIES);
    assert_true(told[PG_UNKNOWN] > 0);
    assert_in_range(rows, told[PG_OK], told[PG_OK] + told[PG_UNKNOWN]);
    (void)ask("DROP TABLE test_pg_fire");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_killed_idle_connections_are_not_handed_out),
        TEST_READY(test_killed_busy_connection_leaves_its_query_unknown),
        TEST(test_cut_connection_leaves_its_query_unknown),
        TEST(test_query_cut_in_prepare_is_sent_elsewhere),
        TEST(test_refused_login_is_told_at_the_deadline),
        TEST(test_server_that_does_not_answer_is_told_at_the_deadline),
        TEST(test_server_that_comes_later_is_found),
        TEST(test_second_host_is_tried),
        TEST(test_down_and_up_are_logged_once_and_without_the_password),
        TEST_READY(test_held_connection_that_is_killed_is_replaced_when_given_back),
        TEST_READY(test_held_connection_breaks_at_a_deadline),
        TEST(test_query_that_arrives_after_its_cancel_request_is_cancelled),
        TEST_READY(test_answer_that_came_in_time_counts_after_a_pause),
        TEST(test_outcomes_agree_with_the_ledger_under_fire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
