#include "command.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static char program[] = "worker", plain[] = "-v", hole[] = "--url={url}?a",
            *command[] = {program, plain, hole, NULL};

static void test_url_takes_the_place_of_the_hole(void **state) {
    char **arguments = command_make(command, "redis://h:1");

    assert_non_null(arguments);
    assert_string_equal(arguments[0], "worker");
    assert_string_equal(arguments[1], "-v");
    assert_string_equal(arguments[2], "--url=redis://h:1?a");
    assert_null(arguments[3]);
    command_free(arguments);
}

static void test_command_knows_whether_it_has_a_hole(void **state) {
    char *without[] = {program, plain, NULL};

    assert_true(command_has_url(command));
    assert_false(command_has_url(without));
}

static size_t count(char **entries, const char *entry) {
    size_t found = 0;

    for (; *entries != NULL; entries++)
        found += strcmp(*entries, entry) == 0;
    return found;
}

static void test_variables_take_the_place_of_ours(void **state) {
    char new[] = "LOCKJUDGE_A=new", other[] = "LOCKJUDGE_C=other",
         *variables[] = {new, other, NULL};
    char **entries;

    assert_int_equal(setenv("LOCKJUDGE_A", "old", 1), 0);
    assert_int_equal(setenv("LOCKJUDGE_AB", "ours", 1), 0);
    entries = command_environment(variables);
    assert_non_null(entries);
    assert_int_equal(count(entries, "LOCKJUDGE_A=old"), 0);
    assert_int_equal(count(entries, "LOCKJUDGE_A=new"), 1);
    assert_int_equal(count(entries, "LOCKJUDGE_AB=ours"), 1);
    assert_int_equal(count(entries, "LOCKJUDGE_C=other"), 1);
    free(entries);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_take_the_place_of_ours),
        cmocka_unit_test(test_url_takes_the_place_of_the_hole),
        cmocka_unit_test(test_command_knows_whether_it_has_a_hole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
