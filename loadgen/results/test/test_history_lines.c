/* Histories: a line is JSON, written and read as jansson would. */
#include "history_fixture.h"

/* Its lines as jansson writes them, in the order of their keys and in ASCII; NULL when jansson
 * refuses one. free() it. */
static char *retold(const char *text) {
    char *told = NULL;
    size_t size;
    FILE *to = open_memstream(&told, &size);
    bool is_json = true;

    assert_non_null(to);
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        json_t *json = json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES, NULL);

        is_json = is_json && json_dumpf(json, to, JSON_SORT_KEYS | JSON_ENSURE_ASCII) == 0;
        (void)putc('\n', to);
        json_decref(json);
    }
    assert_int_equal(fclose(to), 0);
    if (!is_json)
        free(told);
    return is_json ? told : NULL;
}

/* All that was read of the text; NULL when it is refused. free() it. */
static char *reading_of(const char *text) {
    char *read = NULL;
    size_t size;
    FILE *to = fopen(written.path, "w");
    int code;

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
    to = open_memstream(&read, &size);
    assert_non_null(to);
    code = load();
    for (size_t i = 0; i < written.history.count; i++)
        assert_int_equal(history_write_round(to, &written.history.rounds[i]), 0);
    history_free(&written.history);
    assert_int_equal(fclose(to), 0);
    if (code == 0)
        return read;
    free(read);
    return NULL;
}

/* Whether the text is taken; it is then also what jansson makes of it. What jansson takes may be
 * refused only for the sake of an escape, which has no place in most members. */
static bool is_read_alike(const char *text, bool has_escape) {
    char *told = retold(text), *read = reading_of(text);
    char *read_told = told != NULL ? reading_of(told) : NULL;
    const bool is_taken = read != NULL;

    if (is_taken ? read_told == NULL || strcmp(read, read_told) != 0
                 : read_told != NULL && !has_escape)
        fail_msg("%s\nis read as\n%s\nand of jansson as\n%s", text, read, read_told);
    free(told);
    free(read);
    free(read_told);
    return is_taken;
}

/* Put one of the changes in the place of each byte of the first line of its type. */
static size_t try_changes(const char *text, const char *type, size_t *taken) {
    static const char *const changes[] = {"",  "0",  "-",       "9",    "A",           " ",
                                          "e", "\"", "\\u0041", "\x7f", ",\"item\":0,"};
    const char *from = strstr(text, type);
    char changed[8192];
    size_t tried = 0;

    assert_non_null(from);
    for (const char *at = from; *at != '\n'; at++, tried++) {
        const char *change = changes[tried % (sizeof changes / sizeof changes[0])];

        assert_true((size_t)snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text,
                                     change, at + 1) < sizeof changed);
        *taken += is_read_alike(changed, *change == '\\');
    }
    return tried;
}

static void test_a_changed_line_is_read_as_jansson_reads_it(void **state) {
    static const char *const types[] = {"{\"type\":\"request\"", "{\"type\":\"row\"",
                                        "{\"type\":\"sale\"",    "{\"type\":\"order\"",
                                        "{\"type\":\"round\"",   "{\"type\":\"end\""};
    size_t tried = 0, taken = 0;
    char *text;

    write_history(1);
    text = read_history();
    assert_true(is_read_alike(text, false));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        tried += try_changes(text, types[i], &taken);
    assert_true(tried > 800 && taken > 100);
    free(text);
}

/* ---- writing */

/* The first line of the type has the part; and it is as jansson writes it. */
static void assert_written(const char *type, const char *part) {
    char *text, *line, *dumped;
    json_t *json;

    write_history(1);
    text = read_history();
    line = strstr(text, type);
    assert_non_null(line);
    line[strcspn(line, "\n")] = '\0';
    json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    dumped = json_dumps(json, JSON_COMPACT);
    assert_string_equal(line, dumped);
    if (strstr(line, part) == NULL)
        fail_msg("%s has no %s", line, part);
    free(dumped);
    json_decref(json);
    free(text);
}

static void test_what_a_reply_told_of_its_cost_is_written_by_name(void **state) {
    struct record_cost *cost = &recorder->records[0].cost;

    *cost = (struct record_cost){0, INT32_MAX, -1, INT16_MAX, 10, INT32_MAX, -1, 0, -1};
    assert_written("{\"type\":\"request\"",
                   ",\"wait_us\":0,\"hold_us\":2147483647,\"postgres\":32767,\"redis\":10,"
                   "\"retries\":2147483647,\"lock\":\"local\"}");
    cost->kept_us = INT32_MAX;
    assert_written("{\"type\":\"request\"", "\"kept_us\":2147483647}");
    assert_int_equal(load(), 0);
    assert_memory_equal(&written.history.rounds[0].recorder->records[0].cost, cost, sizeof *cost);
}

static void test_numbers_and_texts_are_written_as_they_are(void **state) {
    sales[0].fence = INT64_MIN;
    snprintf(sales[0].instance, sizeof sales[0].instance, "a \"\\/\xc3\xa4 库存 \xf0\x9f\x98\x80");
    assert_written("{\"type\":\"sale\"", "\"fence\":-9223372036854775808,");
    assert_written("{\"type\":\"sale\"", "\"a \\\"\\\\/\xc3\xa4 库存 \xf0\x9f\x98\x80\"");
}

static void test_text_that_is_not_printable_is_still_json(void **state) {
    snprintf(sales[0].instance, sizeof sales[0].instance, "\x1b\n\xff\xe2\x82");
    assert_written("{\"type\":\"sale\"", "\"?????\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WRITTEN(test_a_changed_line_is_read_as_jansson_reads_it),
        WRITTEN(test_what_a_reply_told_of_its_cost_is_written_by_name),
        WRITTEN(test_numbers_and_texts_are_written_as_they_are),
        WRITTEN(test_text_that_is_not_printable_is_still_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
