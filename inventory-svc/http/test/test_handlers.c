/* The HTTP interface from outside: each path, each status, each reply's shape. */
#include "front.h"
#include "strategies.h"

static int64_t integer_of(const struct web_call *call, const char *key) {
    return json_integer_value(json_object_get(call->json, key));
}

static void test_a_reservation_is_made_repeated_and_cancelled(void **state) {
    struct web_call exchange;
    char id[UUID_TEXT], order[UUID_TEXT];
    char first[sizeof exchange.text];

    make_product(id, "redis", 5);
    uuid_v7(order);
    assert_int_equal(reserve(&exchange, id, order), 201);
    assert_string_equal(text_of(&exchange, "order_id"), order);
    assert_string_equal(text_of(&exchange, "product_id"), id);
    assert_string_equal(text_of(&exchange, "price"), "9.90");
    assert_string_equal(text_of(&exchange, "instance"), "inventory-test");
    assert_int_equal(integer_of(&exchange, "unit"), 5);
    assert_int_equal(integer_of(&exchange, "shard"), 0);
    assert_int_equal(integer_of(&exchange, "remaining"), 4);
    assert_true(integer_of(&exchange, "fence") > 0);
    memcpy(first, exchange.text, sizeof first);
    assert_int_equal(reserve(&exchange, id, order), 200);
    assert_string_equal(exchange.text, first);
    uuid_v7(order);
    assert_int_equal(reserve(&exchange, id, order), 201);
    assert_int_equal(get(&exchange, "DELETE", "/reservations/", order, ""), 204);
    assert_string_equal(exchange.text, "");
    assert_int_equal(get(&exchange, "DELETE", "/reservations/", order, ""), 404);
    assert_string_equal(text_of(&exchange, "error"), "unknown_reservation");
}

static void test_what_is_wrong_is_told(void **state) {
    struct web_call e;
    char id[UUID_TEXT], empty[UUID_TEXT], bad[UUID_TEXT], order[UUID_TEXT];

    make_product(id, "atomic", 5);
    make_product(empty, "atomic", 0);
    make_product(bad, "best", 5);
    uuid_v7(order);
    expect_error(&e, reserve(&e, order, order), 404, "unknown_product");
    expect_error(&e, reserve(&e, empty, order), 409, "sold_out");
    expect_error(&e, reserve(&e, bad, order), 422, "bad_strategy");
    expect_error(&e, reserve(&e, "82391173", order), 400, "bad_request");
    expect_error(&e, reserve(&e, id, "82391173"), 400, "bad_request");
    expect_error(&e, reserve_body(&e, id, "{\"order_id\": 7}"), 400, "bad_request");
    expect_error(&e, reserve_body(&e, id, "{}"), 400, "bad_request");
    assert_int_equal(reserve(&e, id, order), 201);
    expect_error(&e, reserve(&e, empty, order), 409, "sold_out"); /* not said to be a repeat */
    make_product(empty, "atomic", 1);
    expect_error(&e, reserve(&e, empty, order), 422, "key_reused");
    expect_error(&e, get(&e, "DELETE", "/reservations/", "82391173", ""), 400, "bad_request");
    expect_error(&e, get(&e, "GET", "/products/", "82391173", ""), 400, "bad_request");
    expect_error(&e, get(&e, "GET", "/products/", bad, ""), 422, "bad_strategy");
    uuid_v7(order);
    expect_error(&e, get(&e, "GET", "/products/", order, ""), 404, "unknown_product");
}

static void test_busy_unknown_and_failed_have_their_status(void **state) {
    struct web_call e;
    char id[UUID_TEXT], order[UUID_TEXT];

    uuid_v7(order);
    make_product(id, "redis,ttl=1s,wait=0,fail=after-write:error@1", 5);
    expect_error(&e, reserve(&e, id, order), 504, "unknown");
    uuid_v7(order);
    expect_error(&e, reserve(&e, id, order), 503, "busy");
    make_product(id, "atomic,fail=before-write:error", 5);
    expect_error(&e, reserve(&e, id, order), 500, "failed");
}

static void test_a_product_says_what_is_left(void **state) {
    struct web_call e;
    char id[UUID_TEXT], order[UUID_TEXT];

    make_product(id, "sharded,shards=4", 10);
    uuid_v7(order);
    assert_int_equal(reserve(&e, id, order), 201);
    assert_int_equal(get(&e, "DELETE", "/reservations/", order, ""), 204);
    assert_int_equal(get(&e, "GET", "/products/", id, ""), 200);
    assert_string_equal(text_of(&e, "product_id"), id);
    assert_string_equal(text_of(&e, "name"), "bamboo");
    assert_string_equal(text_of(&e, "strategy"), "sharded,shards=4");
    assert_int_equal(integer_of(&e, "initial_stock"), 10);
    assert_int_equal(integer_of(&e, "available"), 9);
    assert_int_equal(integer_of(&e, "returned"), 1);
    assert_int_equal(integer_of(&e, "shards"), 4);
}

