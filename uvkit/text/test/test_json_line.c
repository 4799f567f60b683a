/* A JSON object written into bounded memory. */
#include "json_line.h"
#include "test.h"

#include <jansson.h>

static void test_an_object_is_written(void **state) {
    static const char expected[] =
        "{\"a\":\"x\xc3\xa4\",\"b\":-9223372036854775808,\"c\":\"\",\"d\":\"\\\"\\\\/\\u000a\"}";
    char bytes[sizeof expected];
    struct json_line line = json_line_begin(bytes, sizeof bytes);

    json_line_text(&line, "a", "x\xc3\xa4");
    json_line_integer(&line, "b", INT64_MIN);
    json_line_text(&line, "c", "");
    json_line_text(&line, "d", "\"\\/\n");
    assert_int_equal(json_line_end(&line), sizeof expected - 1);
    assert_memory_equal(bytes, expected, sizeof expected - 1);
}

static void test_without_members(void **state) {
    char bytes[2];
    struct json_line line = json_line_begin(bytes, sizeof bytes);

    assert_int_equal(json_line_end(&line), 2);
    assert_memory_equal(bytes, "{}", 2);
}

/* In a block of exactly that size, so that sanitizers see each byte too many. */
static void test_what_does_not_fit_is_told(void **state) {
    const size_t needed = strlen("{\"a\":\"bc\",\"d\":5}");

    for (size_t size = 1; size <= needed + 1; size++) {
        char *bytes = malloc(size);
        struct json_line line;

        assert_non_null(bytes);
        line = json_line_begin(bytes, size);
        json_line_text(&line, "a", "bc");
        json_line_integer(&line, "d", 5);
        assert_int_equal(json_line_end(&line), size < needed ? 0 : needed);
        free(bytes);
    }
}

static void test_each_character_is_read_back(void **state) {
    char text[2] = "", bytes[64];

    for (int c = 1; c < 0x80; c++) {
        struct json_line line = json_line_begin(bytes, sizeof bytes);
        json_t *json;

        text[0] = (char)c;
        json_line_text(&line, "c", text);
        json = json_loadb(bytes, json_line_end(&line), 0, NULL);
        assert_string_equal(json_string_value(json_object_get(json, "c")), text);
        json_decref(json);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_object_is_written),
        cmocka_unit_test(test_without_members),
        cmocka_unit_test(test_what_does_not_fit_is_told),
        cmocka_unit_test(test_each_character_is_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
