/* The ledger from outside: listed, confirmed and cancelled by who knows the secret. */
#include "front.h"

#include <inttypes.h>

static void test_the_ledger_goes_on_where_the_cursor_says(void **state) {
    const char *id;
    const char *order;
    char next[100];

    run_sql("DELETE FROM reservation");
    id = make_product("atomic", 3);
    for (int i = 0; i < 3; i++) {
        order = new_id();
        assert_int_equal(reserve(id, order), 201);
    }
    assert_int_equal(get("GET", "/reservations?since_ms=0&older_than_ms=0&limit=2", "", ""), 200);
    assert_int_equal(json_array_size(json_object_get(reply.json, "order_ids")), 2);
    (void)snprintf(next, sizeof next, "%s", text_of("next"));
    assert_int_equal(get("GET", "/reservations?older_than_ms=0&after=", next, ""), 200);
    assert_int_equal(json_array_size(json_object_get(reply.json, "order_ids")), 1);
    (void)snprintf(next, sizeof next, "%s", text_of("next"));
    assert_int_equal(get("GET", "/reservations?older_than_ms=0&after=", next, ""), 200);
    assert_int_equal(json_array_size(json_object_get(reply.json, "order_ids")), 0);
    assert_string_equal(text_of("next"), next);
}

static size_t listed(const char *rest, const char *after) {
    assert_int_equal(get("GET", "/reservations?", rest, after), 200);
    return json_array_size(json_object_get(reply.json, "order_ids"));
}

/* A commit that was slow, or a clock that was set back. */
static void test_an_overlap_shows_what_came_behind_the_cursor(void **state) {
    const char *id;
    const char *order;
    const int64_t now_us = clock_wall_us();
    char now[100], ahead[100];

    run_sql("DELETE FROM reservation");
    id = make_product("atomic", 3);
    order = new_id();
    assert_int_equal(reserve(id, order), 201);
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

static int confirm(const char *body) {
    return call("POST", "/reservations/confirmations", SECRET, body);
}

static void test_what_is_confirmed_is_not_cancelled(void **state) {
    char orders[3][UUID_TEXT], body[200];
    const char *id = make_product("atomic", 3);

    for (int i = 0; i < 3; i++) {
        uuid_v7(orders[i]);
        assert_int_equal(reserve(id, orders[i]), 201);
    }
    assert_int_equal(get("DELETE", "/reservations/", orders[0], ""), 204);
    (void)snprintf(body, sizeof body, "{\"order_ids\":[\"%s\",\"%s\"]}", orders[0], orders[1]);
    assert_int_equal(confirm(body), 200);
    assert_int_equal(json_array_size(json_object_get(reply.json, "reservations")), 1);
    assert_non_null(strstr(reply.text, orders[1]));
    expect_error(get("DELETE", "/reservations/", orders[1], ""), 404, "unknown_reservation");
    assert_int_equal(get("DELETE", "/reservations/", orders[2], ""), 204);
    assert_int_equal(sold(id), 1);
}

/* Whoever repeats is answered with the unit, so it is not to be taken back. */
static void test_a_repeat_confirms_the_reservation(void **state) {
    const char *id = make_product("atomic", 3);
    const char *order = new_id();

    assert_int_equal(reserve(id, order), 201);
    assert_int_equal(reserve(id, order), 200);
    assert_int_equal(get("DELETE", "/reservations/", order, ""), 404);
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

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_error(confirm(bad[i]), 400, "bad_request");
}

/* All that takes units back or tells of all orders, with these headers. */
static void expect_refusals(const char *headers, int status, const char *code) {
    static const char *const guarded[][2] = {
        {"DELETE", "/reservations/82391173-9dbc-49b6-821b-746a11dbbe5e"},
        {"POST", "/reservations/confirmations"},
        {"GET", "/reservations?since_ms=0"},
    };

    for (size_t i = 0; i < sizeof guarded / sizeof *guarded; i++) {
        expect_error(call(guarded[i][0], guarded[i][1], headers, NULL), status, code);
        assert_null(strstr(reply.text, "hush"));
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

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_error(get("GET", "/reservations", bad[i], ""), 400, "bad_request");
}

/* Redis sold it, and the ledger does not have it yet. */
static void test_what_is_pending_can_be_cancelled_at_once(void **state) {
    const char *id = make_product("prewarm", 3);
    const char *order = new_id();

    assert_int_equal(reserve(id, order), 201);
    assert_int_equal(get("DELETE", "/reservations/", order, ""), 204);
    assert_int_equal(sold(id), 0);
    expect_error(get("DELETE", "/reservations/", order, ""), 404, "unknown_reservation");
    assert_int_equal(get("GET", "/products/", id, ""), 200);
    assert_int_equal(integer_of("available"), 2);
    assert_int_equal(integer_of("returned"), 1);
    assert_int_equal(integer_of("pending"), 0);
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
