/* The statements of order-svc on a real Postgres. */
#include "order_sql.h"

#include "orders_database.h"

static const struct order bamboo = {.order_id = "0190b2a8-7f00-7000-8000-000000000001",
                                    .product_id = A_UUID,
                                    .unit = 788,
                                    .remaining = 787,
                                    .price = "88888.88",
                                    .instance = "inventory-1"};

static char why[INVENTORY_MESSAGE_BYTES];

static int64_t soon(void) {
    return clock_now_ms() + PATIENCE_MS;
}

static enum pg_status insert(const struct order *order, int64_t deadline_ms, bool *is_repeat) {
    struct order_insert one = {.order = order}, *const all[] = {&one};
    struct buffer text = {0};
    enum pg_status status = order_insert_all(fixture.pool, all, 1, deadline_ms, &text, why);

    buffer_free(&text);
    *is_repeat = one.is_repeat;
    return status;
}

static void test_an_order_is_recorded_once_and_stays_as_it_was(void *arg) {
    struct order other = bamboo;
    bool is_repeat = true;

    assert_int_equal(insert(&bamboo, soon(), &is_repeat), PG_OK);
    assert_false(is_repeat);
    other.unit = 1;
    assert_int_equal(insert(&other, soon(), &is_repeat), PG_OK);
    assert_true(is_repeat);
    assert_int_equal(count_orders(), 1);
    assert_string_equal(ask("SELECT unit FROM orders"), "788");
}

/* Another request recorded one of them since its unit was sold. */
static void test_of_new_orders_the_recorded_ones_stay_as_they_were(void *arg) {
    struct order next = bamboo, changed = bamboo;
    struct order_insert first = {.order = &changed, .is_new = true},
                        second = {.order = &next, .is_new = true};
    struct order_insert *const alone[] = {&second}, *const all[] = {&first, &second};
    struct buffer text = {0};
    bool is_repeat;

    uuid_v7(next.order_id);
    next.unit = 5;
    (void)strcpy(next.instance, "in \"quotes\", {braces} and \\");
    changed.unit = 1;
    assert_int_equal(insert(&bamboo, soon(), &is_repeat), PG_OK);
    assert_int_equal(order_insert_all(fixture.pool, all, 2, soon(), &text, why), PG_OK);
    assert_true(first.is_repeat);
    assert_false(second.is_repeat);
    assert_string_equal(ask("SELECT string_agg(unit || instance, ' ' ORDER BY unit) FROM (SELECT "
                            "unit, inventory_instance AS instance FROM orders) o"),
                        "5in \"quotes\", {braces} and \\ 788inventory-1");
    uuid_v7(next.order_id);
    second.is_repeat = true;
    assert_int_equal(order_insert_all(fixture.pool, alone, 1, soon(), &text, why), PG_OK);
    assert_false(second.is_repeat);
    assert_int_equal(count_orders(), 3);
    buffer_free(&text);
}

static void test_an_order_is_found_as_it_was_recorded(void *arg) {
    struct order order;
    bool is_found = true, is_repeat;

    assert_int_equal(order_find(fixture.pool, bamboo.order_id, soon(), &order, &is_found, why),
                     PG_OK);
    assert_false(is_found);
    assert_int_equal(insert(&bamboo, soon(), &is_repeat), PG_OK);
    assert_int_equal(order_find(fixture.pool, bamboo.order_id, soon(), &order, &is_found, why),
                     PG_OK);
    assert_true(is_found);
    assert_string_equal(order.order_id, bamboo.order_id);
    assert_string_equal(order.product_id, bamboo.product_id);
    assert_int_equal(order.unit, 788);
    assert_int_equal(order.remaining, 787);
    assert_string_equal(order.price, "88888.88");
    assert_string_equal(order.instance, "inventory-1");
}

static void test_what_the_database_rejects_has_a_reason_and_no_effect(void *arg) {
    struct order order = bamboo;
    bool is_repeat, is_found;

    strcpy(order.price, "dear");
    assert_int_equal(insert(&order, soon(), &is_repeat), PG_REJECTED);
    assert_non_null(strstr(why, "dear"));
    assert_int_equal(order_find(fixture.pool, "x' OR true", soon(), &order, &is_found, why),
                     PG_REJECTED);
    assert_int_equal(count_orders(), 0);
}

