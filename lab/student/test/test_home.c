/* Where the headers are: above the running program, or where LAB_HOME says. */
#include "home.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void test_it_is_a_folder_above_the_program(void **state) {
    char path[PATH_MAX], here[PATH_MAX], expected[PATH_MAX + 20];

    assert_int_equal(unsetenv("LAB_HOME"), 0);
    assert_non_null(realpath(".", here));
    (void)snprintf(expected, sizeof expected, "%s/strategies/seam", here);
    assert_int_equal(home_path(path, "strategies/seam"), 0);
    assert_string_equal(path, expected);
}

static void test_the_environment_names_it(void **state) {
    char path[PATH_MAX];

    assert_int_equal(setenv("LAB_HOME", "/my shop", 1), 0);
    assert_int_equal(home_path(path, "lab"), 0);
    assert_string_equal(path, "/my shop/lab");
    assert_int_equal(setenv("LAB_HOME", "relative", 1), 0); /* is ignored */
    assert_int_equal(home_path(path, "lab"), 0);
    assert_int_equal(access(path, R_OK), 0);
}

static void test_a_path_that_is_too_long_is_an_error(void **state) {
    static char path[PATH_MAX], below[PATH_MAX];

    memset(below, 'x', sizeof below - 1);
    assert_int_equal(home_path(path, below), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_a_folder_above_the_program),
        cmocka_unit_test(test_the_environment_names_it),
        cmocka_unit_test(test_a_path_that_is_too_long_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
