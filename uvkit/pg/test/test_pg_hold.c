/* Connections of the pool that are held: by one at a time, and never all of them. */
#include "pg_fixture.h"

static void hold_while_others_wait(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);
    struct pg_query waiting;
    int ended;

    assert_null(pg_hold(fixture.pool, clock_now_ms() + 20));
    start_query(&waiting, "SELECT 1", PATIENCE_MS, &ended);
    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    assert_int_equal(run_on(conn, "COMMIT"), PG_OK);
    assert_int_equal(ended, 0);
    pg_give_back(conn);
    while (ended == 0)
        fiber_sleep(&fixture.loop, 1);
    assert_int_equal(waiting.status, PG_OK);
    pg_query_clear(&waiting);
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
    struct pg_query query;
    int ended;

    assert_int_equal(fiber_start(start_hold, NULL), 0);
    start_query(&query, "SELECT 1", PATIENCE_MS, &ended);
    while (ended == 0)
        fiber_sleep(&fixture.loop, 1);
    assert_int_equal(query.status, PG_OK);
    assert_int_equal(pool_stats().queued, 1);
    pg_query_clear(&query);
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
        TEST_READY(test_held_connection_serves_nobody_else),
        TEST(test_one_connection_of_several_is_never_held),
        TEST(test_queries_pass_those_that_wait_for_a_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
