/* The Postgres pool with a connection in pipeline mode. */
#include "fault.h"
#include "pg_fixture.h"
#include "pg_internal.h"

#define LOCK       "SELECT pg_advisory_lock(7701)"
#define UNLOCK     "SELECT pg_advisory_unlock(7701)"
#define AWAIT_LOCK "SELECT pg_advisory_xact_lock(7701)"
#define KEEP_ROW   "INSERT INTO test_pg_pipe VALUES (1)"
#define ROWS       "SELECT count(*) FROM test_pg_pipe"
#define WAITERS    "SELECT count(*) " POOL_BACKENDS " AND wait_event_type = 'Lock'"

enum { MOST = 8 };

static void open_pipeline(const char *conninfo, unsigned in_flight) {
    fixture.pipelines = 1;
    fixture.in_flight = in_flight;
    fixture.answer_ms = fixture.answer_ms != 0 ? fixture.answer_ms : PATIENCE_MS;
    fixture.stall_ms = fixture.stall_ms != 0 ? fixture.stall_ms : PATIENCE_MS;
    /* A server still works on the last test's statements, on a connection that it closed. */
    WAIT_FOR(&fixture.loop, ask("SELECT count(*) " POOL_BACKENDS) == 0);
    (void)ask("DROP TABLE IF EXISTS test_pg_pipe;"
              "CREATE TABLE test_pg_pipe (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
    open_ready_pool(conninfo, 2, 0);
}

static void start(struct asked *sent, int i, const char *sql) {
    start_query(&sent[i], sql, PATIENCE_MS);
}

static void expect(struct asked *sent, int i, enum pg_status status) {
    WAIT_FOR(&fixture.loop, sent[i].ended != 0);
    if (sent[i].query.status != status)
        fail_msg("query %d: %d, %s", i, (int)sent[i].query.status, sent[i].query.message);
    pg_query_clear(&sent[i].query);
}

static void expect_rows(int rows) {
    assert_int_equal(ask(ROWS), rows);
    (void)ask("DROP TABLE test_pg_pipe");
}

static void test_queries_share_a_connection_and_end_in_order(void **state) {
    struct asked asked[40];
    int pid = 0;

    open_pipeline(fixture.conninfo, 8);
    endings = 0;
    for (int i = 0; i < 40; i++)
        start_query(&asked[i], "SELECT pg_backend_pid()", PATIENCE_MS);
    assert_int_equal(pool_stats().queued, 32);
    WAIT_FOR(&fixture.loop, endings == 40);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(asked[i].query.status, PG_OK);
        assert_int_equal(asked[i].ended, i + 1);
        pid = pid != 0 ? pid : (int)pg_int(&asked[i].query, 0, 0);
        pg_query_clear(&asked[i].query);
    }
    assert_int_not_equal(pid, 0);
    assert_int_equal(pool_stats().idle, 2);
    expect_rows(0);
}

static void test_each_query_is_a_transaction_that_fails_alone(void **state) {
    struct asked sent[MOST];

    open_pipeline(fixture.conninfo, MOST);
    start(sent, 0, KEEP_ROW);
    start(sent, 1, "SELECT 1/0");
    start(sent, 2, KEEP_ROW); /* fails at its commit */
    start(sent, 3, "INSERT INTO test_pg_pipe VALUES (2)");
    expect(sent, 0, PG_OK);
    expect(sent, 1, PG_REJECTED);
    assert_string_equal(sent[1].query.sqlstate, "22012");
    expect(sent, 2, PG_REJECTED);
    assert_string_equal(sent[2].query.sqlstate, "23505");
    expect(sent, 3, PG_OK);
    assert_int_equal(pool_stats().reconnects, 0);
    expect_rows(2);
}

static void start_late(struct asked *sent, int i) {
    static const struct pg_statement late = {"test_late", "SELECT $1::int FROM test_pg_late", 1};

    start_prepared(&sent[i], &late, PATIENCE_MS);
}

static void test_statement_that_cannot_be_parsed_fails_alone(void **state) {
    struct asked sent[MOST];

    (void)ask("DROP TABLE IF EXISTS test_pg_late");
    open_pipeline(fixture.conninfo, MOST);
    start_statement(&sent[0], PATIENCE_MS);
    start_late(sent, 1);
    start_late(sent, 2);
    start_statement(&sent[3], PATIENCE_MS);
    expect(sent, 0, PG_OK);
    expect(sent, 1, PG_REJECTED);
    expect(sent, 2, PG_REJECTED);
    expect(sent, 3, PG_OK);
    (void)ask("CREATE TABLE test_pg_late ()");
    start_late(sent, 4);
    start_late(sent, 5);
    expect(sent, 4, PG_OK);
    expect(sent, 5, PG_OK);
    (void)ask("DROP TABLE test_pg_late");
    expect_rows(0);
}

