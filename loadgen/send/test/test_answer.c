/* The fast scan reads replies in the same way as a JSON parser. */
#include "answer.h"
#include "test.h"

#include "json_read.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

static const char usual[] = "{\"order_id\":\"0190a5b0-0000-7000-8000-000000000000\",\"unit\":17,"
                            "\"remaining\": 3, \"price\":\"88888.88\",\"instance\":\"inv-1\"}\n";

static struct recorder *recorder;

static int set_up(void **state) {
    recorder = recorder_make(200000);
    return recorder != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    recorder_free(recorder);
    return 0;
}

/* The record of a request with this answer. */
static const struct record *take(const char *text, size_t length) {
    struct record *record = recorder_begin(recorder, recorder->count, 0, NULL);
    struct http_call call = {.outcome = HTTP_CALL_ANSWERED,
                             .status = 201,
                             .reply = (char *)(uintptr_t)text,
                             .reply_length = length};

    recorder->instance_count = 0;
    answer_take(recorder, record, &call);
    return record;
}

/* A missing member is ""; a missing order id is the key. */
static void assert_said(const struct record *record, int64_t unit, const char *order_id,
                        const char *instance) {
    assert_int_equal(record->unit, unit);
    assert_string_equal(record_order_id(record),
                        order_id[0] != '\0' ? order_id : record_key(record));
    assert_string_equal(record->instance >= 0 ? recorder->instances[record->instance] : "",
                        instance);
}

static void assert_read(const char *text, int64_t unit, const char *order_id,
                        const char *instance) {
    assert_said(take(text, strlen(text)), unit, order_id, instance);
}

static void test_the_usual_reply_is_read_and_other_json_too(void **state) {
    assert_read(usual, 17, "0190a5b0-0000-7000-8000-000000000000", "inv-1");
    assert_read(
        "{\"a\": {\"unit\": 1}, \"instance\": \"\\u0061\\\"\", \"unit\": -5, \"b\": [1.5, null]}",
        -5, "", "a\"");
    assert_read("{\"unit\": 9223372036854775807}", INT64_MAX, "", "");
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

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_read(texts[i], -1, "", "");
}

static void test_long_text_is_cut(void **state) {
    char text[200] = "{\"instance\":\"", instance[RECORD_INSTANCE_TEXT] = "";

    memset(text + strlen(text), 'x', 100);
    memset(instance, 'x', sizeof instance - 1);
    strcat(text, "\"}");
    assert_read(text, -1, "", instance);
}

/* Returns whether it is JSON. */
static bool assert_as_parsed(const char *text, size_t length, const struct record *record) {
    json_t *object = json_read(text, length, NULL);
    const bool is_json = object != NULL;
    const json_t *unit = json_object_get(object, "unit");
    const char *order_id = json_string_value(json_object_get(object, "order_id"));
    const char *instance = json_string_value(json_object_get(object, "instance"));
    char uuid[UUID_TEXT];

    if (order_id == NULL || uuid_parse(order_id, uuid) != 0)
        uuid[0] = '\0';
    assert_said(record, json_is_integer(unit) ? json_integer_value(unit) : -1, uuid,
                instance != NULL ? instance : "");
    json_decref(object);
    return is_json;
}

/* Replaces bytes of the usual reply at random: if the scan accepts it, jansson accepts it, too, and
 * reads the same. */
static void test_any_text_is_read_as_a_parser_does(void **state) {
    static const char bytes[] = "{}\":,0129.-eE \n\\u[]truefalsnui\x01\x7f\x80 d_";
    uint64_t random = 1;
    size_t taken = 0;

    for (int round = 0; round < 100000; round++) {
        char text[sizeof usual];

        memcpy(text, usual, sizeof usual);
        for (int change = 0; change <= round % 4; change++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            text[(random >> 33) % (sizeof usual - 1)] = bytes[(random >> 20) % (sizeof bytes - 1)];
        }
        taken += assert_as_parsed(text, sizeof usual - 1, take(text, sizeof usual - 1));
    }
    assert_true(taken > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_usual_reply_is_read_and_other_json_too),
        cmocka_unit_test(test_what_is_of_another_type_is_not_said),
        cmocka_unit_test(test_long_text_is_cut),
        cmocka_unit_test(test_any_text_is_read_as_a_parser_does),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