static void test_what_is_too_late_is_not_sent(void *arg) {
    struct order order;
    bool is_repeat, is_found;

    assert_int_equal(insert(&bamboo, clock_now_ms() - 1, &is_repeat), PG_NOT_SENT);
    assert_true(why[0] != '\0');
    assert_int_equal(
        order_find(fixture.pool, bamboo.order_id, clock_now_ms() - 1, &order, &is_found, why),
        PG_NOT_SENT);
    assert_int_equal(count_orders(), 0);
}

static int settled;

static void on_settled(const char *order_id) {
    assert_int_not_equal(strcmp(order_id, bamboo.order_id), 0); /* that order was there */
    settled++;
}

static enum pg_status settle(const json_t *reservations) {
    char *text = json_dumps(reservations, JSON_COMPACT);
    enum pg_status status;

    assert_non_null(text);
    status = order_settle(fixture.pool, text, soon(), on_settled, why);
    free(text);
    return status;
}

static json_t *reservation_of(const struct order *order) {
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s}", "order_id", order->order_id, "product_id",
                     order->product_id, "unit", (json_int_t)1, "remaining", (json_int_t)0, "price",
                     order->price, "instance", order->instance);
}

/* A page of five reservations. The order of the last one was recorded before. */

static void test_a_page_adds_the_orders_that_are_missing(void *arg) {
    json_t *list = json_array();
    bool is_repeat;

    assert_int_equal(insert(&bamboo, soon(), &is_repeat), PG_OK);
    for (int number = 1; number <= 4; number++)
        assert_int_equal(json_array_append_new(list, reservation_json(number)), 0);
    assert_int_equal(json_array_append_new(list, reservation_of(&bamboo)), 0);
    settled = 0;
    assert_int_equal(settle(list), PG_OK);
    assert_int_equal(settled, 4);
    assert_int_equal(settle(list), PG_OK);
    assert_int_equal(settled, 4);
    json_decref(list);
    assert_int_equal(count_orders(), 5);
    assert_string_equal(ask("SELECT unit FROM orders WHERE product_id::text LIKE '8239%%'"), "788");
    assert_string_equal(ask("SELECT concat_ws(' ', product_id, unit, remaining, price,"
                            " inventory_instance) FROM orders WHERE unit = 2"),
                        "00000000-0000-7000-8000-000000000002 2 0 9.90 inventory-9");
}

static char *missing_of(const json_t *ids) {
    char *missing = NULL;

    assert_int_equal(order_find_missing(fixture.pool, ids, soon(), &missing, why), PG_OK);
    return missing;
}

/* Of ids that order-svc made, and of customers' own keys, one each is an order. */
static void test_ids_of_all_kinds_are_found_and_missed(void *arg) {
    static const char *const sought[] = {
        "ffb0b2a8-7f00-4000-8000-000000000003", "0190b2a8-7f00-7000-8000-000000000001",
        "0190b2a8-7f00-7000-8000-000000000002", "00b0b2a8-7f00-4000-8000-000000000004"};
    struct order own = bamboo;
    json_t *ids = json_pack("[s,s,s,s]", sought[0], sought[1], sought[2], sought[3]);
    bool is_repeat;
    char *missing;

    (void)strcpy(own.order_id, sought[0]);
    assert_int_equal(insert(&bamboo, soon(), &is_repeat), PG_OK);
    assert_int_equal(insert(&own, soon(), &is_repeat), PG_OK);
    missing = missing_of(ids);
    assert_null(strstr(missing, sought[0]));
    assert_null(strstr(missing, sought[1]));
    assert_non_null(strstr(missing, sought[2]));
    assert_non_null(strstr(missing, sought[3]));
    free(missing);
    assert_int_equal(json_array_remove(ids, 2), 0);
    assert_int_equal(json_array_remove(ids, 2), 0);
    assert_null(missing_of(ids));
    assert_int_equal(json_array_append_new(ids, json_string("x")), 0);
    assert_int_equal(order_find_missing(fixture.pool, ids, soon(), &missing, why), PG_NOT_SENT);
    assert_non_null(strstr(why, "UUID"));
    json_decref(ids);
}

