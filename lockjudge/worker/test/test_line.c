/* Lines of workers: those of the protocol are read, and each other one is refused with its reason.
 */
#include "line.h"
#include "test.h"
#include "utf8.h"
#include "why.h"

#include <string.h>

static struct line line;
static struct why why;

static int parse(const char *text) {
    why.text[0] = '\0';
    return line_parse(text, strlen(text), &line, &why);
}

static void test_each_word_is_read(void **state) {
    assert_int_equal(parse("ready caps=ttl,fence,told"), 0);
    assert_int_equal(line.word, LINE_READY);
    assert_int_equal(line.caps, LINE_CAP_TTL | LINE_CAP_FENCE | LINE_CAP_TOLD);
    assert_int_equal(parse("ready"), 0);
    assert_int_equal(line.caps, 0);
    assert_int_equal(parse("ready caps="), 0);
    assert_int_equal(parse("held 42"), 0);
    assert_int_equal(line.word, LINE_HELD);
    assert_int_equal(line.fence, 42);
    assert_int_equal(parse("held 9223372036854775807"), 0);
    assert_int_equal(line.fence, INT64_MAX);
    assert_int_equal(parse("held -"), 0);
    assert_int_equal(line.fence, 0);
    assert_int_equal(parse("held"), 0);
    assert_int_equal(parse("busy"), 0);
    assert_int_equal(parse("released\r"), 0);
    assert_int_equal(line.word, LINE_RELEASED);
    assert_int_equal(parse("error the server is gone"), 0);
    assert_string_equal(line.text, "the server is gone");
    assert_int_equal(parse("forked 4711"), 0);
    assert_int_equal(line.word, LINE_FORKED);
    assert_int_equal(line.pid, 4711);
    assert_int_equal(parse("loaded"), 0);
    assert_int_equal(line.word, LINE_LOADED);
    assert_int_equal(parse("ready caps=fork,load"), 0);
    assert_int_equal(line.caps, LINE_CAP_FORK | LINE_CAP_LOAD);
    assert_int_equal(parse("!suspect"), 0);
    assert_true(line.is_unasked);
}

static void test_other_lines_are_refused_with_the_reason(void **state) {
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"", "begins with no word"},
        {"hold", "begins with no word"},
        {"held -1", "a fence is a number"},
        {"held 0", "greater than 0"},
        {"held 9223372036854775808", "below 2^63"},
        {"held 7k", "below 2^63"},
        {"busy now", "nothing may follow \"busy\""},
        {"ready ttl", "\"caps=\" was expected"},
        {"ready caps=ttl,magic", "no capability \"magic\""},
        {"forked", "process id"},
        {"forked 1", "process id"},
        {"forked -7", "process id"},
        {"forked 7k", "process id"},
        {"forked 2147483648", "process id"},
        {"loaded 7", "nothing may follow"},
        {"!loaded", "only when it is asked"},
        {"suspect", "only unasked"},
        {"!busy", "only when it is asked"},
        {"\x1b[2Jheld", "\"?[2Jheld\" begins"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(parse(rows[i].text), -1);
        assert_non_null(strstr(why.text, rows[i].reason));
    }
    assert_int_equal(line_parse("held\0x", 6, &line, &why), -1);
    assert_non_null(strstr(why.text, "zero byte"));
}

/* "ä" has two bytes. */
static void test_a_long_error_is_cut_between_characters(void **state) {
    static const char *const beginnings[] = {"error x", "error xy"};

    for (size_t i = 0; i < 2; i++) {
        char text[LINE_BYTES];

        (void)strcpy(text, beginnings[i]);
        while (strlen(text) < 300)
            (void)strcat(text, "\xc3\xa4");
        assert_int_equal(parse(text), 0);
        assert_true(utf8_is_printable(line.text));
        assert_int_equal(strlen(line.text), sizeof line.text - 1);
    }
}

static void test_a_line_that_is_too_long_is_refused(void **state) {
    char text[LINE_BYTES + 1];

    memset(text, 'x', sizeof text);
    assert_int_equal(line_parse(text, sizeof text, &line, &why), -1);
    assert_non_null(strstr(why.text, "longer than"));
}

static void test_capabilities_have_their_words(void **state) {
    char text[LINE_CAPS_TEXT];

    line_caps_text(LINE_CAP_TTL | LINE_CAP_RENEW, text, sizeof text);
    assert_string_equal(text, "ttl,renew");
    line_caps_text(0, text, sizeof text);
    assert_string_equal(text, "");
    line_caps_text(UINT32_MAX, text, sizeof text);
    assert_string_equal(text, "ttl,fence,renew,fair,told,reentrant,shared,fork,load");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_word_is_read),
        cmocka_unit_test(test_other_lines_are_refused_with_the_reason),
        cmocka_unit_test(test_a_long_error_is_cut_between_characters),
        cmocka_unit_test(test_a_line_that_is_too_long_is_refused),
        cmocka_unit_test(test_capabilities_have_their_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
