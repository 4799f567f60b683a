/* The table: colours are for terminals that want them, and no word is lost. */
#include "table.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void print(FILE *to) {
    table_print(&(struct table_row){.cell = {"a", "no", "b"}, .colour = {NULL, TABLE_RED, NULL}}, 1,
                3, 80, to);
    assert_int_equal(fflush(to), 0);
}

static void test_only_a_terminal_is_coloured(void **state) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    (void)state;
    assert_non_null(to);
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    print(to);
    assert_string_equal(text, "a  no  b\n");
    assert_int_equal(fclose(to), 0);
    free(text);
}

static void test_a_terminal_may_refuse_colours(void **state) {
    char text[256];
    int controller, fd;
    size_t length = 0;
    ssize_t more;
    FILE *to;

    (void)state;
    assert_int_equal(openpty(&controller, &fd, NULL, NULL, NULL), 0);
    to = fdopen(fd, "w");
    assert_non_null(to);
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    print(to);
    assert_int_equal(setenv("TERM", "dumb", 1), 0);
    print(to);
    assert_int_equal(setenv("TERM", "xterm", 1), 0);
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    print(to);
    assert_int_equal(setenv("NO_COLOR", "", 1), 0);
    print(to);
    assert_int_equal(fclose(to), 0);
    while ((more = read(controller, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)more;
    text[length] = '\0';
    assert_string_equal(text, "a  \033[31mno\033[0m  b\r\n"
                              "a  no  b\r\n"
                              "a  no  b\r\n"
                              "a  \033[31mno\033[0m  b\r\n");
    assert_int_equal(close(controller), 0);
}

static void test_words_of_any_length_are_printed_whole(void **state) {
    char *text = NULL, word[400];
    size_t size;
    FILE *to = open_memstream(&text, &size);

    (void)state;
    assert_non_null(to);
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    table_print_indented(word, 0, 2, 20, to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(strncmp(text, word, sizeof word - 1), 0);
    assert_string_equal(text + sizeof word - 1, "\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_terminal_is_coloured),
        cmocka_unit_test(test_a_terminal_may_refuse_colours),
        cmocka_unit_test(test_words_of_any_length_are_printed_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