static void test_break_leaves_only_sent_queries_unknown(void **state) {
    struct asked sent[MOST];

    open_pipeline(fixture.conninfo, 3);
    (void)ask(LOCK);
    start(sent, 0, KEEP_ROW);
    start(sent, 1, AWAIT_LOCK);
    start(sent, 2, KEEP_ROW);
    start(sent, 3, "INSERT INTO test_pg_pipe VALUES (2)"); /* waits for room */
    start(sent, 5, "INSERT INTO test_pg_pipe VALUES (4)");
    expect(sent, 0, PG_OK);
    WAIT_FOR(&fixture.loop, ask(WAITERS) == 1);
    (void)ask("SELECT count(pg_terminate_backend(pid)) " POOL_BACKENDS
              " AND wait_event_type = 'Lock'");
    expect(sent, 1, PG_UNKNOWN);
    expect(sent, 2, PG_UNKNOWN);
    expect(sent, 3, PG_UNKNOWN);
    start(sent, 4, "INSERT INTO test_pg_pipe VALUES (3)");
    expect(sent, 4, PG_OK);
    (void)ask(UNLOCK);
    expect(sent, 5, PG_OK);
    expect_rows(3);
}

static void test_first_past_its_deadline_is_cancelled_alone(void **state) {
    struct asked sent[MOST];

    open_pipeline(fixture.conninfo, MOST);
    (void)ask(LOCK);
    start_query(&sent[0], AWAIT_LOCK, 800);
    start(sent, 1, KEEP_ROW);
    expect(sent, 0, PG_REJECTED);
    assert_string_equal(sent[0].query.sqlstate, "57014");
    expect(sent, 1, PG_OK);
    WAIT_FOR(&fixture.loop, pool_stats().reconnects == 1);
    (void)ask(UNLOCK);
    expect_rows(1);
}

static void test_later_ones_past_their_deadlines_are_unknown_alone(void **state) {
    struct asked sent[MOST];

    fixture.answer_ms = 20;
    open_pipeline(fixture.conninfo, MOST);
    (void)ask(LOCK);
    start(sent, 0, AWAIT_LOCK);
    start_query(&sent[1], KEEP_ROW, 50);
    start(sent, 2, "INSERT INTO test_pg_pipe VALUES (2)");
    start_query(&sent[3], KEEP_ROW, 50);
    expect(sent, 1, PG_UNKNOWN);
    expect(sent, 3, PG_UNKNOWN);
    fixture.pool->answer_ms = PATIENCE_MS; /* also for the queries that the server runs now */
    (void)ask(UNLOCK);
    expect(sent, 0, PG_OK);
    expect(sent, 2, PG_OK);
    close_pool();
    (void)ask("DROP TABLE test_pg_pipe");
}

static void test_late_cancel_request_costs_the_next_nothing(void **state) {
    struct asked sent[MOST];

    fault_proxy_listen(fixture.proxy);
    open_pipeline(fixture.proxy_conninfo, MOST);
    (void)ask(LOCK);
    fault_proxy_set(fixture.proxy, PROXY_HOLDS_REPLIES);
    start_query(&sent[0], "SELECT 1", 1000);
    start(sent, 1, "INSERT INTO test_pg_pipe SELECT 1 FROM (SELECT pg_advisory_xact_lock(7701)) a");
    WAIT_FOR(&fixture.loop, ask(WAITERS) == 1);
    WAIT_FOR(&fixture.loop, ask(WAITERS) == 0); /* struck */
    assert_int_equal(sent[0].ended + sent[1].ended, 0);
    (void)ask(UNLOCK);
    fault_proxy_set(fixture.proxy, PROXY_PASSES);
    expect(sent, 0, PG_OK);
    expect(sent, 1, PG_OK);
    expect_rows(1);
}

static void test_silence_past_the_deadline_leaves_all_unknown(void **state) {
    struct asked sent[MOST];

    fixture.answer_ms = 20;
    fault_proxy_listen(fixture.proxy);
    open_pipeline(fixture.proxy_conninfo, MOST);
    fault_proxy_set(fixture.proxy, PROXY_HOLDS);
    start_query(&sent[0], "SELECT 1", 50);
    start(sent, 1, "SELECT 1");
    expect(sent, 0, PG_UNKNOWN);
    expect(sent, 1, PG_UNKNOWN);
    fault_proxy_set(fixture.proxy, PROXY_PASSES);
    start(sent, 2, "SELECT 1");
    expect(sent, 2, PG_OK);
    expect_rows(0);
}

static void test_query_goes_elsewhere_when_the_first_takes_long(void **state) {
    struct asked sent[MOST];

    fixture.stall_ms = 20;
    open_pipeline(fixture.conninfo, 2);
    (void)ask(LOCK);
    start(sent, 0, AWAIT_LOCK);
    start(sent, 1, "SELECT 1");
    start(sent, 2, KEEP_ROW);
    expect(sent, 2, PG_OK);
    assert_int_equal(sent[0].ended + sent[1].ended, 0);
    (void)ask(UNLOCK);
    expect(sent, 0, PG_OK);
    expect(sent, 1, PG_OK);
    expect_rows(1);
}

