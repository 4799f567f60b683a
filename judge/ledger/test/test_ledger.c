/* The order of a ledger's rows, and its times. */
#include "fault.h"
#include "ledger.h"
#include "test.h"

#include <inttypes.h>

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
    static const char *const others[] = {"",
                                         "yesterday",
                                         "1969-12-31T23:59:59.999999Z",
                                         "2200-01-01T00:00:00.000000Z",
                                         "9999-11-21T10:01:02.123456Z",
                                         "2026-11-21T10:01:02.123456Z!",
                                         "2026-00-21T10:01:02.123456Z",
                                         "2026-13-21T10:01:02.123456Z",
                                         "2026-11-00T10:01:02.123456Z",
                                         "2026-11-21T24:01:02.123456Z",
                                         "2026-11-21T10:60:02.123456Z",
                                         "2026-11-21T10:01:61.123456Z"};
    char text[LEDGER_TIME];

    assert_int_equal(ledger_time_us("2199-12-31T23:59:59.999999Z"), LEDGER_TIME_END_US - 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(ledger_time_us(others[i]), 0);
    assert_string_equal(ledger_clock(text, 1795255262123456), "10:01:02.123456Z");
    assert_string_equal(ledger_clock(text, 0), "");
}

/* Against the C library's calendar. */
static void test_each_day_is_written_as_it_is_read(void **state) {
    for (int64_t at_us = 1; at_us < LEDGER_TIME_END_US; at_us += INT64_C(86399) * 1000001) {
        char text[LEDGER_TIME];

        assert_int_equal(ledger_time_us(ledger_time_text(text, at_us)), at_us);
    }
}

/* Rows of one instance share its name; a row of an instance beyond the first few has its own. */
static void test_names_of_instances_are_shared(void **state) {
    struct ledger ledger = {0};
    const char *kept[20], *again;
    char name[8];

    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "i-%d", i);
        assert_int_equal(ledger_keep_instance(&ledger, &kept[i], name), 0);
        assert_int_equal(ledger_keep_instance(&ledger, &again, name), 0);
        assert_string_equal(again, name);
        assert_true(i >= 8 || again == kept[i]);
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(atoi(kept[i] + 2), i);
    ledger_free(&ledger);
}

/* ---- the orders of a shop */

#define UNTOLD LEDGER_UNTOLD

static void test_the_orders_of_a_shop_become_a_sorted_ledger(void **state) {
    const struct ledger_told rows[] = {
        {"b", "key-b", "shop-2", 1795255262123456, 2, UNTOLD, UNTOLD, 1},
        {"a", "key-a", NULL, 0, 1, UNTOLD, UNTOLD, 0}};
    struct ledger ledger;
    struct why why;

    assert_int_equal(ledger_tell(&ledger, 5, 2, rows, 2, true, &why), 0);
    assert_int_equal(ledger.initial, 5);
    assert_int_equal(ledger.available, 2);
    assert_int_equal(ledger.counted, 3);
    assert_int_equal(ledger_sold(&ledger), 3);
    assert_true(ledger.is_unnumbered && ledger.can_return && ledger.has_keys);
    assert_true(ledger.has_reserved && !ledger.has_units);
    assert_string_equal(ledger.sales[0].order_id, "a");
    assert_int_equal(ledger.sales[0].at_us, 0);
    assert_null(ledger.sales[0].instance);
    assert_int_equal(ledger_extra(&ledger.sales[0]).reserved, 0);
    assert_string_equal(ledger_extra(&ledger.sales[1]).key, "key-b");
    assert_int_equal(ledger.sales[1].at_us, 1795255262123456);
    assert_string_equal(ledger.sales[1].instance, "shop-2");
    assert_int_equal(ledger.sales[1].quantity, 2);
    assert_int_equal(ledger.sales[1].unit, -1);
    assert_int_equal(ledger.order_count, 2);
    assert_ptr_equal(ledger.orders[1].order_id, ledger.sales[1].order_id);
    ledger_free(&ledger);
}

/* The number that a sale left tells which units it sold, so `unit` is not used. */
static void test_units_and_the_units_left_count_if_all_orders_tell_them(void **state) {
    struct ledger_told rows[] = {{.id = "a", .quantity = 2, .unit = 7, .remaining = 3},
                                 {.id = "b", .quantity = 2, .unit = 7, .remaining = 2}};
    struct ledger ledger;
    struct why why;

    assert_int_equal(ledger_tell(&ledger, 5, 2, rows, 2, false, &why), 0);
    assert_false(ledger.is_unnumbered || ledger.has_units || ledger.has_keys);
    assert_int_equal(ledger.sales[0].unit, 4); /* and 5 */
    assert_int_equal(ledger.units, 3);
    ledger_free(&ledger);
    rows[1].remaining = UNTOLD;
    assert_int_equal(ledger_tell(&ledger, 5, 2, rows, 2, false, &why), 0);
    assert_true(ledger.is_unnumbered && ledger.has_units);
    assert_int_equal(ledger.sales[0].remaining, -1);
    assert_int_equal(ledger.sales[1].unit, 7);
    ledger_free(&ledger);
    rows[0].unit = UNTOLD;
    assert_int_equal(ledger_tell(&ledger, 5, 2, rows, 2, false, &why), 0);
    assert_true(ledger.is_unnumbered && !ledger.has_units);
    assert_int_equal(ledger.sales[1].unit, -1);
    ledger_free(&ledger);
}

