/* The HTTP interface from outside: each path, each status, each reply's shape. */
#include "front.h"
#include "strategies.h"

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
    expect_error(reserve(empty, order), 409, "sold_out"); /* not said to be a repeat */
    empty = make_product("atomic", 1);
    expect_error(reserve(empty, order), 422, "key_reused");
    expect_error(get("DELETE", "/reservations/", "82391173", ""), 400, "bad_request");
    expect_error(get("GET", "/products/", "82391173", ""), 400, "bad_request");
    expect_error(get("GET", "/products/", bad, ""), 422, "bad_strategy");
    order = new_id();
    expect_error(get("GET", "/products/", order, ""), 404, "unknown_product");
}

static void test_busy_unknown_and_failed_have_their_status(void **state) {
    const char *id;
    const char *order = new_id();

    id = make_product("redis,ttl=1s,wait=0,fail=after-write:error@1", 5);
    expect_error(reserve(id, order), 504, "unknown");
    order = new_id();
    expect_error(reserve(id, order), 503, "busy");
    id = make_product("atomic,fail=before-write:error", 5);
    expect_error(reserve(id, order), 500, "failed");
}

static void test_a_product_says_what_is_left(void **state) {
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

static void test_a_product_says_who_holds_its_lock(void **state) {
    struct buyer buyer;
    const char *id = make_product("redis,ttl=60s,fail=before-unlock:error@2", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    expect_holder(id, "");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD); /* and its lease is left to run out */
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

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_web, tear_down_web)
        TEST(test_a_reservation_is_made_repeated_and_cancelled),
        TEST(test_what_is_wrong_is_told),
        TEST(test_busy_unknown_and_failed_have_their_status),
        TEST(test_a_product_says_what_is_left),
        TEST(test_a_product_says_who_holds_its_lock),
        TEST(test_without_redis_a_product_has_no_holder),
        TEST(test_a_reply_tells_its_cost_sold_or_not),
        TEST(test_strategies_are_listed_in_the_order_of_the_ladder),
        TEST(test_the_path_of_the_article_answers_in_its_words),
        TEST(test_a_dropped_reply_cuts_the_connection),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
