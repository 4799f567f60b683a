/* Foreign text in Markdown stays text, with any content. */
#include "markdown.h"
#include "test.h"

#include <stdlib.h>

static void assert_prints(void (*print)(const char *, FILE *), const char *text,
                          const char *expected) {
    char *printed = NULL;
    size_t size;
    FILE *to = open_memstream(&printed, &size);

    assert_non_null(to);
    print(text, to);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(printed, expected);
    free(printed);
}

static void test_a_span_is_literal(void **state) {
    assert_prints(markdown_code, "redis,ttl=2s", "`redis,ttl=2s`");
    assert_prints(markdown_code, "**a** <b> @you [x](y) \\n", "`**a** <b> @you [x](y) \\n`");
    assert_prints(markdown_code, "黄金", "`黄金`");
    assert_prints(markdown_code, "", "-");
}

static void test_backquotes_end_no_span(void **state) {
    assert_prints(markdown_code, "a`b", "`` a`b ``");
    assert_prints(markdown_code, "``", "``` `` ```");
    assert_prints(markdown_code, " a ", "`  a  `");
}

static void test_no_cell_ends_in_a_span(void **state) {
    assert_prints(markdown_cell, "a|b", "`a\\|b`");
    assert_prints(markdown_cell, "|", "`\\|`");
    assert_prints(markdown_cell, "a\\|b", "`a\\ \\|b`");
    assert_prints(markdown_cell, "a\nb\tc", "`a b c`");
    assert_prints(markdown_code, "a\\|b|", "`a\\|b|`");
}

static void test_control_characters_are_replaced(void **state) {
    assert_prints(markdown_code, "\033[2J\xff\xe2\x80\xae", "`?[2J????`");
    assert_prints(markdown_block, "a\r\033b", "\n```text\na??b\n```\n\n");
}

static void test_a_block_has_whole_lines_and_longer_marks(void **state) {
    assert_prints(markdown_block, "a\n  b|\n", "\n```text\na\n  b|\n```\n\n");
    assert_prints(markdown_block, "a\n```\n</details>", "\n````text\na\n```\n</details>\n````\n\n");
    assert_prints(markdown_block, "", "\n```text\n```\n\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_span_is_literal),
        cmocka_unit_test(test_backquotes_end_no_span),
        cmocka_unit_test(test_no_cell_ends_in_a_span),
        cmocka_unit_test(test_control_characters_are_replaced),
        cmocka_unit_test(test_a_block_has_whole_lines_and_longer_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
