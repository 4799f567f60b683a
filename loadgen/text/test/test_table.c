/* The table: only terminals that want colours get them, and no word is lost. */
#include "table.h"
#include "test.h"

#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static char *text;
static FILE *to; /* writes to it */

static void open_text(void) {
    static size_t size;

    to = open_memstream(&text, &size);
    assert_non_null(to);
}

/* From here on prints go to a terminal. Returns its other end. */
static int open_terminal(void) {
    int controller, fd;

    assert_int_equal(openpty(&controller, &fd, NULL, NULL, NULL), 0);
    to = fdopen(fd, "w");
    assert_non_null(to);
    return controller;
}

static void assert_text(const char *expected) {
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, expected);
    free(text);
}

/* Sets these in the environment; NO_COLOR may be NULL. */
static void print(const char *term, const char *no_color) {
    assert_int_equal(setenv("TERM", term, 1), 0);
    assert_int_equal(no_color != NULL ? setenv("NO_COLOR", no_color, 1) : unsetenv("NO_COLOR"), 0);
    table_print(&(struct table_row){.cell = {"a", "no", "b"}, .colour = {NULL, TABLE_RED, NULL}}, 1,
                3, 80, to);
    assert_int_equal(fflush(to), 0);
}

static void test_only_a_terminal_is_coloured(void **state) {
    open_text();
    print("xterm", NULL);
    assert_text("a  no  b\n");
}

static void test_a_terminal_may_refuse_colours(void **state) {
    char shown[256];
    int controller = open_terminal();
    size_t length = 0;
    ssize_t more;

    print("xterm", NULL);
    print("dumb", NULL);
    print("xterm", "1");
    print("xterm", "");
    assert_int_equal(fclose(to), 0);
    while ((more = read(controller, shown + length, sizeof shown - 1 - length)) > 0)
        length += (size_t)more;
    shown[length] = '\0';
    assert_string_equal(shown, "a  \033[31mno\033[0m  b\r\n"
                               "a  no  b\r\n"
                               "a  no  b\r\n"
                               "a  \033[31mno\033[0m  b\r\n");
    assert_int_equal(close(controller), 0);
}

static void test_the_width_is_that_of_the_terminal(void **state) {
    static const struct {
        const char *given;
        unsigned short terminal;
        size_t width;
    } cases[] = {{NULL, 0, 80},   {NULL, 100, 100}, {NULL, 300, 120}, {"60", 100, 60},
                 {"300", 0, 120}, {"1", 0, 20},     {"", 90, 90},     {"x", 90, 90}};
    int controller = open_terminal();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct winsize size = {.ws_col = cases[i].terminal};

        assert_int_equal(ioctl(controller, TIOCSWINSZ, &size), 0);
        assert_int_equal(
            cases[i].given != NULL ? setenv("COLUMNS", cases[i].given, 1) : unsetenv("COLUMNS"), 0);
        assert_int_equal(table_columns(to), cases[i].width);
    }
    assert_int_equal(unsetenv("COLUMNS"), 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(close(controller), 0);
}

static void test_columns_go_in_the_order_given(void **state) {
    static const unsigned char order[] = {2, 1, 3, 0};
    static const struct {
        size_t width;
        const char *line;
    } cases[] = {{80, "name  bb  cc  dd\n"}, {13, "name bb cc dd\n"}, {12, "name  bb  dd\n"},
                 {9, "name  dd\n"},          {6, "name\n"},           {1, "name\n"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct table_row row = {.cell = {"name", "bb", "cc", "dd"}};

        open_text();
        table_narrow(&row, 1, 1, cases[i].width, order);
        table_print(&row, 1, 1, cases[i].width, to);
        assert_text(cases[i].line);
    }
}

static void test_a_legend_of_nothing_takes_no_line(void **state) {
    const char *const meanings[TABLE_COLUMNS] = {NULL, "b: means it"};
    struct table_row head = {.cell = {"a"}};

    open_text();
    table_print_legend(&head, meanings, NULL, 80, to);
    assert_text("");
    open_text();
    table_fill(head.cell[1], "b");
    table_print_legend(&head, meanings, NULL, 80, to);
    assert_text("  b: means it\n");
}

static void test_words_of_any_length_are_printed_whole(void **state) {
    char word[400];

    open_text();
    memset(word, 'x', sizeof word - 2);
    word[sizeof word - 2] = '\0';
    table_print_indented(word, 0, 2, 20, to);
    strcat(word, "\n");
    assert_text(word);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_terminal_is_coloured),
        cmocka_unit_test(test_a_terminal_may_refuse_colours),
        cmocka_unit_test(test_the_width_is_that_of_the_terminal),
        cmocka_unit_test(test_columns_go_in_the_order_given),
        cmocka_unit_test(test_a_legend_of_nothing_takes_no_line),
        cmocka_unit_test(test_words_of_any_length_are_printed_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
