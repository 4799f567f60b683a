#include "command.h"
#include "test.h"

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

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_takes_the_place_of_the_hole),
        cmocka_unit_test(test_command_knows_whether_it_has_a_hole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
