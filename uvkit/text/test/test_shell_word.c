/* Words for a shell: the shell reads back the printed word. */
#include "shell_word.h"
#include "test.h"

static void test_what_a_shell_would_see_more_in_is_quoted(void **state) {
    static const struct {
        const char *word, *text;
    } cases[] = {{"--rate=800", "--rate=800"},
                 {"", "''"},
                 {"a b", "'a b'"},
                 {"none=TWIN?", "'none=TWIN?'"},
                 {"it's", "'it'\\''s'"},
                 {"p(99)<250ms", "'p(99)<250ms'"},
                 {"größe", "'größe'"},
                 {"a\x1b[2J\n'\\\xc2\x9b", "$'a\\033[2J\\012\\'\\\\\\302\\233'"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = NULL;
        size_t size;
        FILE *to = open_memstream(&text, &size);

        assert_non_null(to);
        shell_word_print(cases[i].word, strlen(cases[i].word), to);
        assert_int_equal(fclose(to), 0);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

static void test_a_part_of_a_text_is_printed_alone(void **state) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    shell_word_print("a b", 1, to);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, "a");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_shell_would_see_more_in_is_quoted),
        cmocka_unit_test(test_a_part_of_a_text_is_printed_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
