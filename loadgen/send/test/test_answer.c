/* Replies are read as a JSON parser reads them, the quick scan or not. */
#include "answer.h"
#include "test.h"

#include "json_read.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

static const char usual[] = "{\"order_id\":\"0190a5b0-0000-7000-8000-000000000000\",\"unit\":17,"
                            "\"remaining\": 3, \"price\":\"88888.88\",\"instance\":\"inv-1\"}\n";

static void read_text(const char *text, struct answer_reply *reply) {
    answer_read(text, strlen(text), reply);
}

static void test_the_usual_reply_is_read(void **state) {
    struct answer_reply reply;

    read_text(usual, &reply);
    assert_int_equal(reply.unit, 17);
    assert_string_equal(reply.order_id, "0190a5b0-0000-7000-8000-000000000000");
    assert_string_equal(reply.instance, "inv-1");
}

static void test_other_json_is_read_too(void **state) {
    struct answer_reply reply;

    read_text(
        "{\"a\": {\"unit\": 1}, \"instance\": \"\\u0061\\\"\", \"unit\": -5, \"b\": [1.5, null]}",
        &reply);
    assert_int_equal(reply.unit, -5);
    assert_string_equal(reply.instance, "a\"");
    assert_string_equal(reply.order_id, "");
    read_text("{\"unit\": 9223372036854775807}", &reply);
    assert_int_equal(reply.unit, INT64_MAX);
}

static void test_what_is_of_another_type_is_not_said(void **state) {
    static const char *const texts[] = {"",
                                        "{}",
                                        "[]",
                                        "{",
                                        "{\"unit\":1",
                                        "{\"unit\":\"1\",\"order_id\":2,\"instance\":3}",
                                        "{\"unit\":1.0}",
                                        "{\"unit\":01}",
                                        "{\"unit\":1}x",
                                        "{\"unit\":1,}",
                                        "{\"unit\":9223372036854775808}",
                                        "{\"unit\":- 1}",
                                        "{\"instance\":\"\xff\"}",
                                        "{\"instance\":null,\"order_id\":true}"};
    struct answer_reply reply;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_text(texts[i], &reply);
        assert_int_equal(reply.unit, -1);
        assert_string_equal(reply.order_id, "");
        assert_string_equal(reply.instance, "");
    }
}

static void test_long_text_is_cut(void **state) {
    struct answer_reply reply;
    char text[200] = "{\"instance\":\"";

    memset(text + strlen(text), 'x', 100);
    strcat(text, "\"}");
    read_text(text, &reply);
    assert_int_equal(strlen(reply.instance), ANSWER_TEXT - 1);
}

/* Returns whether it is JSON. */
static bool assert_as_parsed(const char *text, size_t length, const struct answer_reply *reply) {
    json_t *object = json_read(text, length, NULL);
    const bool is_json = object != NULL;
    const json_t *unit = json_object_get(object, "unit");
    const char *order_id = json_string_value(json_object_get(object, "order_id"));
    const char *instance = json_string_value(json_object_get(object, "instance"));

    assert_int_equal(reply->unit, json_is_integer(unit) ? json_integer_value(unit) : -1);
    assert_string_equal(reply->order_id, order_id != NULL ? order_id : "");
    assert_string_equal(reply->instance, instance != NULL ? instance : "");
    json_decref(object);
    return is_json;
}

/* Bytes of the usual reply, put in place of others at random: what the scan takes, jansson takes,
 * and as the same. */
static void test_any_text_is_read_as_a_parser_does(void **state) {
    static const char bytes[] = "{}\":,0129.-eE \n\\u[]truefalsnui\x01\x7f\x80 d_";
    uint64_t random = 1;
    size_t taken = 0;

    for (int round = 0; round < 100000; round++) {
        char text[sizeof usual];
        struct answer_reply reply;

        memcpy(text, usual, sizeof usual);
        for (int change = 0; change <= round % 4; change++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            text[(random >> 33) % (sizeof usual - 1)] = bytes[(random >> 20) % (sizeof bytes - 1)];
        }
        answer_read(text, sizeof usual - 1, &reply);
        taken += assert_as_parsed(text, sizeof usual - 1, &reply);
    }
    assert_true(taken > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_usual_reply_is_read),
        cmocka_unit_test(test_other_json_is_read_too),
        cmocka_unit_test(test_what_is_of_another_type_is_not_said),
        cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_any_text_is_read_as_a_parser_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
