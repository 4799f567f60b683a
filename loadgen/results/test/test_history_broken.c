/* Histories: what is broken is named, and does no harm. */
#include "history_fixture.h"

#include "fault.h"

#include <unistd.h>

static void test_a_cut_history_has_its_whole_rounds(void **state) {
    off_t whole, end;

    write_history(1);
    end = size_of_history();
    write_history(2);
    whole = size_of_history();
    for (off_t cut = whole - 1; cut > end; cut -= 97) {
        assert_int_equal(truncate(written.path, cut), 0);
        assert_int_equal(load(), 0);
        assert_true(written.history.is_cut);
        assert_int_equal(written.history.count, 1);
        history_free(&written.history);
    }
}

/* Write the line `text` after the lines of a whole history, and load it. */
static void assert_refused(const char *text, const char *reason) {
    FILE *to;

    write_history(1);
    to = fopen(written.path, "a");
    assert_non_null(to);
    assert_true(fprintf(to, "%s\n", text) > 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(load(), -1);
    if (strstr(written.why.text, reason) == NULL ||
        strstr(written.why.text, "history.ndjson line 14: ") == NULL)
        fail_msg("%s\ninstead of %s", written.why.text, reason);
    history_free(&written.history);
}

static void test_a_broken_line_is_named(void **state) {
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {"{\"type\":\"request\",", "it is no JSON"},
        {"{}", "no type"},
        {"[]", "no type"},
        {"{\"type\":5}", "its type is unknown"},
        {"{\"type\":\"dance\"}", "its type is unknown"},
        {"{\"type\":\"request\"} {}", "it is no JSON"},
        {"{\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"10\":0,"
         "\"11\":0,\"12\":0,\"13\":0,\"14\":0,\"15\":0,\"16\":0,\"17\":0,\"18\":0,\"19\":0,"
         "\"20\":0,\"21\":0,\"22\":0,\"23\":0,\"24\":0,\"25\":0}",
         "too many members"},
        {"{\"type\":\"run\",\"version\":1}", "begun already"},
        {"{\"type\":\"request\",\"number\":0}", "outside of a round"},
        {"{\"type\":\"end\"}", "outside of a round"},
        {"{\"type\":\"sale\"}", "belongs to no product"},
        {"{\"type\":\"product\"}", "outside of a round"},
        {"{\"type\":\"round\"}", "strategy"},
        {"{\"type\":\"round\",\"strategy\":2,\"repeat\":0,\"requests\":0,\"planned\":0,\"started_"
         "us\":0,\"ledger_skew_us\":0,\"is_realtime\":true,\"is_aborted\":false,\"late_launches\":"
         "0,\"instances\":[],\"products\":[\"\"]}",
         "out of range"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].line, cases[i].reason);
}

/* Write the history `text` with `instead` for the `length` bytes at `at`. */
static void write_with(const char *text, const char *at, size_t length, const char *instead) {
    FILE *to = fopen(written.path, "w");

    assert_non_null(to);
    assert_true(fprintf(to, "%.*s%s%s", (int)(at - text), text, instead, at + length) > 0);
    assert_int_equal(fclose(to), 0);
}

/* Load the history with the number at `at` replaced; what can be loaded can be judged. */
static int load_with(const char *text, const char *at, const char *number) {
    int rc;

    write_with(text, at, strspn(at, "-0123456789"), number);
    rc = load();
    if (rc != 0)
        assert_non_null(strstr(written.why.text, "history.ndjson line "));
    for (size_t i = 0; rc == 0 && i < written.history.count; i++)
        assert_int_equal(round_judge(&written.history.rounds[i]), 0);
    history_free(&written.history);
    return rc;
}

