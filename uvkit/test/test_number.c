/* Numbers and parts, and texts that only look like them. */
#include "number.h"
#include "test.h"

static void test_a_number_ends_where_its_digits_do(void **state) {
    static const struct {
        const char *text, *rest;
        double value;
    } cases[] = {{"0", "", 0}, {"1.5k", "k", 1.5}, {"007", "", 7}, {"99.9)", ")", 99.9}};
    double value;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *rest = number_read(cases[i].text, &value);

        assert_non_null(rest);
        assert_string_equal(rest, cases[i].rest);
        assert_true(value >= cases[i].value && value <= cases[i].value);
    }
}

static void test_what_only_strtod_takes_is_no_number(void **state) {
    static const char *const bad[] = {
        "",   "-1",    "+1",  " 1", "nan", ".",  ".5",
        "5.", "1.2.3", "inf", "x",  "%",   "..", "0000000000000000000000000000000001"};
    double value;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_null(number_read(bad[i], &value));
    assert_string_equal(number_read("0x10", &value), "x10");
    assert_string_equal(number_read("1e9", &value), "e9");
}

static void test_a_part_is_a_percentage_or_a_fraction(void **state) {
    static const char *const bad[] = {
        "",    "%",   "5%%", "101%", "1.1", "-1%", "x",
        "nan", "5 %", ".5",  "1..2", "1k",  "5x",  "0.0000000000000000000000000000001"};
    double part;

    assert_int_equal(number_read_part("5%", &part), 0);
    assert_float_equal(part, 0.05, 1e-12);
    assert_int_equal(number_read_part("0.25", &part), 0);
    assert_float_equal(part, 0.25, 0);
    assert_int_equal(number_read_part("0", &part), 0);
    assert_float_equal(part, 0, 0);
    assert_int_equal(number_read_part("100%", &part), 0);
    assert_float_equal(part, 1, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(number_read_part(bad[i], &part), -1);
}

static void test_a_number_may_be_in_thousands_or_millions(void **state) {
    static const char *const bad[] = {"", "k", "1kk", "1g", "1 k", "1K", "1%", "-1k", "1k5"};
    double value;

    assert_int_equal(number_read_scaled("100", &value), 0);
    assert_float_equal(value, 100, 0);
    assert_int_equal(number_read_scaled("1.5k", &value), 0);
    assert_float_equal(value, 1500, 0);
    assert_int_equal(number_read_scaled("20m", &value), 0);
    assert_float_equal(value, 20e6, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(number_read_scaled(bad[i], &value), -1);
}

static void test_whole_numbers(void **state) {
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.5",
                                      "0x1",
                                      "k",
                                      "1kk",
                                      "1K",
                                      "9223372036854775808",
                                      "9223372036854776k",
                                      "--1"};
    int64_t value = 0;

    assert_int_equal(number_read_int("20k", &value), 0);
    assert_int_equal(value, 20000);
    assert_int_equal(number_read_int("-3m", &value), 0);
    assert_int_equal(value, -3000000);
    assert_int_equal(number_read_int("9223372036854775807", &value), 0);
    assert_true(value == INT64_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(number_read_int(bad[i], &value), -1);
    assert_true(value == INT64_MAX);
}

static void test_durations(void **state) {
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"0", 0},
                {"0s", 0},
                {"7ns", 7},
                {"3us", 3000},
                {"250ms", 250000000},
                {"1.5s", 1500000000},
                {"2m", 120000000000},
                {"0.5h", 1800000000000},
                {"1.000000001s", 1000000001}};
    static const char *const bad[] = {
        "",    "1",   "s",           "-1s",      "+1s",           "1 s",
        "1.s", ".5s", "1..5s",       "1.5.5s",   "1.5ns",         "1m30s",
        "1d",  "1sx", "9223372037s", "2562048h", "1.0000000001s", "00",
        "0.0"};
    int64_t ns = -1;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(number_read_duration(good[i].text, &ns), 0);
        assert_true(ns == good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (number_read_duration(bad[i], &ns) != -1)
            fail_msg("\"%s\" was taken", bad[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_number_ends_where_its_digits_do),
        cmocka_unit_test(test_what_only_strtod_takes_is_no_number),
        cmocka_unit_test(test_a_number_may_be_in_thousands_or_millions),
        cmocka_unit_test(test_a_part_is_a_percentage_or_a_fraction),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_durations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
