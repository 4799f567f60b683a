/* The HTTP interface from outside: each path, each status, the form of each reply. */
#include "front.h"

#include "strategies.h"

#include <inttypes.h>

#define MANY 40

static void test_a_reservation_is_made_repeated_and_cancelled(void **state) {
    char first[sizeof reply.text];
    const char *id = make_product("redis", 5);
    const char *order = new_id();

    assert_int_equal(reserve(id, order), 201);
    assert_string_equal(text_of("order_id"), order);
    assert_string_equal(text_of("product_id"), id);
    assert_string_equal(text_of("price"), "9.90");
    assert_string_equal(text_of("instance"), "inventory-test");
    assert_int_equal(integer_of("unit"), 5);
    assert_int_equal(integer_of("shard"), 0);
    assert_int_equal(integer_of("remaining"), 4);
    assert_true(integer_of("fence") > 0);
    memcpy(first, reply.text, sizeof first);
    assert_int_equal(reserve(id, order), 200);
    assert_string_equal(reply.text, first);
    order = new_id();
    assert_int_equal(reserve(id, order), 201);
    assert_int_equal(get("DELETE", "/reservations/", order, ""), 204);
    assert_string_equal(reply.text, "");
    assert_int_equal(get("DELETE", "/reservations/", order, ""), 404);
    assert_string_equal(text_of("error"), "unknown_reservation");
}

static void test_what_is_wrong_is_told(void **state) {
    const char *id = make_product("atomic", 5);
    const char *empty = make_product("atomic", 0);
    const char *bad = make_product("best", 5);
    const char *order = new_id();

    expect_error(reserve(order, order), 404, "unknown_product");
    expect_error(reserve(empty, order), 409, "sold_out");
    expect_error(reserve(bad, order), 422, "bad_strategy");
    expect_error(reserve("82391173", order), 400, "bad_request");
    expect_error(reserve(id, "82391173"), 400, "bad_request");
    expect_error(reserve_body(id, "{\"order_id\": 7}"), 400, "bad_request");
    expect_error(reserve_body(id, "{}"), 400, "bad_request");
    assert_int_equal(reserve(id, order), 201);
    expect_error(reserve(empty, order), 409, "sold_out"); /* not marked as a repeat */
    empty = make_product("atomic", 1);
    expect_error(reserve(empty, order), 422, "key_reused");
    expect_error(get("DELETE", "/reservations/", "82391173", ""), 400, "bad_request");
    expect_error(get("GET", "/products/", "82391173", ""), 400, "bad_request");
    expect_error(get("GET", "/products/", bad, ""), 422, "bad_strategy");
    order = new_id();
    expect_error(get("GET", "/products/", order, ""), 404, "unknown_product");
}

static void test_busy_unknown_and_failed_have_their_status(void **state) {
    const char *id, *order = new_id();

    id = make_product("redis,ttl=1s,wait=0,fail=after-write:error@1", 5);
    expect_error(reserve(id, order), 504, "unknown");
    order = new_id();
    expect_error(reserve(id, order), 503, "busy");
    id = make_product("atomic,fail=before-write:error", 5);
    expect_error(reserve(id, order), 500, "failed");
}

static void test_a_product_tells_its_units_left(void **state) {
    const char *id = make_product("sharded,shards=4", 10);
    const char *order = new_id();

    assert_int_equal(reserve(id, order), 201);
    assert_int_equal(get("DELETE", "/reservations/", order, ""), 204);
    assert_int_equal(get("GET", "/products/", id, ""), 200);
    assert_string_equal(text_of("product_id"), id);
    assert_string_equal(text_of("name"), "bamboo");
    assert_string_equal(text_of("strategy"), "sharded,shards=4");
    assert_int_equal(integer_of("initial_stock"), 10);
    assert_int_equal(integer_of("available"), 9);
    assert_int_equal(integer_of("returned"), 1);
    assert_int_equal(integer_of("shards"), 4);
}

static void expect_holder(const char *product_id, const char *holder) {
    assert_int_equal(get("GET", "/products/", product_id, ""), 200);
    assert_string_equal(text_of("holder"), holder);
    assert_int_equal(json_is_null(json_object_get(reply.json, "holder")), holder[0] == '\0');
}