static void test_lines_that_contradict_each_other_are_refused(void **state) {
    static const struct {
        const char *written, *instead, *reason;
    } cases[] = {
        {"\"planned\":5", "\"planned\":3", "strategy or requests are out of range"},
        {"\"requests\":4,\"planned\"", "\"requests\":5,\"planned\"", "fewer requests"},
        {"\"requests\":4,\"planned\"", "\"requests\":3,\"planned\"", "more requests"},
        {"\"number\":0", "\"number\":0,\"item\":1", "item or instance is out of range"},
        {"\"instance\":0", "\"instance\":1", "item or instance is out of range"},
        {"\"products\":[", "\"products\":[\"\",", "ledger of a product is missing"},
        {"\"item\":0", "\"item\":1", "not the next product"},
        {"\"verdict\":\"", "\"verdict\":\"UN", "\"verdict\" is of another type or out of range"},
        {"\"outcome\":\"", "\"outcome\":\"re", "\"outcome\" is of another type or out of range"},
        {"\"key\":\"", "\"key\":\"x", "\"key\" is of another type or out of range"},
        {"\"remaining\":", "\"left\":", "its \"left\" is unknown"},
        {"\"remaining\":9,", "", "its \"remaining\" is missing"},
        {"\"remaining\":", "\"remaining\":1,\"remaining\":", "is given twice"},
        {"T10:01:02.", "T10.01:02.", "\"at\" is of another type or out of range"},
        {"\"at\":\"2026", "\"at\":\"9999", "\"at\" is of another type or out of range"},
        {",800.0,", ",-800.0,", "stages are out of range"},
        {"\"lock\":\"", "\"lock\":\"x", "\"lock\" is of another type or out of range"}};
    char *text;

    write_history(1);
    text = read_history();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(text, cases[i].written);

        assert_non_null(at);
        write_with(text, at, strlen(cases[i].written), cases[i].instead);
        if (load() == 0 || strstr(written.why.text, cases[i].reason) == NULL)
            fail_msg("%s\ninstead of %s", written.why.text, cases[i].reason);
        history_free(&written.history);
    }
    free(text);
}

static void test_no_number_does_harm(void **state) {
    static const char *const numbers[] = {
        "-9223372036854775808", "9223372036854775807", "1e300", "-1",
        "1000000000000000",     "9223372036854775808"};
    size_t tried = 0, refused = 0;
    char *text;

    write_history(1);
    text = read_history();
    for (const char *at = text; (at = strpbrk(at, ":[,")) != NULL;) {
        at++;
        if (strspn(at, "-0123456789") == 0)
            continue;
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++, tried++)
            refused += load_with(text, at, numbers[i]) != 0;
    }
    assert_true(tried > 400);
    assert_true(refused > tried / 2);
    assert_int_equal(load_with(text, strstr(text, "\"planned\":0") + 10, "-1"), -1);
    free(text);
}

static void test_another_version_is_refused(void **state) {
    static const char line[] = "{\"type\":\"run\",\"version\":99,\"started_us\":0,\"settings\":{},"
                               "\"strategies\":[],\"stages\":[]}\n";

    write_with(line, line, 0, "");
    assert_int_equal(load(), -1);
    assert_non_null(strstr(written.why.text, "line 1: its version is 99"));
}

static void test_an_empty_or_missing_history_is_named(void **state) {
    assert_int_equal(load(), -1);
    assert_non_null(strstr(written.why.text, "No such file"));
    history_free(&written.history);
    assert_int_equal(fclose(fopen(written.path, "w")), 0);
    assert_int_equal(load(), -1);
    assert_non_null(strstr(written.why.text, "does not begin"));
}

static void load_and_free(void *arg) {
    (void)arg;
    if (load() != 0)
        assert_non_null(strstr(written.why.text, "history.ndjson line "));
    history_free(&written.history);
}

static void test_memory_may_fail_at_any_line(void **state) {
    write_history(2);
    fault_each_allocation(load_and_free, NULL);
    assert_int_equal(load(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WRITTEN(test_a_cut_history_has_its_whole_rounds),
        WRITTEN(test_a_broken_line_is_named),
        WRITTEN(test_lines_that_contradict_each_other_are_refused),
        WRITTEN(test_no_number_does_harm),
        WRITTEN(test_another_version_is_refused),
        WRITTEN(test_an_empty_or_missing_history_is_named),
        WRITTEN(test_memory_may_fail_at_any_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
