/* Texts and numbers copied and written without printf. */
#include "decimal.h"
#include "test.h"
#include "text_copy.h"

#include <inttypes.h>

/* In a block of exactly that size, so that sanitizers see each byte too many. */
static void test_a_copy_is_cut_to_its_size(void **state) {
    for (size_t size = 1; size <= 6; size++) {
        char *to = malloc(size), expected[8];

        assert_non_null(to);
        text_copy(to, size, "abcd");
        (void)snprintf(expected, size, "%s", "abcd");
        assert_string_equal(to, expected);
        free(to);
    }
}

static void test_numbers_are_as_printf_has_them(void **state) {
    static const int64_t numbers[] = {
        0, 1, 9, 10, -1, -9, -10, 99, 100, 4294967296, INT64_MAX, INT64_MAX - 9, INT64_MIN};
    char text[DECIMAL_BYTES], expected[32];

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)snprintf(expected, sizeof expected, "%" PRId64, numbers[i]);
        assert_int_equal(decimal_write(text, numbers[i]), strlen(expected));
        assert_string_equal(text, expected);
    }
}

static void test_thousandths_have_three_places(void **state) {
    static const int64_t numbers[] = {0, 1, 10, 999, 1000, 1001, 1234567, INT64_MAX};
    char text[DECIMAL_BYTES + 2], expected[32];

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)snprintf(expected, sizeof expected, "%" PRId64 ".%03" PRId64, numbers[i] / 1000,
                       numbers[i] % 1000);
        assert_int_equal(decimal_write_thousandths(text, numbers[i]), strlen(expected));
        assert_string_equal(text, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_is_cut_to_its_size),
        cmocka_unit_test(test_numbers_are_as_printf_has_them),
        cmocka_unit_test(test_thousandths_have_three_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
