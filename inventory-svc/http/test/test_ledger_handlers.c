/* The ledger from outside: listed, confirmed and cancelled by who knows the secret. */
#include "front.h"

#include <inttypes.h>

static void test_the_ledger_goes_on_where_the_cursor_says(void **state) {
    struct web_call e;
    char id[UUID_TEXT], order[UUID_TEXT], next[100];

    run_sql("DELETE FROM reservation");
    make_product(id, "atomic", 3);
    for (int i = 0; i < 3; i++) {
        uuid_v7(order);
        assert_int_equal(reserve(&e, id, order), 201);
    }
    assert_int_equal(get(&e, "GET", "/reservations?since_ms=0&older_than_ms=0&limit=2", "", ""),
                     200);
    assert_int_equal(json_array_size(json_object_get(e.json, "order_ids")), 2);
    (void)snprintf(next, sizeof next, "%s", text_of(&e, "next"));
    assert_int_equal(get(&e, "GET", "/reservations?older_than_ms=0&after=", next, ""), 200);
    assert_int_equal(json_array_size(json_object_get(e.json, "order_ids")), 1);
    (void)snprintf(next, sizeof next, "%s", text_of(&e, "next"));
    assert_int_equal(get(&e, "GET", "/reservations?older_than_ms=0&after=", next, ""), 200);
    assert_int_equal(json_array_size(json_object_get(e.json, "order_ids")), 0);
    assert_string_equal(text_of(&e, "next"), next);
}

static size_t listed(const char *rest, const char *after) {
    struct web_call e;

    assert_int_equal(get(&e, "GET", "/reservations?", rest, after), 200);
    return json_array_size(json_object_get(e.json, "order_ids"));
}

/* A commit that was slow, or a clock that was set back. */
static void test_an_overlap_shows_what_came_behind_the_cursor(void **state) {
    char id[UUID_TEXT], order[UUID_TEXT];
    const int64_t now_us = clock_wall_us();
    char now[100], ahead[100];
    struct web_call e;

    run_sql("DELETE FROM reservation");
    make_product(id, "atomic", 3);
    uuid_v7(order);
    assert_int_equal(reserve(&e, id, order), 201);
    run_sql("UPDATE reservation SET reserved_at = clock_timestamp() - interval '30 seconds'");
    (void)snprintf(now, sizeof now, "%" PRId64 ".%s", now_us - 20 * 1000000, order);
    (void)snprintf(ahead, sizeof ahead, "%" PRId64 ".%s", now_us + 3600 * INT64_C(1000000), order);
    assert_int_equal(listed("older_than_ms=5000&after=", now), 0);
    assert_int_equal(listed("older_than_ms=5000&overlap_ms=60000&after=", now), 1);
    assert_int_equal(listed("older_than_ms=5000&overlap_ms=60000&after=", ahead), 1);
    assert_int_equal(listed("older_than_ms=29000&after=", ahead), 0);
    run_sql("UPDATE reservation SET reserved_at = clock_timestamp()");
    assert_int_equal(listed("older_than_ms=0&overlap_ms=60000&after=", ahead), 1);
}

static int confirm(struct web_call *exchange, const char *body) {
    *exchange = (struct web_call){
        .method = "POST", .target = "/reservations/confirmations", .headers = SECRET, .body = body};
    return web_call(&web, exchange);
}

static void test_what_is_confirmed_is_not_cancelled(void **state) {
    struct web_call e;
    char id[UUID_TEXT], orders[3][UUID_TEXT], body[200];

    make_product(id, "atomic", 3);
    for (int i = 0; i < 3; i++) {
        uuid_v7(orders[i]);
        assert_int_equal(reserve(&e, id, orders[i]), 201);
    }
    assert_int_equal(get(&e, "DELETE", "/reservations/", orders[0], ""), 204);
    (void)snprintf(body, sizeof body, "{\"order_ids\":[\"%s\",\"%s\"]}", orders[0], orders[1]);
    assert_int_equal(confirm(&e, body), 200);
    assert_int_equal(json_array_size(json_object_get(e.json, "reservations")), 1);
    assert_non_null(strstr(e.text, orders[1]));
    expect_error(&e, get(&e, "DELETE", "/reservations/", orders[1], ""), 404,
                 "unknown_reservation");
    assert_int_equal(get(&e, "DELETE", "/reservations/", orders[2], ""), 204);
    assert_int_equal(sold(id), 1);
}