static void test_a_number_out_of_range_is_refused(void **state) {
    struct ledger_told row = {.id = "a", .quantity = -1, .unit = UNTOLD, .remaining = UNTOLD};
    struct ledger ledger;
    struct why why;

    assert_int_equal(ledger_tell(&ledger, 5, 2, &row, 1, false, &why), -1);
    assert_string_equal(why.text, "the order a has a quantity of -1, and it must be from 0 to "
                                  "1000000000");
    ledger_free(&ledger);
    row.key = "";
    assert_int_equal(ledger_tell(&ledger, 5, 2, &row, 1, false, &why), -1);
    assert_string_equal(why.text, "the key of an order must be 1 to 128 characters of ASCII "
                                  "without spaces, quotes and backslashes: \"\"");
    ledger_free(&ledger);
    row.key = NULL;
    row.quantity = 1;
    row.unit = INT64_MAX;
    assert_int_equal(ledger_tell(&ledger, 5, 2, &row, 1, false, &why), -1);
    assert_string_equal(why.text, "the order a has a number beyond 1000000000000");
    ledger_free(&ledger);
    assert_int_equal(ledger_tell(&ledger, INT64_MAX, 2, NULL, 0, false, &why), -1);
    assert_string_equal(why.text, "the stock has a number beyond 1000000000000");
    ledger_free(&ledger);
}

/* Multiples of 389 below 1,000 lie in many rings of places. */
static void test_each_order_of_many_keeps_its_columns(void **state) {
    struct ledger_told rows[1000];
    char ids[1000][16];
    struct ledger ledger;
    struct why why;

    for (size_t i = 0; i < 1000; i++) {
        const int64_t number = (int64_t)(i * 389 % 1000);

        (void)snprintf(ids[i], sizeof ids[i], "shop-%05" PRId64, number);
        rows[i] = (struct ledger_told){.id = ids[i],
                                       .quantity = 1,
                                       .unit = number,
                                       .remaining = LEDGER_UNTOLD,
                                       .reserved = 2 * number};
    }
    assert_int_equal(ledger_tell(&ledger, 1000, 0, rows, 1000, false, &why), 0);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(ledger.sales[i].unit, i);
        assert_int_equal(ledger_extra(&ledger.sales[i]).reserved, 2 * i);
        assert_int_equal(ledger.orders[i].unit, i);
        assert_string_equal(ledger.orders[i].order_id, ledger.sales[i].order_id);
    }
    ledger_free(&ledger);
}

/* A sort without memory for an index has the same result. */
static void tell_and_free(void *arg) {
    const struct ledger_told rows[] = {{.id = "c", .key = "b", .quantity = 1, .remaining = 1},
                                       {.id = "a", .key = "d", .quantity = 1, .remaining = 2}};
    struct ledger ledger;
    struct why why;

    if (ledger_tell(&ledger, 5, 2, rows, 2, false, &why) != 0)
        assert_string_equal(why.text, "out of memory");
    else
        assert_string_equal(ledger.sales[0].order_id, "a");
    ledger_free(&ledger);
}

static void test_no_memory_for_a_ledger_is_told(void **state) {
    fault_each_allocation(tell_and_free, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_put_into_order_and_each_knows_its_units),
        cmocka_unit_test(test_a_shard_without_units_begins_where_the_next_one_does),
        cmocka_unit_test(test_an_empty_ledger_has_nothing_to_sort),
        cmocka_unit_test(test_the_first_row_of_an_id_is_found),
        cmocka_unit_test(test_a_time_is_read_to_the_microsecond),
        cmocka_unit_test(test_each_day_is_written_as_it_is_read),
        cmocka_unit_test(test_names_of_instances_are_shared),
        cmocka_unit_test(test_the_orders_of_a_shop_become_a_sorted_ledger),
        cmocka_unit_test(test_units_and_the_units_left_count_if_all_orders_tell_them),
        cmocka_unit_test(test_a_number_out_of_range_is_refused),
        cmocka_unit_test(test_each_order_of_many_keeps_its_columns),
        cmocka_unit_test(test_no_memory_for_a_ledger_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
