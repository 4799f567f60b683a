/* The Postgres pool in good order: results, statements, the queue, deadlines, held connections. */
#include "pg_fixture.h"

static const struct pg_statement add = {"test_add", "SELECT $1::int + $2::int, $3::text", 3};

static void test_results_come_back_as_text_and_numbers(void **state) {
    struct fixture *fixture = *state;
    struct pg_query query;

    open_pool(fixture, fixture->conninfo, 2, 0);
    assert_int_equal(run_sql(fixture, &query, "SELECT 'Wärme', 42, NULL UNION ALL SELECT '', 7, 1"),
                     PG_OK);
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

static void add_in_fiber(struct fixture *fixture) {
    for (int i = 0; i < 3; i++) {
        struct pg_query query = {.statement = &add,
                                 .params = {"40", "2", i == 0 ? NULL : "x"},
                                 .deadline_ms = clock_now_ms() + PATIENCE_MS};

        assert_int_equal(pg_query_await(fixture->pool, &query), PG_OK);
        assert_int_equal(pg_int(&query, 0, 0), 42);
        assert_int_equal(PQgetisnull(query.result, 0, 1), i == 0);
        pg_query_clear(&query);
    }
}

static void test_statement_is_prepared_once_per_connection(void **state) {
    struct fixture *fixture = *state;
    struct pg_query query;

    open_ready_pool(fixture, fixture->conninfo, 1, 0);
    run_in_fiber(fixture, add_in_fiber);
    assert_int_equal(run_sql(fixture, &query, "SELECT count(*) FROM pg_prepared_statements"),
                     PG_OK);
    assert_int_equal(pg_int(&query, 0, 0), 1);
    pg_query_clear(&query);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_results_come_back_as_text_and_numbers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_statement_is_prepared_once_per_connection, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
