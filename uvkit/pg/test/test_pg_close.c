/* The Postgres pool closed at every stage, and with every allocation failing. */
#include "pg_fixture.h"

#include "fault.h"

static void test_close_before_the_loop_has_run(void **state) {
    struct asked asked;

    open_pool(fixture.conninfo, 2, 0);
    start_query(&asked, "SELECT 1", PATIENCE_MS);
    close_pool();
    assert_int_not_equal(asked.ended, 0);
    assert_int_equal(asked.query.status, PG_NOT_SENT);
}

static void test_close_while_connecting(void **state) {
    struct asked asked;

    fault_proxy_listen(fixture.proxy);
    fault_proxy_set(fixture.proxy, PROXY_HOLDS);
    open_pool(fixture.proxy_conninfo, 2, 0);
    start_query(&asked, "SELECT 1", PATIENCE_MS);
    (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    close_pool();
    assert_int_not_equal(asked.ended, 0);
    assert_int_equal(asked.query.status, PG_NOT_SENT);
}

static void test_close_while_waiting_to_try_again(void **state) {
    open_pool(fixture.proxy_conninfo, 2, 0); /* nobody listens */
    for (int i = 0; i < 20; i++)
        (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    close_pool();
}

static void test_close_with_queries_in_flight_and_queued(void **state) {
    struct asked sent, queued;

    start_query(&sent, "SELECT pg_sleep(1000)", PATIENCE_MS);
    start_query(&queued, "SELECT 1", PATIENCE_MS);
    close_pool();
    assert_true(sent.ended != 0 && queued.ended != 0);
    assert_int_equal(sent.query.status, PG_UNKNOWN);
    assert_int_equal(queued.query.status, PG_NOT_SENT);
    WAIT_FOR(&fixture.loop, ask("SELECT count(*) " POOL_BACKENDS) == 0);
}

static void test_close_while_preparing(void **state) {
    struct asked asked;

    start_statement(&asked, PATIENCE_MS);
    close_pool();
    assert_int_not_equal(asked.ended, 0);
    assert_int_equal(asked.query.status, PG_NOT_SENT);
}

static void hold_while_closed(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);

    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    pg_pool_close(fixture.pool, on_pool_closed, NULL);
    assert_int_equal(run_on(conn, "COMMIT"), PG_NOT_SENT);
    assert_null(pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS));
    fiber_sleep(&fixture.loop, 5);
    assert_false(fixture.is_closed);
    pg_give_back(conn);
    assert_false(fixture.is_closed);
}

static void test_close_waits_for_held_connections(void **state) {
    run_in_fiber(hold_while_closed);
    WAIT_FOR(&fixture.loop, fixture.is_closed);
}

static void hold_and_leave_open(void) {
    struct pg_conn *conn = pg_hold(fixture.pool, clock_now_ms() + PATIENCE_MS);

    assert_int_equal(run_on(conn, "BEGIN"), PG_OK);
    pg_give_back(conn);
    pg_pool_close(fixture.pool, on_pool_closed, NULL);
    pg_pool_close(fixture.pool, on_pool_closed, NULL);
}

static void test_close_while_rolling_back(void **state) {
    run_in_fiber(hold_and_leave_open);
    WAIT_FOR(&fixture.loop, fixture.is_closed);
}

static void close_when_ended(void) {
    struct pg_query query = {.sql = "SELECT 1", .deadline_ms = clock_now_ms() + PATIENCE_MS};
    struct pg_query next = query;

    assert_int_equal(pg_query_await(fixture.pool, &query), PG_OK);
    pg_query_clear(&query);
    pg_pool_close(fixture.pool, on_pool_closed, NULL);
    assert_int_equal(pg_query_await(fixture.pool, &next), PG_NOT_SENT);
    assert_false(fixture.is_closed);
}

static void test_close_by_a_fiber_after_its_query_has_ended(void **state) {
    open_pool(fixture.conninfo, 1, 0);
    run_in_fiber(close_when_ended);
    WAIT_FOR(&fixture.loop, fixture.is_closed);
}

static void use_with_little_memory(void *arg) {
    struct pg_query query;

    if (run_with_little_memory(&query))
        assert_true(query.status == PG_OK || query.status == PG_NOT_SENT);
    pg_query_clear(&query);
}

static void test_each_allocation_may_fail(void **state) {
    fault_each_allocation(use_with_little_memory, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_close_before_the_loop_has_run),
        TEST(test_close_while_connecting),
        TEST(test_close_while_waiting_to_try_again),
        TEST_READY(test_close_with_queries_in_flight_and_queued),
        TEST_READY(test_close_while_preparing),
        TEST_READY(test_close_waits_for_held_connections),
        TEST_READY(test_close_while_rolling_back),
        TEST(test_close_by_a_fiber_after_its_query_has_ended),
        TEST(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
