/* JSON of strangers: of the greatest depth, one deeper, and texts that only look deep. */
#include "json_read.h"
#include "test.h"

#include <unistd.h>

static json_t *read_text(const char *text, json_error_t *error) {
    return json_read(text, strlen(text), error);
}

static void takes(const char *text) {
    json_error_t error;
    json_t *json = read_text(text, &error);

    if (json == NULL)
        fail_msg("%s: %s", text, error.text);
    json_decref(json);
}

static void refuses(const char *text, const char *why, int line, int column) {
    json_error_t error;

    assert_null(read_text(text, &error));
    assert_non_null(strstr(error.text, why));
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_null(read_text(text, NULL));
}

static void nest(char *text, int depth, const char *open, const char *inner, const char *close) {
    char *to = text;

    for (int i = 0; i < depth; i++)
        to = stpcpy(to, open);
    to = stpcpy(to, inner);
    for (int i = 0; i < depth; i++)
        to = stpcpy(to, close);
}

static void test_nesting_is_bounded(void **state) {
    char text[20000];

    nest(text, JSON_READ_DEPTH, "[", "", "]");
    takes(text);
    nest(text, JSON_READ_DEPTH + 1, "[", "", "]");
    refuses(text, "nested too deeply", 1, JSON_READ_DEPTH + 1);
    nest(text, JSON_READ_DEPTH, "{\"a\":", "1", "}");
    takes(text);
    nest(text, JSON_READ_DEPTH + 1, "{\n\"a\":", "1", "}");
    refuses(text, "nested too deeply", JSON_READ_DEPTH + 1, 5);
    nest(text, 2000, "[", "", "");
    refuses(text, "nested too deeply", 1, JSON_READ_DEPTH + 1);
}

static void test_many_brackets_side_by_side_are_not_deep(void **state) {
    char text[20000];

    strcpy(text, "[");
    nest(text + 1, 1000, "[{}],", "0]", "");
    takes(text);
}

static void test_brackets_in_strings_are_text(void **state) {
    char text[20000];

    strcpy(text, "[\"\\\"");
    nest(text + strlen(text), 500, "[{", "\\\\\"]", "");
    takes(text);
    /* Each string ends where it seems to end. */
    nest(text, JSON_READ_DEPTH + 1, "[\"\\\\\",", "1", "]");
    refuses(text, "nested too deeply", 1, 6 * JSON_READ_DEPTH + 1);
}

static void test_what_is_no_json_is_said_as_before(void **state) {
    json_error_t error;

    refuses("", "'[' or '{' expected near end of file", 1, 0);
    refuses("[1,]", "unexpected token", 1, 4);
    refuses("{\"a\": 1, \"a\": 2}", "duplicate", 1, 12);
    refuses("]]]]", "'[' or '{' expected", 1, 1);
    assert_null(json_read("{}\0", 3, NULL));
    assert_null(json_read(NULL, 0, &error)); /* the bytes of an empty buffer */
    assert_int_equal(error.line, 1);
}

#define HOSTILE "{\"a\": [\"\\u001b[2J\\n\", {\"b\": \"\xe2\x80\xae\"}], \"c\": \"库存\"}"

static void test_strings_are_printable_unless_they_are_asked_for_as_they_are(void **state) {
    json_t *json = read_text(HOSTILE, NULL);
    json_t *raw = json_read_as_is(HOSTILE, sizeof HOSTILE - 1, NULL);
    json_t *expected = json_pack("{s:[s, {s:s}], s:s}", "a", "?[2J ", "b", "???", "c", "库存");

    assert_true(json_equal(json, expected));
    assert_string_equal(json_string_value(json_array_get(json_object_get(raw, "a"), 0)),
                        "\x1b[2J\n");
    json_decref(json);
    json_decref(raw);
    json_decref(expected);
}

static void test_what_an_error_quotes_is_printable(void **state) {
    refuses("[\"a\" \x1b]", "near '?'", 1, 6);
}

static void test_files_are_read_whole(void **state) {
    char path[] = "/tmp/json-read-XXXXXX", text[40000];
    int fd = mkstemp(path);
    json_error_t error;
    json_t *json;

    assert_true(fd >= 0);
    assert_null(json_read_file(path, &error));
    assert_int_equal(error.line, 1);
    memset(text, ' ', sizeof text);
    memcpy(text + sizeof text - 7, "[\"end\"]", 7);
    assert_int_equal(write(fd, text, sizeof text), sizeof text);
    json = json_read_file(path, &error);
    assert_string_equal(json_string_value(json_array_get(json, 0)), "end");
    json_decref(json);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_null(json_read_file(path, NULL));
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
    assert_null(json_read_file(path, &error));
    assert_int_equal(error.line, -1);
    assert_string_equal(error.text, "No such file or directory");
    assert_null(json_read_file("/tmp", &error));
    assert_string_equal(error.text, "Is a directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_many_brackets_side_by_side_are_not_deep),
        cmocka_unit_test(test_brackets_in_strings_are_text),
        cmocka_unit_test(test_what_is_no_json_is_said_as_before),
        cmocka_unit_test(test_strings_are_printable_unless_they_are_asked_for_as_they_are),
        cmocka_unit_test(test_what_an_error_quotes_is_printable),
        cmocka_unit_test(test_files_are_read_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