static void hold_beside(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct pg_query query = {.sql = KEEP_ROW, .deadline_ms = clock_now_ms() + PATIENCE_MS};

    assert_non_null(conn);
    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    assert_int_equal(run_on(conn, KEEP_ROW), PG_OK);
    assert_int_equal(pg_query_await(fixture.pool, &query), PG_OK);
    pg_query_clear(&query);
    assert_int_equal(run_on(conn, "ROLLBACK; SELECT 1"), PG_OK);
    pg_give_back(conn);
}

static void test_held_connection_is_not_in_pipeline_mode(void **state) {
    open_pipeline(fixture.conninfo, MOST);
    (void)ask("DROP TABLE test_pg_pipe; CREATE TABLE test_pg_pipe (n int)");
    run_in_fiber(hold_beside);
    expect_rows(1);
}

static void test_close_tells_which_queries_were_sent(void **state) {
    struct asked sent[MOST];

    open_pipeline(fixture.conninfo, 2);
    (void)ask(LOCK);
    for (int i = 0; i < 3; i++)
        start(sent, i, AWAIT_LOCK);
    close_pool();
    expect(sent, 0, PG_UNKNOWN);
    expect(sent, 1, PG_UNKNOWN);
    expect(sent, 2, PG_NOT_SENT);
    (void)ask(UNLOCK);
    (void)ask("DROP TABLE test_pg_pipe");
}

/* Errors, deadlines and killed connections at random: each query ends once, and the ledger agrees
 * with the answer to its caller. */
static void expect_agreement(int n, enum pg_status status) {
    char sql[96];
    int rows;

    (void)snprintf(sql, sizeof sql, ROWS " WHERE n = %d", n);
    rows = ask(sql);
    if (status == PG_UNKNOWN)
        assert_in_range(rows, 0, 1);
    else
        assert_int_equal(rows, status == PG_OK);
}

static void start_random(struct asked *asked, int n) {
    static char sql[1000][96];

    (void)snprintf(sql[n], sizeof sql[n],
                   "INSERT INTO test_pg_pipe SELECT %d / %d FROM pg_sleep(%s)", n, rand() % 10 != 0,
                   rand() % 40 != 0 ? "0.001" : "0.2");
    start_query(asked, sql[n], rand() % 4 != 0 ? PATIENCE_MS : rand() % 500);
}

static void test_outcomes_agree_with_the_ledger_under_fire(void **state) {
    enum { QUERIES = 300 };
    struct asked asked[QUERIES];

    open_pipeline(fixture.conninfo, MOST);
    (void)ask("DROP TABLE test_pg_pipe; CREATE TABLE test_pg_pipe (n int)");
    srand(77);
    endings = 0;
    for (int i = 0; i < QUERIES; i++)
        start_random(&asked[i], i);
    while (endings < QUERIES) {
        int before = endings;

        WAIT_FOR(&fixture.loop, endings == QUERIES || endings > before + 40);
        (void)ask("SELECT count(pg_terminate_backend(pid)) " POOL_BACKENDS);
    }
    close_pool();
    WAIT_FOR(&fixture.loop, ask("SELECT count(*) " POOL_BACKENDS) == 0);
    assert_int_equal(endings, QUERIES);
    for (int i = 0; i < QUERIES; i++) {
        assert_int_not_equal(asked[i].ended, 0);
        expect_agreement(i, asked[i].query.status);
        pg_query_clear(&asked[i].query);
    }
    (void)ask("DROP TABLE test_pg_pipe");
}

static void use_with_little_memory(void *arg) {
    struct pg_query query;

    if (run_with_little_memory(&query))
        assert_int_equal(query.status, PG_OK);
    pg_query_clear(&query);
}

static void test_each_allocation_may_fail(void **state) {
    fixture.pipelines = 1;
    fault_each_allocation(use_with_little_memory, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_queries_share_a_connection_and_end_in_order),
        TEST(test_each_query_is_a_transaction_that_fails_alone),
        TEST(test_statement_that_cannot_be_parsed_fails_alone),
        TEST(test_break_leaves_only_sent_queries_unknown),
        TEST(test_first_past_its_deadline_is_cancelled_alone),
        TEST(test_later_ones_past_their_deadlines_are_unknown_alone),
        TEST(test_late_cancel_request_costs_the_next_nothing),
        TEST(test_silence_past_the_deadline_leaves_all_unknown),
        TEST(test_query_goes_elsewhere_when_the_first_takes_long),
        TEST(test_held_connection_is_not_in_pipeline_mode),
        TEST(test_close_tells_which_queries_were_sent),
        TEST(test_outcomes_agree_with_the_ledger_under_fire),
        TEST(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
