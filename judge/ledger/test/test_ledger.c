/* The order of a ledger's rows, and its times. */
#include "ledger.h"
#include "test.h"

static void test_rows_are_put_into_order_and_each_knows_its_units(void **state) {
    struct ledger_row rows[] = {{.shard = 2, .first_unit = 6}, {.shard = 0, .first_unit = 1}};
    struct ledger_sale sales[] = {{.order_id = "c"}, {.order_id = "a"}, {.order_id = "b"}};
    struct ledger_order orders[] = {{.order_id = "b"}, {.order_id = "a"}};
    struct ledger ledger = {.initial = 8,
                            .rows = rows,
                            .row_count = 2,
                            .sales = sales,
                            .sale_count = 3,
                            .orders = orders,
                            .order_count = 2};

    ledger_sort(&ledger);
    assert_string_equal(sales[0].order_id, "a");
    assert_string_equal(sales[2].order_id, "c");
    assert_string_equal(orders[0].order_id, "a");
    assert_int_equal(rows[0].shard, 0);
    assert_int_equal(rows[0].initial, 5);
    assert_int_equal(rows[1].initial, 3);
}

/* There may be more shards than units. */
static void test_a_shard_without_units_begins_where_the_next_one_does(void **state) {
    struct ledger_row rows[] = {{.shard = 1, .first_unit = 1},
                                {.shard = 0, .first_unit = 1},
                                {.shard = 2, .first_unit = 11}};
    struct ledger ledger = {.initial = 10, .rows = rows, .row_count = 3};

    ledger_sort(&ledger);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rows[i].shard, i);
        assert_int_equal(rows[i].initial, i == 1 ? 10 : 0);
    }
}

static void test_an_empty_ledger_has_nothing_to_sort(void **state) {
    struct ledger ledger = {.initial = 10};

    ledger_sort(&ledger);
    assert_int_equal(ledger.initial, 10);
}

static void test_the_first_row_of_an_id_is_found(void **state) {
    struct ledger_sale sales[] = {{.order_id = "a"},
                                  {.order_id = "b"},
                                  {.order_id = "b"},
                                  {.order_id = "b"},
                                  {.order_id = "d"}};
    struct ledger_order orders[] = {{.order_id = "b"}};
    const struct ledger ledger = {
        .sales = sales, .sale_count = 5, .orders = orders, .order_count = 1};
    const struct ledger empty = {.initial = 10};

    assert_ptr_equal(ledger_find_sale(&ledger, "a"), &sales[0]);
    assert_ptr_equal(ledger_find_sale(&ledger, "b"), &sales[1]);
    assert_ptr_equal(ledger_find_sale(&ledger, "d"), &sales[4]);
    assert_null(ledger_find_sale(&ledger, "c"));
    assert_ptr_equal(ledger_find_order(&ledger, "b"), &orders[0]);
    assert_null(ledger_find_order(&ledger, "a"));
    assert_null(ledger_find_sale(&empty, "a"));
    assert_null(ledger_find_order(&empty, "a"));
}

static void test_a_time_is_read_to_the_microsecond(void **state) {
    assert_int_equal(ledger_time_us("1970-01-01T00:00:01.000002Z"), 1000002);
    assert_int_equal(ledger_time_us("2026-11-21T10:01:02.123456Z"), 1795255262123456);
    assert_int_equal(ledger_time_us(""), -1);
    assert_int_equal(ledger_time_us("yesterday"), -1);
    assert_int_equal(ledger_time_us("2199-12-31T23:59:59.999999Z"), LEDGER_TIME_END_US - 1);
    assert_int_equal(ledger_time_us("2200-01-01T00:00:00.000000Z"), -1);
    assert_int_equal(ledger_time_us("1969-12-31T23:59:59.999999Z"), -1);
    assert_int_equal(ledger_time_us("9999-11-21T10:01:02.123456Z"), -1);
    assert_int_equal(ledger_time_us("2026-11-21T10:01:02.123456Z!"), -1);
    assert_string_equal(ledger_clock("2026-11-21T10:01:02.123456Z"), "10:01:02.123456Z");
    assert_string_equal(ledger_clock("yesterday"), "yesterday");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_put_into_order_and_each_knows_its_units),
        cmocka_unit_test(test_a_shard_without_units_begins_where_the_next_one_does),
        cmocka_unit_test(test_an_empty_ledger_has_nothing_to_sort),
        cmocka_unit_test(test_the_first_row_of_an_id_is_found),
        cmocka_unit_test(test_a_time_is_read_to_the_microsecond),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
