/* The printed commands: those of a checkout, or the names that a script gave. */
#include "test.h"
#include "user_command.h"

#include <stdlib.h>

static char *text;
static size_t size;
static FILE *to;

static int begin(void **state) {
#define X(name, variable, command) assert_int_equal(unsetenv(variable), 0);
    USER_COMMANDS(X)
#undef X
    assert_int_equal(unsetenv("RUN_DIR"), 0);
    to = open_memstream(&text, &size);
    return to != NULL ? 0 : -1;
}

static void assert_printed(const char *expected) {
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void test_without_a_script_it_is_that_of_a_checkout(void **state) {
    assert_false(user_command_is_known(USER_STACK));
    assert_string_equal(user_command(USER_STACK), "scripts/stack");
    user_command_print(USER_AUDIT, to);
    assert_printed("scripts/audit");
}

static void test_a_script_names_its_own(void **state) {
    assert_int_equal(setenv("SALE_STACK", "sale-stack", 1), 0);
    assert_true(user_command_is_known(USER_STACK));
    user_command_print(USER_STACK, to);
    assert_printed("sale-stack");
}

static void test_the_folder_of_the_stack_comes_first_and_is_one_word(void **state) {
    assert_int_equal(setenv("RUN_DIR", "/my shop/it's", 1), 0);
    user_command_print(USER_LOADGEN, to);
    assert_printed("RUN_DIR='/my shop/it'\\''s' scripts/loadgen");
}

static void test_a_program_without_a_script_is_called_as_it_was(void **state) {
    user_command_called("/my shop/bin/lab");
    user_command_called("lab"); /* the program begins itself again */
    fputs(user_command(USER_EXPLORER), to);
    assert_printed("'/my shop/bin/lab'");
}

static void test_with_a_script_it_is_called_by_that(void **state) {
    assert_int_equal(setenv("SALE_EXPLORER", "of a program above", 1), 0);
    assert_int_equal(setenv("SALE_LAB", "'/my shop/lab'", 1), 0);
    user_command_called("/private/bin/lab");
    fputs(user_command(USER_EXPLORER), to);
    assert_printed("'/my shop/lab'");
}

static void test_a_text_names_the_lab_as_the_user_does(void **state) {
    assert_int_equal(setenv("SALE_LAB", "lab", 1), 0);
    user_command_print_text("See scripts/lab hint 1, or scripts/lab answer 1.", to);
    assert_printed("See lab hint 1, or lab answer 1.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_without_a_script_it_is_that_of_a_checkout, begin),
        cmocka_unit_test_setup(test_a_script_names_its_own, begin),
        cmocka_unit_test_setup(test_the_folder_of_the_stack_comes_first_and_is_one_word, begin),
        cmocka_unit_test_setup(test_a_program_without_a_script_is_called_as_it_was, begin),
        cmocka_unit_test_setup(test_with_a_script_it_is_called_by_that, begin),
        cmocka_unit_test_setup(test_a_text_names_the_lab_as_the_user_does, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