static void expect_holder(const char *product_id, const char *holder) {
    struct web_call e;

    assert_int_equal(get(&e, "GET", "/products/", product_id, ""), 200);
    assert_string_equal(text_of(&e, "holder"), holder);
    assert_int_equal(json_is_null(json_object_get(e.json, "holder")), holder[0] == '\0');
}

static void test_a_product_says_who_holds_its_lock(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "redis,ttl=60s,fail=before-unlock:error@2", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    expect_holder(id, "");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD); /* and its lease is left to run out */
    expect_holder(id, "inventory-test");
    make_product(id, "mutex,work=20ms", 5);
    begin(&buyer, id, NULL);
    expect_holder(id, "");
    finish(&buyer, 1);
}

static void test_without_redis_a_product_has_no_holder(void **state) {
    lk_client *usual;
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "redis", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    usual = lose_redis();
    expect_holder(id, "");
    regain_redis(usual);
}

static void expect_timing(const struct web_call *exchange, const char *part, bool is_there) {
    if ((strstr(exchange->timing, part) != NULL) != is_there)
        fail_msg("%s in \"%s\"", part, exchange->timing);
}

static void test_a_reply_tells_its_cost_sold_or_not(void **state) {
    struct web_call e;
    char id[UUID_TEXT], order[UUID_TEXT];

    make_product(id, "mutex", 1);
    uuid_v7(order);
    assert_int_equal(reserve(&e, id, order), 201);
    expect_timing(&e, "wait;dur=", true);
    expect_timing(&e, ", pg;desc=\"2\", lock;desc=\"local\", shard;desc=\"0\"", true);
    uuid_v7(order);
    expect_error(&e, reserve(&e, id, order), 409, "sold_out");
    expect_timing(&e, ", pg;desc=\"2\", lock;desc=\"local\"", true);
    expect_timing(&e, "shard", false);
    assert_int_equal(get(&e, "GET", "/inventory/minusInventory?inventoryId=", id, ""), 409);
    expect_timing(&e, "pg;desc=", true);
    expect_error(&e, reserve(&e, "x", order), 400, "bad_request");
    assert_string_equal(e.timing, "");
}

static void test_strategies_are_listed_in_the_order_of_the_ladder(void **state) {
    struct web_call e;
    json_t *list;

    assert_int_equal(get(&e, "GET", "/strategies", "", ""), 200);
    list = json_object_get(e.json, "strategies");
    for (size_t i = 0; strategies[i] != NULL; i++) {
        json_t *item = json_array_get(list, i);

        assert_string_equal(json_string_value(json_object_get(item, "name")), strategies[i]->name);
        assert_true(json_array_size(json_object_get(item, "options")) >= 4);
        assert_true(json_is_string(json_object_get(item, "breaks")));
    }
}

static void test_the_path_of_the_article_answers_in_its_words(void **state) {
    static const char path[] = "/inventory/minusInventory?inventoryId=";
    struct web_call e;
    char id[UUID_TEXT];

    make_product(id, "atomic", 2);
    assert_int_equal(get(&e, "GET", path, id, ""), 200);
    assert_string_equal(e.text, "端口：8001,库存扣减成功！！！");
    assert_int_equal(get(&e, "POST", path, id, ""), 200);
    assert_int_equal(get(&e, "GET", path, id, ""), 409);
    assert_string_equal(e.text, "库存不足，请联系卖家....");
    assert_int_equal(get(&e, "GET", path, "x", ""), 400);
    assert_string_equal(e.text, "端口：8001,库存扣减失败！！！");
    make_product(id, "redis,ttl=1s,wait=0,fail=before-unlock:error@1", 5);
    assert_int_equal(get(&e, "GET", path, id, ""), 200);
    assert_int_equal(get(&e, "GET", path, id, ""), 503);
    assert_string_equal(e.text, "服务器繁忙...请稍后重试！！！");
    assert_int_equal(sold(id), 1);
}

static void test_a_dropped_reply_cuts_the_connection(void **state) {
    struct web_call e;
    char id[UUID_TEXT], order[UUID_TEXT];

    make_product(id, "atomic,fail=after-write:drop-reply@1", 5);
    uuid_v7(order);
    assert_int_equal(reserve(&e, id, order), 0);
    assert_int_equal(reserve(&e, id, order), 200);
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