static void test_a_product_names_the_holder_of_its_lock(void **state) {
    struct buyer buyer;
    const char *id = make_product("redis,ttl=60s,fail=before-unlock:error@2", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    expect_holder(id, "");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD); /* its lease is left to run out */
    expect_holder(id, "inventory-test");
    id = make_product("mutex,work=20ms", 5);
    begin(&buyer, id, NULL);
    expect_holder(id, "");
    finish(&buyer, 1);
}

static void test_without_redis_a_product_has_no_holder(void **state) {
    lk_client *usual;
    const char *id = make_product("redis", 5);

    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    usual = lose_redis();
    expect_holder(id, "");
    regain_redis(usual);
}

static void expect_timing(const char *part, bool is_there) {
    if ((strstr(reply.timing, part) != NULL) != is_there)
        fail_msg("%s in \"%s\"", part, reply.timing);
}

static void test_a_reply_tells_its_cost_sold_or_not(void **state) {
    const char *id = make_product("mutex", 1);
    const char *order = new_id();

    assert_int_equal(reserve(id, order), 201);
    expect_timing("wait;dur=", true);
    expect_timing(", pg;desc=\"2\", lock;desc=\"local\", shard;desc=\"0\"", true);
    order = new_id();
    expect_error(reserve(id, order), 409, "sold_out");
    expect_timing(", pg;desc=\"2\", lock;desc=\"local\"", true);
    expect_timing("shard", false);
    assert_int_equal(get("GET", "/inventory/minusInventory?inventoryId=", id, ""), 409);
    expect_timing("pg;desc=", true);
    expect_error(reserve("x", order), 400, "bad_request");
    assert_string_equal(reply.timing, "");
}

static void test_strategies_are_listed_in_the_order_of_the_ladder(void **state) {
    json_t *list;

    assert_int_equal(get("GET", "/strategies", "", ""), 200);
    list = json_object_get(reply.json, "strategies");
    for (size_t i = 0; strategies[i] != NULL; i++) {
        json_t *item = json_array_get(list, i);

        assert_string_equal(json_string_value(json_object_get(item, "name")), strategies[i]->name);
        assert_true(json_array_size(json_object_get(item, "options")) >= 4);
        assert_true(json_is_string(json_object_get(item, "breaks")));
    }
}

static void test_the_path_of_the_article_answers_in_its_words(void **state) {
    static const char path[] = "/inventory/minusInventory?inventoryId=";
    const char *id = make_product("atomic", 2);

    assert_int_equal(get("GET", path, id, ""), 200);
    assert_string_equal(reply.text, "端口：8001,库存扣减成功！！！");
    assert_int_equal(get("POST", path, id, ""), 200);
    assert_int_equal(get("GET", path, id, ""), 409);
    assert_string_equal(reply.text, "库存不足，请联系卖家....");
    assert_int_equal(get("GET", path, "x", ""), 400);
    assert_string_equal(reply.text, "端口：8001,库存扣减失败！！！");
    id = make_product("redis,ttl=1s,wait=0,fail=before-unlock:error@1", 5);
    assert_int_equal(get("GET", path, id, ""), 200);
    assert_int_equal(get("GET", path, id, ""), 503);
    assert_string_equal(reply.text, "服务器繁忙...请稍后重试！！！");
    assert_int_equal(sold(id), 1);
}

static void test_a_dropped_reply_cuts_the_connection(void **state) {
    const char *id = make_product("atomic,fail=after-write:drop-reply@1", 5);
    const char *order = new_id();

    assert_int_equal(reserve(id, order), 0);
    assert_int_equal(reserve(id, order), 200);
}

/* ---- POST /reservations: each order of a request is sold as if it were alone */

static char all_orders[64 * 1024]; /* the body */

static void begin_body(void) {
    strcpy(all_orders, "{\"orders\":[");
}

static void add(const char *order_id, const char *product_id, const char *rest) {
    size_t used = strlen(all_orders);

    (void)snprintf(all_orders + used, sizeof all_orders - used,
                   "%s{\"order_id\":\"%s\",\"product_id\":\"%s\"%s}",
                   all_orders[used - 1] == '[' ? "" : ",", order_id, product_id, rest);
}

static int post(const char *text) {
    return call("POST", "/reservations", JSON_BODY, text);
}

static int reserve_all(void) {
    strcat(all_orders, "]}");
    return post(all_orders);
}

