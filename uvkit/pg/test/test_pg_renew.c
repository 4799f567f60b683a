/* The Postgres pool with sessions that have changed since they were opened. */
#include "pg_fixture.h"

#include "pg_internal.h"

#define FRESH_TABLE "DROP TABLE IF EXISTS test_pg_renew; CREATE TABLE test_pg_renew (n int)"
#define KEEP_ROW    "INSERT INTO test_pg_renew VALUES (1)"
#define ROWS        "SELECT count(*) FROM test_pg_renew"

static const struct pg_statement read_rows = {"test_rows", "SELECT n FROM test_pg_renew", 0};

static enum pg_status run_read(struct pg_query *query) {
    struct asked asked;

    start_prepared(&asked, &read_rows, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, asked.ended != 0);
    *query = asked.query;
    return query->status;
}

static void expect_read(enum pg_status status) {
    struct pg_query query;

    assert_int_equal(run_read(&query), status);
    pg_query_clear(&query);
}

static void open_with_table(unsigned pipelines) {
    (void)ask(FRESH_TABLE);
    fixture.pipelines = pipelines;
    open_ready_pool(fixture.conninfo, pipelines + 1, 0);
}

/* So often the pool may be too early to open new ones. */
static bool is_written(void) {
    struct pg_query query;
    enum pg_status status = run_sql(&query, KEEP_ROW);

    if (status != PG_OK)
        assert_string_equal(query.sqlstate, "25006");
    pg_query_clear(&query);
    return status == PG_OK;
}

static void go_on_when_writable(unsigned pipelines) {
    char sql[100], conninfo[512];

    (void)ask(FRESH_TABLE);
    make_role(conninfo);
    (void)snprintf(sql, sizeof sql, "ALTER ROLE %s SET default_transaction_read_only = on",
                   fixture.name);
    (void)ask(sql);
    fixture.pipelines = pipelines;
    open_ready_pool(conninfo, pipelines + 1, 0);
    for (int i = 0; i < 5; i++)
        assert_false(is_written());
    (void)snprintf(sql, sizeof sql, "ALTER ROLE %s RESET ALL", fixture.name);
    (void)ask(sql);
    WAIT_FOR(&fixture.loop, is_written());
    assert_int_equal(ask(ROWS), 1);
    drop_role();
}

static void test_sessions_and_pipelines_that_were_opened_read_only_are_opened_anew(void **state) {
    for (unsigned pipelines = 0; pipelines < 2; pipelines++)
        go_on_when_writable(pipelines);
}

static void test_plan_that_the_table_has_outlived_is_made_again(void **state) {
    for (unsigned pipelines = 0; pipelines < 2; pipelines++) {
        open_with_table(pipelines);
        expect_read(PG_OK);
        (void)ask("ALTER TABLE test_pg_renew ALTER n TYPE bigint");
        expect_read(PG_OK);
        assert_int_equal(pool_stats().reconnects > 0, 1);
        close_pool();
    }
}

static void test_session_that_was_set_otherwise_is_replaced(void **state) {
    static const char *const changes[] = {"SET search_path = nowhere", "SET ROLE pg_monitor",
                                          "SET default_transaction_read_only = on", "DISCARD ALL",
                                          "PREPARE test_rows AS SELECT 2"};

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        open_with_table(0);
        expect_sql(changes[i], PG_OK);
        expect_read(PG_OK);
        expect_sql(KEEP_ROW, PG_OK);
        assert_int_equal(ask(ROWS), 1);
        close_pool();
    }
}

static void test_table_that_is_missing_is_told_until_it_is_there(void **state) {
    struct pg_query query;

    open_with_table(0);
    (void)ask("DROP TABLE test_pg_renew");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_read(&query), PG_REJECTED);
        assert_string_equal(query.sqlstate, "42P01");
    }
    (void)ask(FRESH_TABLE);
    expect_read(PG_OK);
}

static void refuse_on_hold(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);

    assert_non_null(conn);
    assert_int_equal(run_on(conn, "SET search_path = nowhere"), PG_OK);
    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    assert_int_equal(run_on(conn, KEEP_ROW), PG_REJECTED);
    pg_give_back(conn);
}

static void test_held_session_is_replaced_when_given_back(void **state) {
    open_with_table(0);
    run_in_fiber(refuse_on_hold);
    expect_sql(KEEP_ROW, PG_OK);
    assert_int_equal(pool_stats().reconnects, 1);
    assert_int_equal(ask(ROWS), 1);
}

static void test_what_is_in_flight_beside_it_happens_once(void **state) {
    enum { QUERIES = 30 };
    struct asked asked[QUERIES];

    open_with_table(1);
    expect_read(PG_OK);
    (void)ask("ALTER TABLE test_pg_renew ALTER n TYPE bigint");
    endings = 0;
    for (int i = 0; i < QUERIES; i++)
        if (i % 3 == 1)
            start_prepared(&asked[i], &read_rows, PATIENCE_MS);
        else
            start_query(&asked[i], KEEP_ROW, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, endings == QUERIES);
    for (int i = 0; i < QUERIES; i++) {
        assert_int_equal(asked[i].query.status, PG_OK);
        pg_query_clear(&asked[i].query);
    }
    assert_int_equal(ask(ROWS), QUERIES * 2 / 3);
}

