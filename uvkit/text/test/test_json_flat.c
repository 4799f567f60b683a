/* Flat objects: accepted ones, rejected ones that json_read() must read, and that both read the
 * same. */
#include "json_flat.h"
#include "json_read.h"
#include "test.h"

static bool reads(struct json_flat *flat, const char *text) {
    return json_flat_read(flat, text, strlen(text));
}

static void test_members_are_found_by_name_and_kind(void **state) {
    struct json_flat flat;
    int64_t number = 7;

    assert_true(reads(&flat, " { \"a\" : \"x\" ,\"b\":-12,\"c\":true,\"d\":false,\"e\":0,"
                             "\"f\":\"\",\"g\":\"\\\"\\\\\\/\"}\n"));
    assert_string_equal(json_flat_text(&flat, "a"), "x");
    assert_string_equal(json_flat_text(&flat, "f"), "");
    assert_string_equal(json_flat_text(&flat, "g"), "\"\\/");
    assert_null(json_flat_text(&flat, "b"));
    assert_null(json_flat_text(&flat, "A"));
    assert_true(json_flat_integer(&flat, "b", &number) && number == -12);
    assert_true(json_flat_integer(&flat, "e", &number) && number == 0);
    assert_false(json_flat_integer(&flat, "a", &number) || json_flat_integer(&flat, "c", &number));
    assert_true(json_flat_is_true(&flat, "c"));
    assert_false(json_flat_is_true(&flat, "d") || json_flat_is_true(&flat, "a") ||
                 json_flat_is_true(&flat, "z"));
}

static void test_what_is_not_flat_is_left(void **state) {
    static const char *const not_flat[] = {"",
                                           "{",
                                           "[]",
                                           "{\"a\"}",
                                           "{\"a\":}",
                                           "{\"a\":1",
                                           "{\"a\":1,}",
                                           "{,}",
                                           "{\"a\":[]}",
                                           "{\"a\":{}}",
                                           "{\"a\":nul",
                                           "{\"a\":null}",
                                           "{\"a\":1.5}",
                                           "{\"a\":1e3}",
                                           "{\"a\":01}",
                                           "{\"a\":-}",
                                           "{\"a\":\"",
                                           "{\"a\":\"\\",
                                           "{a:1}",
                                           "{\"a\":tru}",
                                           "{} {}",
                                           "{\"a\":1}x",
                                           "{\"a\":1 2}",
                                           "{\"a\":\"\\n\"}",
                                           "{\"a\":\"\t\"}",
                                           "{\"a\":\"\xc3\xa4\"}",
                                           "{\"a\":1,\"a\":2}",
                                           "{\"a\":1000000000000000000}"};
    struct json_flat flat;

    for (size_t i = 0; i < sizeof not_flat / sizeof *not_flat; i++) {
        if (reads(&flat, not_flat[i]))
            fail_msg("taken: %s", not_flat[i]);
        assert_null(json_flat_text(&flat, "a"));
    }
}

/* So many members, so many bytes, and one more. */
static void test_members_and_bytes_are_bounded(void **state) {
    char text[JSON_FLAT_BYTES + 100], *to = stpcpy(text, "{");
    struct json_flat flat;

    for (int i = 0; i < JSON_FLAT_MEMBERS; i++)
        to += sprintf(to, "%s\"%d\":%d", i > 0 ? "," : "", i, i);
    assert_true(reads(&flat, strcat(text, "}")));
    strcpy(to, ",\"n\":1}");
    assert_false(reads(&flat, text));
    for (int over = 0; over <= 2; over++) {
        size_t length = JSON_FLAT_BYTES - strlen("a") - 2 + (size_t)over;

        (void)sprintf(text, "{\"a\":\"%0*d\"}", (int)length, 0);
        assert_int_equal(reads(&flat, text), over == 0);
    }
    (void)sprintf(text, "{\"%0*d\":\"\"}", JSON_FLAT_BYTES - 1, 0);
    assert_false(reads(&flat, text)); /* the name uses all room */
}

static void test_one_is_read_after_the_other(void **state) {
    static const char two[] = "{\"a\":1},{\"a\":2}]";
    struct json_flat flat;
    const char *at = json_flat_read_next(&flat, two, two + sizeof two - 1);
    int64_t number;

    assert_ptr_equal(at, two + 7);
    at = json_flat_read_next(&flat, at + 1, two + sizeof two - 1);
    assert_true(json_flat_integer(&flat, "a", &number) && number == 2);
    assert_string_equal(at, "]");
    assert_null(json_flat_read_next(&flat, at, two + sizeof two - 1));
}

/* Texts of the right letters in any order, each in a block of exactly its size. */
static void test_what_is_taken_json_read_reads_alike(void **state) {
    static const char *const pieces[] = {"{",     "}",     ",",  ":",    "\"a\"",
                                         "\"b\"", "12",    "-3", "true", "\"\\\"x\"",
                                         " ",     "false", "\"", "\\",   "0"};
    uint32_t random = 88172645;
    unsigned taken = 0;

    for (int i = 0; i < 200000; i++) {
        char text[200] = "{", *to = text + 1;
        struct json_flat flat;
        json_t *json;
        int64_t number;

        for (unsigned left = random % 9; left > 0; left--) {
            random ^= random << 13, random ^= random >> 17, random ^= random << 5;
            to = stpcpy(to, pieces[random % (sizeof pieces / sizeof *pieces)]);
        }
        random ^= random << 13, random ^= random >> 17, random ^= random << 5;
        if (!reads(&flat, text))
            continue;
        json = json_read(text, strlen(text), NULL);
        if (json == NULL || json_object_size(json) != flat.count)
            fail_msg("%s", text);
        if (json_flat_text(&flat, "a") != NULL)
            assert_string_equal(json_flat_text(&flat, "a"),
                                json_string_value(json_object_get(json, "a")));
        if (json_flat_integer(&flat, "a", &number))
            assert_int_equal(number, json_integer_value(json_object_get(json, "a")));
        assert_int_equal(json_flat_is_true(&flat, "a"), json_is_true(json_object_get(json, "a")));
        json_decref(json);
        taken++;
    }
    assert_true(taken > 100);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_found_by_name_and_kind),
        cmocka_unit_test(test_what_is_not_flat_is_left),
        cmocka_unit_test(test_members_and_bytes_are_bounded),
        cmocka_unit_test(test_one_is_read_after_the_other),
        cmocka_unit_test(test_what_is_taken_json_read_reads_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