/* Whoever repeats is answered with the unit, so it is not to be taken back. */
static void test_a_repeat_confirms_the_reservation(void **state) {
    struct web_call e;
    char id[UUID_TEXT], order[UUID_TEXT];

    make_product(id, "atomic", 3);
    uuid_v7(order);
    assert_int_equal(reserve(&e, id, order), 201);
    assert_int_equal(reserve(&e, id, order), 200);
    assert_int_equal(get(&e, "DELETE", "/reservations/", order, ""), 404);
    assert_int_equal(sold(id), 1);
}

static void test_what_cannot_be_confirmed_is_told(void **state) {
    static const char *const bad[] = {
        "{}",
        "{\"order_ids\": 1}",
        "{\"order_ids\": []}",
        "{\"order_ids\": [1]}",
        "{\"order_ids\": [\"82391173-9dbc-49b6-821b-746a11dbbe5e\", \"x\"]}",
    };
    struct web_call e;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_error(&e, confirm(&e, bad[i]), 400, "bad_request");
}

/* All that takes units back or tells of all orders, with these headers. */
static void expect_refusals(const char *headers, int status, const char *code) {
    static const char *const guarded[][2] = {
        {"DELETE", "/reservations/82391173-9dbc-49b6-821b-746a11dbbe5e"},
        {"POST", "/reservations/confirmations"},
        {"GET", "/reservations?since_ms=0"},
    };

    for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++) {
        struct web_call e = {.method = guarded[i][0], .target = guarded[i][1], .headers = headers};

        expect_error(&e, web_call(&web, &e), status, code);
        assert_null(strstr(e.text, "hush"));
    }
}

static void test_who_does_not_know_the_secret_is_refused(void **state) {
    static const char *const wrong[] = {
        NULL,
        "Authorization: Bearer \r\n",
        "Authorization: Bearer hus\r\n",
        "Authorization: Bearer hushhush\r\n",
        "Authorization: Bearer HUSH\r\n",
        "Authorization: Basic hush\r\n",
        "Authorization: hush\r\n",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refusals(wrong[i], 401, "unauthorized");
    instance.store.secret = "";
    expect_refusals("Authorization: Bearer \r\n", 403, "no_secret");
    expect_refusals(SECRET, 403, "no_secret");
}

static void test_a_bad_question_to_the_ledger_is_told(void **state) {
    static const char *const bad[] = {
        "",
        "?since_ms=x",
        "?since_ms=-1",
        "?since_ms=0&limit=0",
        "?since_ms=0&limit=1001",
        "?since_ms=0&older_than_ms=x",
        "?since_ms=0&overlap_ms=-1",
        "?after=5",
        "?after=x.82391173-9dbc-49b6-821b-746a11dbbe5e",
        "?after=5.82391173",
        "?after=99999999999999999999.82391173-9dbc-49b6-821b-746a11dbbe5e",
    };
    struct web_call e;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_error(&e, get(&e, "GET", "/reservations", bad[i], ""), 400, "bad_request");
}

/* Redis sold it, and the ledger does not have it yet. */
static void test_what_is_pending_can_be_cancelled_at_once(void **state) {
    struct web_call e;
    char id[UUID_TEXT], order[UUID_TEXT];

    make_product(id, "prewarm", 3);
    uuid_v7(order);
    assert_int_equal(reserve(&e, id, order), 201);
    assert_int_equal(get(&e, "DELETE", "/reservations/", order, ""), 204);
    assert_int_equal(sold(id), 0);
    expect_error(&e, get(&e, "DELETE", "/reservations/", order, ""), 404, "unknown_reservation");
    assert_int_equal(get(&e, "GET", "/products/", id, ""), 200);
    assert_int_equal(json_integer_value(json_object_get(e.json, "available")), 2);
    assert_int_equal(json_integer_value(json_object_get(e.json, "returned")), 1);
    assert_int_equal(json_integer_value(json_object_get(e.json, "pending")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_web, tear_down_web)
        TEST(test_the_ledger_goes_on_where_the_cursor_says),
        TEST(test_an_overlap_shows_what_came_behind_the_cursor),
        TEST(test_what_is_confirmed_is_not_cancelled),
        TEST(test_a_repeat_confirms_the_reservation),
        TEST(test_what_cannot_be_confirmed_is_told),
        TEST(test_who_does_not_know_the_secret_is_refused),
        TEST(test_what_is_pending_can_be_cancelled_at_once),
        TEST(test_a_bad_question_to_the_ledger_is_told),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