/* A statement that can never run costs the others only some new sessions. */
static void test_statement_that_is_wrong_does_not_renew_at_each_query(void **state) {
    int64_t begun_ms = clock_now_ms();
    uint64_t renewals, most;

    open_with_table(0);
    for (int i = 0; i < 200; i++)
        expect_sql("SELECT no_such_column", PG_REJECTED);
    renewals = pool_stats().reconnects;
    most = 10 + (uint64_t)(clock_now_ms() - begun_ms) / 1000;
    assert_in_range(renewals, 1, most);
}

static void refuse(const char *sqlstate) {
    char sql[100];

    (void)snprintf(sql, sizeof sql, "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '%s'; END $$",
                   sqlstate);
    expect_sql(sql, PG_REJECTED);
}

static void test_error_that_no_session_mends_renews_none(void **state) {
    static const char *const sqlstates[] = {"42601", "42804", "42702", "42P07",
                                            "42P10", "42830", "XX001", "XX002"};

    open_with_table(0);
    for (size_t i = 0; i < sizeof sqlstates / sizeof *sqlstates; i++)
        refuse(sqlstates[i]);
    expect_sql(KEEP_ROW, PG_OK);
    assert_int_equal(pool_stats().reconnects, 0);
}

static unsigned count_renewals(struct pg_pause *pause, enum pg_stale kind, int64_t *now_ms,
                               int64_t time_ms) {
    const int64_t end_ms = *now_ms + time_ms;
    unsigned count = 0;

    for (; *now_ms < end_ms; *now_ms += 10)
        count += pg_stale_is_due(pause, kind, *now_ms);
    return count;
}

/* A statement that is refused for ever, for example for a missing right, costs a renewal a minute.
 */
static void test_pause_after_renewals_that_help_nobody_grows_to_a_minute(void **state) {
    struct pg_pause pause = {0};
    int64_t now_ms = 1000;

    assert_true(pg_stale_is_due(&pause, PG_STALE_RIGHT, now_ms));
    assert_false(pg_stale_is_due(&pause, PG_STALE_RIGHT, now_ms + 19));
    assert_true(pg_stale_is_due(&pause, PG_STALE_RIGHT, now_ms + 20));
    (void)count_renewals(&pause, PG_STALE_RIGHT, &now_ms, 5 * 60000);
    assert_int_equal(count_renewals(&pause, PG_STALE_RIGHT, &now_ms, 10 * 60000), 10);
}

static void test_database_that_is_read_only_is_asked_within_two_seconds(void **state) {
    struct pg_pause pause = {0};
    int64_t now_ms = 1000;

    (void)count_renewals(&pause, PG_STALE_READ_ONLY, &now_ms, 5 * 60000);
    assert_in_range(count_renewals(&pause, PG_STALE_READ_ONLY, &now_ms, 60000), 30, 60);
}

static void test_error_that_stays_delays_no_renewal_for_another(void **state) {
    open_with_table(0);
    expect_read(PG_OK);
    fixture.pool->pauses[PG_STALE_RIGHT] = (struct pg_pause){PG_NEVER, 60000};
    refuse("42501");
    assert_int_equal(pool_stats().reconnects, 0);
    (void)ask("ALTER TABLE test_pg_renew ALTER n TYPE bigint");
    expect_read(PG_OK);
    assert_int_equal(pool_stats().reconnects, 1);
}

static void test_pause_ends_when_a_new_session_helps(void **state) {
    struct pg_pause *pause;

    open_with_table(0);
    pause = &fixture.pool->pauses[PG_STALE_TABLE];
    *pause = (struct pg_pause){0, 60000};
    expect_sql("SET search_path = nowhere", PG_OK);
    expect_read(PG_OK);
    assert_int_equal(pause->length_ms, 0);
    assert_int_equal(pause->until_ms, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_sessions_and_pipelines_that_were_opened_read_only_are_opened_anew),
        TEST(test_plan_that_the_table_has_outlived_is_made_again),
        TEST(test_session_that_was_set_otherwise_is_replaced),
        TEST(test_table_that_is_missing_is_told_until_it_is_there),
        TEST(test_held_session_is_replaced_when_given_back),
        TEST(test_what_is_in_flight_beside_it_happens_once),
        TEST(test_statement_that_is_wrong_does_not_renew_at_each_query),
        TEST(test_error_that_no_session_mends_renews_none),
        TEST(test_pause_after_renewals_that_help_nobody_grows_to_a_minute),
        TEST(test_database_that_is_read_only_is_asked_within_two_seconds),
        TEST(test_error_that_stays_delays_no_renewal_for_another),
        TEST(test_pause_ends_when_a_new_session_helps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
