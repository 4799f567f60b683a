/* Histories: the lines that are many are read and written without building JSON, as if it were
 * built: those that the writer puts are scanned, and every other is read as JSON. */
#include "history_fixture.h"

#include "history_fields.h"

#include <ctype.h>

static bool is_scanned(const char *line) {
    struct ledger_sale row; /* the longest one */
    struct record record = {.item = 0};

    if (history_scan_request(line, &record))
        return true;
    for (size_t i = 0; i < HISTORY_ROWS; i++)
        if (history_scan_row(line, &history_rows[i], &row))
            return true;
    return false;
}

/* Of each line of the history, a letter: the first one of its type, a capital when it is scanned.
 */
static void describe(const char *text, char *to) {
    char line[1024];

    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        int type = strchr(text, ':')[2];

        assert_true((size_t)snprintf(line, sizeof line, "%.*s", (int)(end + 1 - text), text) > 0);
        *to++ = (char)(is_scanned(line) ? toupper(type) : type);
    }
    *to = '\0';
}

static void test_requests_and_rows_need_no_json_reader(void **state) {
    char found[32], *text;

    (void)state;
    write_history(1);
    text = read_history();
    describe(text, found);
    assert_string_equal(found, "rrRRRRpRSSOOe"); /* run, round, 4 requests, product, row, ... */
    free(text);
}

static void write_text(const char *text, const char *before_each_line) {
    FILE *to = fopen(written.path, "w");

    assert_non_null(to);
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
        assert_true(fprintf(to, "%s%.*s", before_each_line, (int)(end + 1 - text), text) > 0);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

/* All that was read of the text, or why it was refused; free() it. */
static char *reading_of(const char *text, const char *before_each_line) {
    char *read = NULL;
    size_t size;
    FILE *to = open_memstream(&read, &size);

    assert_non_null(to);
    write_text(text, before_each_line);
    if (load() != 0)
        fputs(written.why, to);
    for (size_t i = 0; i < written.history.count; i++)
        assert_int_equal(history_write_round(to, &written.history.rounds[i]), 0);
    history_free(&written.history);
    assert_int_equal(fclose(to), 0);
    return read;
}

/* No line with a space before it is as the writer puts it. */
static bool is_read_alike(const char *text) {
    char *scanned = reading_of(text, ""), *parsed = reading_of(text, " ");
    bool is_refused = strstr(scanned, "history.ndjson") != NULL;

    if (strcmp(scanned, parsed) != 0)
        fail_msg("%s\nis read as\n%s\nand with the reader of JSON as\n%s", text, scanned, parsed);
    free(scanned);
    free(parsed);
    return !is_refused;
}

/* Put each change in the place of every fifth byte of the first line of its type. */
static size_t try_changes(const char *text, const char *type, size_t *taken) {
    static const char *const changes[] = {"",  "0",  "-",       "9",    "A",           " ",
                                          "e", "\"", "\\u0041", "\x7f", ",\"item\":0,"};
    const char *from = strstr(text, type);
    char changed[8192];
    size_t tried = 0;

    assert_non_null(from);
    for (const char *at = from; *at != '\n'; at++)
        for (size_t i = (size_t)(at - from) % 5; i < sizeof changes / sizeof changes[0]; i += 5) {
            assert_true((size_t)snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text),
                                         text, changes[i], at + 1) < sizeof changed);
            *taken += is_read_alike(changed);
            tried++;
        }
    return tried;
}

static void test_a_changed_line_is_read_as_json_reads_it(void **state) {
    static const char *const types[] = {"{\"type\":\"request\"", "{\"type\":\"row\"",
                                        "{\"type\":\"sale\"", "{\"type\":\"order\""};
    size_t tried = 0, taken = 0;
    char *text;

    (void)state;
    write_history(1);
    text = read_history();
    assert_true(is_read_alike(text));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        tried += try_changes(text, types[i], &taken);
    assert_true(tried > 1000 && taken > 200);
    free(text);
}

/* ---- writing */

static void assert_as_dumped(const char *line, size_t length) {
    json_t *json = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    char *dumped = json_dumps(json, JSON_COMPACT);

    assert_non_null(dumped);
    assert_int_equal(line[length - 1], '\n');
    assert_int_equal(strlen(dumped), length - 1);
    assert_memory_equal(line, dumped, length - 1);
    free(dumped);
    json_decref(json);
}

static void test_lines_are_written_as_jansson_writes_them(void **state) {
    struct record record = *sell(9), scanned;
    char line[HISTORY_LINE];

    (void)state;
    record.sent_ns = INT64_MAX;
    record.received_ns = 1;
    record.is_repeat = true;
    assert_as_dumped(line, history_print_request(line, &record));
    record.cost = (struct record_cost){0, INT32_MAX, -1, INT16_MAX, 10, INT32_MAX, -1, 0, -1};
    assert_as_dumped(line, history_print_request(line, &record));
    record.sent_ns = 1;
    record.cost.kept_us = INT32_MAX;
    assert_as_dumped(line, history_print_request(line, &record));
    assert_true(history_scan_request(line, &scanned));
    assert_memory_equal(&scanned.cost, &record.cost, sizeof scanned.cost);
    sales[0].fence = INT64_MIN;
    snprintf(sales[0].instance, sizeof sales[0].instance, "a \"\\/\xc3\xa4 库存 \xf0\x9f\x98\x80");
    assert_as_dumped(line, history_print_row(line, &history_rows[2], &sales[0]));
    assert_non_null(strstr(line, "\"fence\":-9223372036854775808,"));
    assert_non_null(strstr(line, "\"a \\\"\\\\/\xc3\xa4 库存 \xf0\x9f\x98\x80\""));
}

static void test_text_that_is_not_printable_is_still_json(void **state) {
    char line[HISTORY_LINE];

    (void)state;
    snprintf(sales[0].instance, sizeof sales[0].instance, "\x1b\n\xff\xe2\x82");
    assert_as_dumped(line, history_print_row(line, &history_rows[2], &sales[0]));
    assert_non_null(strstr(line, "\"?????\""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WRITTEN(test_requests_and_rows_need_no_json_reader),
        WRITTEN(test_a_changed_line_is_read_as_json_reads_it),
        WRITTEN(test_lines_are_written_as_jansson_writes_them),
        WRITTEN(test_text_that_is_not_printable_is_still_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
