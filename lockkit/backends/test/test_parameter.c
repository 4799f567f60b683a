/* A parameter is taken out of a URL, and the rest of it stays as it was. */
#include "parameter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

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

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char url[40], value[4] = "-";

        (void)snprintf(url, sizeof url, "%s", cases[i].url);
        assert_int_equal(parameter_take(url, "n", value, sizeof value), cases[i].value != NULL);
        assert_string_equal(url, cases[i].rest);
        assert_string_equal(value, cases[i].value != NULL ? cases[i].value : "-");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_taken_from_any_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
