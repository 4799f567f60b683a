/* The log: one line for an event, escaped and bounded, in one write. */
#include "log.h"
#include "test.h"

#include <unistd.h>

static struct {
    int saved, reader;
    char text[8192];
} capture;

/* A pipe instead of stderr: small lines leave and arrive whole. */
static int set_up(void **state) {
    int ends[2];

    capture.saved = dup(STDERR_FILENO);
    if (capture.saved < 0 || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
        return -1;
    (void)close(ends[1]);
    capture.reader = ends[0];
    log_init("test", LOG_INFO);
    return 0;
}

static int tear_down(void **state) {
    (void)dup2(capture.saved, STDERR_FILENO);
    (void)close(capture.saved);
    (void)close(capture.reader);
    return 0;
}

/* One read gets one line, because each line is one write. */
static const char *written(void) {
    ssize_t length = read(capture.reader, capture.text, sizeof capture.text - 1);

    assert_true(length > 0);
    capture.text[length] = '\0';
    return capture.text;
}

static void test_line_has_time_level_service_message_and_pairs(void **state) {
    unsigned year, month, day, hour, minute, second, us;
    int end = 0;

    log_info("order placed", "unit=%d", 788);
    (void)sscanf(written(), "ts=%4u-%2u-%2uT%2u:%2u:%2u.%6uZ %n", &year, &month, &day, &hour,
                 &minute, &second, &us, &end);
    assert_int_equal(end, sizeof "ts=2026-11-21T04:35:02.123456Z");
    assert_string_equal(capture.text + end, "level=info svc=test msg=\"order placed\" unit=788\n");
}

static void test_line_without_pairs(void **state) {
    log_warn("odd", NULL);
    assert_non_null(strstr(written(), " level=warn svc=test msg=\"odd\"\n"));
}

static void test_levels_below_the_least_are_not_written(void **state) {
    log_debug("quiet", NULL);
    log_error("loud", NULL);
    assert_non_null(strstr(written(), "msg=\"loud\""));
}

static void test_levels_are_parsed_by_name(void **state) {
    enum log_level level = LOG_INFO;

    assert_int_equal(log_level_parse("debug", &level), 0);
    assert_int_equal(level, LOG_DEBUG);
    assert_int_equal(log_level_parse("error", &level), 0);
    assert_int_equal(level, LOG_ERROR);
    assert_int_equal(log_level_parse("loud", &level), -1);
    assert_int_equal(log_level_parse("", &level), -1);
}

static void test_no_event_makes_two_lines(void **state) {
    log_info("a\n\"b\"\\", "x=%s", "1\nts=2\x1b[0m");
    assert_non_null(strstr(written(), "msg=\"a\\n\\\"b\\\"\\\\\" x=1\\nts=2\\x1b[0m\n"));
    assert_ptr_equal(strchr(capture.text, '\n'), capture.text + strlen(capture.text) - 1);
}

static void test_no_value_moves_or_hides_text_on_a_terminal(void **state) {
    log_info("\xc2\x9b"
             "2J",
             "x=%s",
             "\x9b"
             "2J \xe2\x80\xae"
             "dlos 库存 \x7f");
    assert_non_null(
        strstr(written(), "msg=\"\\xc2\\x9b2J\" x=\\x9b2J \\xe2\\x80\\xaedlos 库存 \\x7f\n"));
}

static void test_long_line_is_cut_and_says_so(void **state) {
    char text[10000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_info("long", "x=%s", text);
    assert_true(strlen(written()) <= 2048 && strlen(capture.text) > 2000);
    assert_string_equal(capture.text + strlen(capture.text) - 6, "xx...\n");
    log_info(text, "x=%s", text);
    assert_true(strlen(written()) <= 2048);
    assert_string_equal(capture.text + strlen(capture.text) - 6, "xx...\n");
}

static void test_values_are_quoted_when_they_need_it(void **state) {
    char buffer[32];

    assert_string_equal(log_quote(buffer, sizeof buffer, "9f2c"), "9f2c");
    assert_string_equal(log_quote(buffer, sizeof buffer, ""), "\"\"");
    assert_string_equal(log_quote(buffer, sizeof buffer, "a b"), "\"a b\"");
    assert_string_equal(log_quote(buffer, sizeof buffer, "a=b"), "\"a=b\"");
    assert_string_equal(log_quote(buffer, sizeof buffer, "\"\\\n\x01"), "\"\\\"\\\\\\n\\x01\"");
    assert_string_equal(log_quote(buffer, sizeof buffer, "\x9b"), "\"\\x9b\"");
    assert_string_equal(log_quote(buffer, sizeof buffer, "库存不足"), "库存不足");
}

static void test_values_are_cut_to_fit(void **state) {
    char buffer[6];

    assert_string_equal(log_quote(buffer, 6, "abcdefgh"), "abcde");
    assert_string_equal(log_quote(buffer, 6, "a b c d"), "\"a b\"");
    assert_string_equal(log_quote(buffer, 6, "a \n\n"), "\"a \"");
    assert_string_equal(log_quote(buffer, 3, "a b"), "\"\"");
    assert_string_equal(log_quote(buffer, 2, "a b"), "");
    assert_string_equal(log_quote(buffer, 1, "a"), "");
}

static struct {
    enum log_level level;
    char message[64], pairs[4096];
    int count;
} sunk;

static void on_event(enum log_level level, const char *message, const char *pairs, void *data) {
    assert_ptr_equal(data, &sunk);
    sunk.level = level;
    (void)snprintf(sunk.message, sizeof sunk.message, "%s", message);
    (void)snprintf(sunk.pairs, sizeof sunk.pairs, "%s", pairs);
    sunk.count++;
}

static void test_a_sink_gets_the_events_that_are_not_written(void **state) {
    char text[10000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_set_sink(on_event, &sunk);
    log_debug("odd", "x=%s", "1\n2");
    assert_int_equal(sunk.level, LOG_DEBUG);
    assert_string_equal(sunk.message, "odd");
    assert_string_equal(sunk.pairs, "x=1\\n2");
    log_error("no pairs", NULL);
    assert_int_equal(sunk.level, LOG_ERROR);
    assert_string_equal(sunk.pairs, "");
    log_info("long", "x=%s", text);
    assert_string_equal(sunk.pairs + strlen(sunk.pairs) - 6, "xxx...");
    assert_int_equal(sunk.count, 3);
    log_set_sink(NULL, NULL);
    log_info("back", NULL);
    assert_non_null(strstr(written(), "msg=\"back\""));
    assert_int_equal(sunk.count, 3);
}

/* First of all tests: nothing has called log_init() yet. */
static void test_without_a_name_nothing_is_written(void **state) {
    int ends[2], saved = dup(STDERR_FILENO);
    char byte;

    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    log_error("loud", NULL);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(ends[1]);
    (void)close(saved);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    (void)close(ends[0]);
}

static void test_a_limit_passes_the_first_and_counts_the_rest(void **state) {
    struct log_limit limit = {0};
    unsigned left_out;

    assert_true(log_limit_pass(&limit, 1000, &left_out));
    assert_int_equal(left_out, 0);
    assert_false(log_limit_pass(&limit, 1000, &left_out));
    assert_false(log_limit_pass(&limit, 1000 + LOG_LIMIT_MS - 1, &left_out));
    assert_true(log_limit_pass(&limit, 1000 + LOG_LIMIT_MS, &left_out));
    assert_int_equal(left_out, 2);
    assert_true(log_limit_pass(&limit, 1000 + 2 * LOG_LIMIT_MS, &left_out));
    assert_int_equal(left_out, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_name_nothing_is_written),
        TEST(test_line_has_time_level_service_message_and_pairs),
        TEST(test_line_without_pairs),
        TEST(test_levels_below_the_least_are_not_written),
        cmocka_unit_test(test_levels_are_parsed_by_name),
        TEST(test_no_event_makes_two_lines),
        TEST(test_no_value_moves_or_hides_text_on_a_terminal),
        TEST(test_long_line_is_cut_and_says_so),
        TEST(test_a_sink_gets_the_events_that_are_not_written),
        cmocka_unit_test(test_values_are_quoted_when_they_need_it),
        cmocka_unit_test(test_values_are_cut_to_fit),
        cmocka_unit_test(test_a_limit_passes_the_first_and_counts_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