/* The line of an order, a new reference, and its place, from 0. NULL: the order has no line. */
static json_t *line_of(const char *order_id, int *place) {
    const char *at = reply.text, *end;

    for (*place = 0; (end = strchr(at, '\n')) != NULL; at = end + 1, ++*place) {
        json_t *line = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);

        assert_non_null(line);
        if (strcmp(json_string_value(json_object_get(line, "order_id")), order_id) == 0)
            return line;
        json_decref(line);
    }
    assert_string_equal(at, ""); /* a text without an end is not a line */
    return NULL;
}

/* Returns the place of the order's line, which must have this status and, unless NULL, this code.
 */
static int expect_line(const char *order_id, int status, const char *code) {
    int place;
    json_t *line = line_of(order_id, &place);

    assert_non_null(line);
    assert_int_equal(json_integer_value(json_object_get(line, "status")), status);
    assert_true(json_is_string(json_object_get(line, "timing")));
    if (code != NULL)
        assert_string_equal(json_string_value(json_object_get(line, "error")), code);
    else
        assert_string_equal(json_string_value(json_object_get(line, "price")), "9.90");
    json_decref(line);
    return place;
}

static void test_each_order_has_the_answer_that_it_would_have_alone(void **state) {
    char order[6][UUID_TEXT];
    const char *id = make_product("atomic", 5);
    const char *empty = make_product("atomic", 0);
    const char *bad = make_product("best", 5);
    const char *nobody = new_id();

    for (int i = 0; i < 6; i++)
        uuid_v7(order[i]);
    assert_int_equal(reserve(id, order[0]), 201);
    begin_body();
    add(order[0], id, ",\"is_repeat\":true");
    add(order[1], id, "");
    add(order[2], empty, "");
    add(order[3], bad, ",\"is_repeat\":false");
    add(order[4], nobody, "");
    assert_int_equal(reserve_all(), 200);
    (void)expect_line(order[0], 200, NULL);
    (void)expect_line(order[1], 201, NULL);
    (void)expect_line(order[2], 409, "sold_out");
    (void)expect_line(order[3], 422, "bad_strategy");
    (void)expect_line(order[4], 404, "unknown_product");
    assert_int_equal(sold(id), 2);
}

static void test_a_sold_line_has_all_of_the_single_answer(void **state) {
    json_t *line, *alone;
    const char *key;
    json_t *value;
    int place;
    const char *id = make_product("redis", 5);
    const char *order = new_id();

    begin_body();
    add(order, id, "");
    assert_int_equal(reserve_all(), 200);
    line = line_of(order, &place);
    assert_int_equal(reserve(id, order), 200);
    alone = json_incref(web.json);
    assert_true(json_object_size(alone) > 5);
    json_object_foreach (alone, key, value)
        assert_true(json_equal(value, json_object_get(line, key)));
    json_decref(alone);
    json_decref(line);
}

static void test_many_orders_get_a_unit_each(void **state) {
    char order[MANY][UUID_TEXT];
    const char *id = make_product("atomic", MANY);

    begin_body();
    for (int i = 0; i < MANY; i++) {
        uuid_v7(order[i]);
        add(order[i], id, "");
    }
    assert_int_equal(reserve_all(), 200);
    for (int i = 0; i < MANY; i++)
        (void)expect_line(order[i], 201, NULL);
    assert_int_equal(sold(id), MANY);
}

static void test_a_slow_sale_is_the_last_to_be_told(void **state) {
    char order[2][UUID_TEXT];
    const char *slow = make_product("atomic,work=500ms", 5);
    const char *fast = make_product("atomic", 5);

    uuid_v7(order[0]);
    uuid_v7(order[1]);
    begin_body();
    add(order[0], slow, "");
    add(order[1], fast, "");
    assert_int_equal(reserve_all(), 200);
    assert_int_equal(expect_line(order[1], 201, NULL), 0);
    assert_int_equal(expect_line(order[0], 201, NULL), 1);
}

static void test_a_dropped_reply_is_a_line_that_is_missing(void **state) {
    char order[3][UUID_TEXT];
    int place, missing = 0;
    const char *id = make_product("atomic,fail=after-write:drop-reply@1", 5);

    begin_body();
    for (int i = 0; i < 3; i++) {
        uuid_v7(order[i]);
        add(order[i], id, "");
    }
    assert_int_equal(reserve_all(), 200);
    for (int i = 0; i < 3; i++) {
        json_t *line = line_of(order[i], &place);

        missing += line == NULL;
        json_decref(line);
    }
    assert_int_equal(missing, 1);
    assert_int_equal(sold(id), 3);
}

