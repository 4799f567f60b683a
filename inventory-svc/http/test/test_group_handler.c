/* POST /reservations: each order of a request is sold as if it had come alone. */
#include "front.h"

#define MANY 40

static char body[64 * 1024];

static void begin_body(void) {
    strcpy(body, "{\"orders\":[");
}

static void add(const char *order_id, const char *product_id, const char *rest) {
    size_t used = strlen(body);

    (void)snprintf(body + used, sizeof body - used,
                   "%s{\"order_id\":\"%s\",\"product_id\":\"%s\"%s}",
                   body[used - 1] == '[' ? "" : ",", order_id, product_id, rest);
}

static int post(const char *text) {
    return call("POST", "/reservations", JSON_BODY, text);
}

static int reserve_all(void) {
    strcat(body, "]}");
    return post(body);
}

/* The line of an order, a new reference: NULL when it has none; and where it is, from 0. */
static json_t *line_of(const char *order_id, int *place) {
    const char *at = reply.text, *end;

    for (*place = 0; (end = strchr(at, '\n')) != NULL; at = end + 1, ++*place) {
        json_t *line = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);

        assert_non_null(line);
        if (strcmp(json_string_value(json_object_get(line, "order_id")), order_id) == 0)
            return line;
        json_decref(line);
    }
    assert_string_equal(at, ""); /* what has no end is no line */
    return NULL;
}

/* Returns the place of the order's line, which has this status and, unless NULL, code. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_web, tear_down_web)
        TEST(test_each_order_has_the_answer_that_it_would_have_alone),
        TEST(test_a_sold_line_has_all_of_the_single_answer),
        TEST(test_many_orders_get_a_unit_each),
        TEST(test_a_slow_sale_is_the_last_to_be_told),
        TEST(test_a_dropped_reply_is_a_line_that_is_missing),
        TEST(test_an_order_given_twice_is_sold_once),
        TEST(test_with_a_bad_entry_none_is_sold),
        TEST(test_too_many_orders_are_refused),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
