/* A parameter is taken out of a URL, and the rest of it stays as it was. */
#include "parameter.h"
#include "test.h"

#include <stdio.h>

static void test_it_is_taken_from_any_place(void **state) {
    static const struct {
        const char *url, *rest, *value;
    } cases[] = {
        {"x://h/p?n=1", "x://h/p", "1"},     {"x://h?n=1&a=2", "x://h?a=2", "1"},
        {"x://h?a=2&n=1", "x://h?a=2", "1"}, {"x://h?a=2&n=1&b=3", "x://h?a=2&b=3", "1"},
        {"x://h?a=2&n=", "x://h?a=2", ""},   {"x://h?n=1234567", "x://h", "123"},
        {"x://h?n=1&n=2", "x://h?n=2", "1"}, {"x://h", "x://h", NULL},
        {"x://n=1:h", "x://n=1:h", NULL},    {"x://h?nn=1&an=2&n", "x://h?nn=1&an=2&n", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char url[40], value[4] = "-";

        (void)snprintf(url, sizeof url, "%s", cases[i].url);
        assert_int_equal(parameter_take(url, "n", value, sizeof value), cases[i].value != NULL);
        assert_string_equal(url, cases[i].rest);
        assert_string_equal(value, cases[i].value != NULL ? cases[i].value : "-");
    }
}

static void test_a_number_is_from_1_to_the_most(void **state) {
    static const struct {
        const char *url;
        unsigned number;
        bool is_good;
    } cases[] = {
        {"x://h?n=1", 1, true},           {"x://h?n=300", 300, true},
        {"x://h?m=1", 7, true},           {"x://h?n=301", 7, false},
        {"x://h?n=0", 7, false},          {"x://h?n=", 7, false},
        {"x://h?n=-1", 7, false},         {"x://h?n=+1", 7, false},
        {"x://h?n=1x", 7, false},         {"x://h?n= 1", 7, false},
        {"x://h?n=4294967297", 7, false}, {"x://h?n=18446744073709551617", 7, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned number = 7;
        char url[40];

        (void)snprintf(url, sizeof url, "%s", cases[i].url);
        assert_int_equal(parameter_take_number(url, "n", 300, &number), cases[i].is_good);
        assert_int_equal(number, cases[i].number);
    }
}

static void test_others_are_seen(void **state) {
    static const char *const only[] = {"x://h", "x://h?n=1", "x://h?n=", "x://h?n=1&n=2"};
    static const char *const others[] = {"x://h?", "x://h?n", "x://h?n=1&", "x://h?nn=1",
                                         "x://h?n=1&m=2"};

    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        assert_false(parameter_has_others(only[i], "n"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(parameter_has_others(others[i], "n"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_taken_from_any_place),
        cmocka_unit_test(test_a_number_is_from_1_to_the_most),
        cmocka_unit_test(test_others_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
