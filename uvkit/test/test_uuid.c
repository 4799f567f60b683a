/* UUIDs: version 7 has its date and its version, reading is strict and gives lower case. */
#include "clock.h"
#include "uuid.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_version_7_begins_with_the_date(void **state) {
    char text[UUID_TEXT], same[UUID_TEXT], hex[13];
    int64_t before = clock_wall_us() / 1000, ms;

    (void)state;
    uuid_v7(text);
    assert_int_equal(uuid_parse(text, same), 0);
    assert_string_equal(text, same);
    (void)snprintf(hex, sizeof hex, "%.8s%.4s", text, text + 9);
    ms = strtoll(hex, NULL, 16);
    assert_true(ms >= before && ms <= clock_wall_us() / 1000);
    assert_int_equal(text[14], '7');
    assert_non_null(strchr("89ab", text[19]));
}

static void test_two_are_different(void **state) {
    char one[UUID_TEXT], two[UUID_TEXT];

    (void)state;
    uuid_v7(one);
    uuid_v7(two);
    assert_string_not_equal(one, two);
}

static void test_reading_gives_lower_case(void **state) {
    char out[UUID_TEXT] = "82391173-9DBC-49B6-821B-746A11DBBE5E";

    (void)state;
    assert_int_equal(uuid_parse(out, out), 0);
    assert_string_equal(out, "82391173-9dbc-49b6-821b-746a11dbbe5e");
}

static void test_anything_else_is_refused(void **state) {
    static const char *const bad[] = {
        NULL,
        "",
        "82391173",
        "82391173-9dbc-49b6-821b-746a11dbbe5",
        "82391173-9dbc-49b6-821b-746a11dbbe5e0",
        "82391173-9dbc-49b6-821b-746a11dbbe5g",
        "82391173-9dbc-49b6-821b0746a11dbbe5e",
        "82391173a9dbc-49b6-821b-746a11dbbe5e",
        "-2391173-9dbc-49b6-821b-746a11dbbe5e",
        "{82391173-9dbc-49b6-821b-746a11dbbe5e}",
        " 2391173-9dbc-49b6-821b-746a11dbbe5e",
        "823911739dbc49b6821b746a11dbbe5e",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char out[UUID_TEXT] = "x";

        assert_int_equal(uuid_parse(bad[i], out), -1);
        assert_string_equal(out, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_7_begins_with_the_date),
        cmocka_unit_test(test_two_are_different),
        cmocka_unit_test(test_reading_gives_lower_case),
        cmocka_unit_test(test_anything_else_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