static void test_a_page_that_is_no_page_is_rejected(void *arg) {
    assert_int_equal(order_settle(fixture.pool, "[{\"order_id\":\"x\"}]", soon(), on_settled, why),
                     PG_REJECTED);
    assert_true(why[0] != '\0');
    assert_int_equal(order_settle(fixture.pool,
                                  "[{\"order_id\":\"0190b2a8-7f00-7000-8000-"
                                  "000000000009\"}]",
                                  soon(), on_settled, why),
                     PG_REJECTED);
    assert_int_equal(count_orders(), 0);
}

static void test_the_cursor_is_empty_at_first_and_then_the_written_one(void *arg) {
    struct settlement at = {.cursor = "x"};

    assert_int_equal(settlement_read(fixture.pool, soon(), &at, why), PG_OK);
    assert_string_equal(at.cursor, "");
    assert_true(llabs(at.since_ms - clock_wall_us() / 1000) < 3600000);
    assert_int_equal(settlement_write(fixture.pool, "5.x y", soon(), why), PG_OK);
    assert_int_equal(settlement_read(fixture.pool, soon(), &at, why), PG_OK);
    assert_string_equal(at.cursor, "5.x y");
}

static void test_a_cursor_that_was_deleted_is_an_error(void *arg) {
    struct settlement at;

    run_sql("DELETE FROM settlement");
    assert_int_equal(settlement_read(fixture.pool, soon(), &at, why), PG_REJECTED);
    assert_non_null(strstr(why, "settlement"));
}

static void test_without_its_table_settling_fails_with_a_reason(void *arg) {
    struct settlement at;

    run_sql("DROP TABLE settlement");
    assert_int_equal(settlement_read(fixture.pool, soon(), &at, why), PG_REJECTED);
    assert_int_equal(settlement_write(fixture.pool, "1", soon(), why), PG_REJECTED);
    assert_non_null(strstr(why, "settlement"));
}

/* Returns "" when it would let an order be recorded. */
static void expect_ready(const char *reason) {
    why[0] = '\0';
    assert_int_equal(order_can_insert(fixture.pool, soon(), why), reason[0] == '\0');
    assert_string_equal(why, reason);
}

static void test_readiness_tells_why_no_order_can_be_recorded(void *arg) {
    expect_ready("");
    run_sql("ALTER TABLE orders RENAME TO gone");
    expect_ready("lacks a table");
    run_sql("ALTER TABLE gone RENAME TO orders");
    expect_ready("");
    run_sql("ALTER TABLE orders RENAME unit TO gone");
    expect_ready("lacks a column of a table");
    run_sql("ALTER TABLE orders RENAME gone TO unit");
    expect_ready("");
    assert_int_equal(count_orders(), 0);
}

static void test_the_schema_may_be_applied_again(void *arg) {
    run_sql("UPDATE settlement SET cursor = '5'");
    pg_schema_apply(&schema, "sql/orders.sql");
    assert_string_equal(ask("SELECT cursor FROM settlement"), "5");
}

struct test {
    fiber_fn run;
};

static void test_in_fiber(void **state) {
    const struct test *test = *state;

    why[0] = '\0';
    in_fiber(test->run, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                                                 \
    {                                                                                              \
#name, test_in_fiber, set_up_database, tear_down_database, &(struct test) {                \
            name                                                                                   \
        }                                                                                          \
    }
        TEST(test_an_order_is_recorded_once_and_stays_as_it_was),
        TEST(test_of_new_orders_the_recorded_ones_stay_as_they_were),
        TEST(test_an_order_is_found_as_it_was_recorded),
        TEST(test_what_the_database_rejects_has_a_reason_and_no_effect),
        TEST(test_what_is_too_late_is_not_sent),
        TEST(test_a_page_adds_the_orders_that_are_missing),
        TEST(test_ids_of_all_kinds_are_found_and_missed),
        TEST(test_a_page_that_is_no_page_is_rejected),
        TEST(test_the_cursor_is_empty_at_first_and_then_the_written_one),
        TEST(test_a_cursor_that_was_deleted_is_an_error),
        TEST(test_without_its_table_settling_fails_with_a_reason),
        TEST(test_readiness_tells_why_no_order_can_be_recorded),
        TEST(test_the_schema_may_be_applied_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
