/* JSON of any bytes, complete or not at all. */
#include "json_text.h"
#include "test.h"

static void test_what_is_no_utf8_is_replaced(void **state) {
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", ""},
        {"a\n\"", "a\n\""},
        {"\xce\xbc \xe2\x9c\x93 \xf0\x9f\x99\x82", "\xce\xbc \xe2\x9c\x93 \xf0\x9f\x99\x82"},
        {"\xff", "\xef\xbf\xbd"},
        {"a\xc3", "a\xef\xbf\xbd"},                                /* cut */
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                  /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}}; /* a surrogate */

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = json_text(cases[i].text);

        assert_string_equal(json_string_value(json), cases[i].json);
        json_decref(json);
    }
}

static void test_an_object_has_its_members_in_their_order(void **state) {
    json_t *json = JSON_TEXT_OBJECT({"z", json_integer(1)}, {"a", json_text_array("x\0y\0z", 2, 3)},
                                    {"at", json_text_time(1500000)});
    char *text = json_dumps(json, JSON_COMPACT);

    assert_string_equal(text,
                        "{\"z\":1,\"a\":[\"x\",\"y\",\"z\"],\"at\":\"1970-01-01T00:00:01.500Z\"}");
    free(text);
    json_decref(json);
}

static void test_a_missing_part_fails_the_whole(void **state) {
    json_t *json = json_object();

    assert_null(JSON_TEXT_OBJECT({"a", json_integer(1)}, {"b", NULL}, {"c", json_integer(3)}));
    json_text_set(&json, "a", NULL);
    assert_null(json);
    json_text_set(&json, "b", json_integer(1));
    assert_null(json);
    assert_int_equal(json_text_print(NULL, stderr), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_utf8_is_replaced),
        cmocka_unit_test(test_an_object_has_its_members_in_their_order),
        cmocka_unit_test(test_a_missing_part_fails_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