static void test_an_order_given_twice_is_sold_once(void **state) {
    const char *id = make_product("atomic", 5);
    const char *order = new_id();

    begin_body();
    add(order, id, ",\"is_repeat\":true");
    add(order, id, ",\"is_repeat\":true");
    assert_int_equal(reserve_all(), 200);
    assert_int_equal(sold(id), 1);
}

static void test_with_a_bad_entry_none_is_sold(void **state) {
    const char *id = make_product("atomic", 5);
    const char *order = new_id();

    begin_body();
    add(order, id, "");
    add("82391173", id, "");
    expect_error(reserve_all(), 400, "bad_request");
    assert_non_null(strstr(reply.text, "order 2 of 2"));
    begin_body();
    add(order, id, "");
    add(order, "82391173", "");
    expect_error(reserve_all(), 400, "bad_request");
    assert_int_equal(sold(id), 0);
    expect_error(post("{\"orders\":[7]}"), 400, "bad_request");
    expect_error(post("{\"orders\":[]}"), 400, "bad_request");
    expect_error(post("{\"orders\":{}}"), 400, "bad_request");
    expect_error(post("{}"), 400, "bad_request");
    expect_error(post("[]"), 400, "bad_request");
}

static void test_too_many_orders_are_refused(void **state) {
    const char *id = make_product("atomic", 5);

    begin_body();
    for (int i = 0; i < 257; i++)
        add(id, id, "");
    expect_error(reserve_all(), 413, "too_large");
    assert_int_equal(sold(id), 0);
}

/* ---- The ledger, which needs the secret: listed, confirmed and cancelled */

static void test_the_ledger_goes_on_where_the_cursor_says(void **state) {
    const char *id, *order;
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

/* The commit was slow, or a clock was set back. */
static void test_an_overlap_shows_rows_behind_the_cursor(void **state) {
    const char *id, *order;
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

/* The answer to a repeat names the unit, so nobody may take the unit back. */
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

/* Make all requests that take units back or tell of all orders, with these headers. */
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

/* Redis has sold it, and the ledger does not have it yet. */
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
#define WEB_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_web, tear_down_web)
        WEB_TEST(test_a_reservation_is_made_repeated_and_cancelled),
        WEB_TEST(test_what_is_wrong_is_told),
        WEB_TEST(test_busy_unknown_and_failed_have_their_status),
        WEB_TEST(test_a_product_tells_its_units_left),
        WEB_TEST(test_a_product_names_the_holder_of_its_lock),
        WEB_TEST(test_without_redis_a_product_has_no_holder),
        WEB_TEST(test_a_reply_tells_its_cost_sold_or_not),
        WEB_TEST(test_strategies_are_listed_in_the_order_of_the_ladder),
        WEB_TEST(test_the_path_of_the_article_answers_in_its_words),
        WEB_TEST(test_a_dropped_reply_cuts_the_connection),
        WEB_TEST(test_each_order_has_the_answer_that_it_would_have_alone),
        WEB_TEST(test_a_sold_line_has_all_of_the_single_answer),
        WEB_TEST(test_many_orders_get_a_unit_each),
        WEB_TEST(test_a_slow_sale_is_the_last_to_be_told),
        WEB_TEST(test_a_dropped_reply_is_a_line_that_is_missing),
        WEB_TEST(test_an_order_given_twice_is_sold_once),
        WEB_TEST(test_with_a_bad_entry_none_is_sold),
        WEB_TEST(test_too_many_orders_are_refused),
        WEB_TEST(test_the_ledger_goes_on_where_the_cursor_says),
        WEB_TEST(test_an_overlap_shows_rows_behind_the_cursor),
        WEB_TEST(test_what_is_confirmed_is_not_cancelled),
        WEB_TEST(test_a_repeat_confirms_the_reservation),
        WEB_TEST(test_what_cannot_be_confirmed_is_told),
        WEB_TEST(test_who_does_not_know_the_secret_is_refused),
        WEB_TEST(test_what_is_pending_can_be_cancelled_at_once),
        WEB_TEST(test_a_bad_question_to_the_ledger_is_told),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
