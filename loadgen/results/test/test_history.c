/* Histories: a written history is read back, and jansson would write and read the same; a broken
 * one is reported, and does no harm. */
#include "history.h"

#include "fault.h"
#include "history_fixture.h"

#include <unistd.h>

static void test_a_round_is_read_back_as_it_was(void **state) {
    const struct round *read = written_again(2);

    assert_false(written.history.is_cut);
    assert_int_equal(written.history.started_us, 1234567);
    assert_int_equal(read->ended_us, 7654321);
    assert_ptr_equal(read->item, &written.history.options.list.items[1]);
    assert_int_equal(read->repeat, 1);
    assert_int_equal(read->ledger_skew_us, -12);
    assert_int_equal(read->started_us, written.one.started_us);
    assert_true(read->is_realtime && read->is_restless && read->is_interrupted);
    assert_false(read->is_aborted);
    assert_string_equal(read->products[0].id, written.product.id);
    assert_int_equal(read->recorder->ended, 4);
    assert_int_equal(read->recorder->count, 4);
    assert_int_equal(read->recorder->planned, 5);
    assert_int_equal(read->recorder->late_launches, 3);
    for (size_t i = 0; i < 4; i++)
        assert_same_record(&read->recorder->records[i], &recorder->records[i]);
    assert_string_equal(read->recorder->instances[0], "inventory-\"1\"?");
    assert_int_equal(read->ledgers[0].initial, 10);
    assert_int_equal(read->ledgers[0].sale_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_same_sale(&read->ledgers[0].sales[i], &sales[i]);
        assert_same_order(&read->ledgers[0].orders[i], &orders[i]);
    }
    assert_memory_equal(read->ledgers[0].rows, &written.row, sizeof written.row);
}

static void test_events_are_read_back(void **state) {
    static struct event events[] = {{.at_ns = -5,
                                     .began_ns = -5,
                                     .until_ns = EVENT_OPEN,
                                     .kind = EVENT_SERVER,
                                     .who = "redis",
                                     .name = "kill"},
                                    {.at_ns = 3 * MS,
                                     .began_ns = 3 * MS,
                                     .until_ns = 4003 * MS,
                                     .kind = EVENT_FAILPOINT,
                                     .who = "inventory-\"1\"",
                                     .name = "after-read",
                                     .detail = "pause 4000 ms"},
                                    {.at_ns = 9 * MS,
                                     .began_ns = 8 * MS,
                                     .until_ns = 9 * MS,
                                     .kind = EVENT_LOCK,
                                     .result = EVENT_NO,
                                     .who = "inventory-2",
                                     .name = "SET NX",
                                     .key = "stock:1",
                                     .token = "abc"}};
    const struct event_list *read;

    memcpy(events[1].order_id, ids[0], UUID_TEXT);
    memcpy(events[2].order_id, ids[1], UUID_TEXT);
    written.one.events = (struct event_list){3, events};
    read = &written_again(1)->events;
    assert_int_equal(read->count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(&read->items[i], &events[i],
                            offsetof(struct event, token) + sizeof events[i].token);
}

/* The stock of an oversold row goes below zero. */
static void test_units_below_zero_are_read_back(void **state) {
    for (int64_t unit = 0; unit > -4; unit--) {
        recorder->records[1].unit = sales[1].unit = orders[1].unit = unit;
        assert_int_equal(written_again(1)->recorder->records[1].unit, unit);
    }
}

static void test_the_settings_are_read_back(void **state) {
    const struct options *read = &written.history.options;

    (void)written_again(1);
    assert_int_equal(read->rate, 800);
    assert_int_equal(read->seed, 7);
    assert_int_equal(read->repeat, 2);
    assert_true(read->no_realtime);
    assert_false(read->no_judge);
    assert_string_equal(read->name, "a \"name\" \xef\xbf\xbd");
    assert_string_equal(read->command_line, written.options.command_line);
    assert_int_equal(read->list.count, 2);
    assert_string_equal(read->list.items[1].spec, "redis,ttl=2s");
    for (int i = 0; i < 2; i++) {
        const struct expectation *wanted = &written.options.expectations[i];

        assert_int_equal(read->expectations[i].is_any, wanted->is_any);
        assert_int_equal(read->expectations[i].must, wanted->must);
        assert_int_equal(read->expectations[i].may, wanted->may);
    }
    assert_int_equal(read->threshold_list.count, 2);
    assert_int_equal(read->shape.stage_count, 1);
    assert_true(read->shape.stages[0].to > 400.4 && read->shape.stages[0].to < 400.6);
}

static void test_the_verdict_is_the_same_again(void **state) {
    assert_int_equal(written_again(1)->verdict.kind, written.one.verdict.kind);
    assert_int_equal(round_judge(&written.history.rounds[0], NULL), 0);
    assert_memory_equal(&written.history.rounds[0].verdict, &written.one.verdict,
                        sizeof written.one.verdict);
}

static void test_a_round_is_judged_by_what_was_asked_for_then(void **state) {
    static char faults[] = "redis:kill@1s\nafter-read:error";
    const struct round *read;

    written.options.fault = faults;
    written.options.late_ns = 100 * MS;
    written.options.stuck_after_ns = 50 * MS;
    read = written_again(1);
    assert_int_equal(read->faults->count, 1);
    assert_string_equal(read->faults->items[0].text, "redis:kill@1s");
    assert_int_equal(read->late_ns, 100 * MS);
    assert_int_equal(read->stuck_ns, 50 * MS);
}

static void test_a_round_without_ledgers_keeps_its_problem(void **state) {
    const struct round *read;

    /* one.ledgers has the part that was read before the problem. */
    why_set(&written.one.problem, "the database \"orders\" is gone");
    why_set(&written.one.fault_problem, "no luck");
    written.one.are_events_lost = written.one.is_left_down = true;
    assert_int_equal(round_judge(&written.one, NULL), 0);
    read = written_again(1);
    assert_null(read->ledgers);
    assert_string_equal(read->problem.text, written.one.problem.text);
    assert_string_equal(read->fault_problem.text, "no luck");
    assert_true(read->are_events_lost && read->is_left_down);
    assert_int_equal(round_judge(&written.history.rounds[0], NULL), 0);
    assert_int_equal(read->verdict.kind, VERDICT_INCONCLUSIVE);
}

static void test_what_was_read_is_written_again(void **state) {
    const char *first = written_text(2);
    char *again;

    assert_int_equal(load_written(), 0);
    write_rounds(&written.history);
    again = read_written();
    assert_string_equal(first, again);
    free(again);
}

/* ---- the written text */

/* Since version 2 the lines are the same, byte for byte. */
static void test_the_lines_are_those_of_version_2(void **state) {
    static const char *const lines[] = {
        "\n{\"type\":\"round\",\"strategy\":1,\"repeat\":1,\"started_us\":1795248957115658,"
        "\"ledger_skew_us\":-12,\"is_realtime\":true,\"is_aborted\":false,\"requests\":4,"
        "\"planned\":5,\"late_launches\":3,\"instances\":[\"inventory-\\\"1\\\"?\"],"
        "\"products\":[\"01900000-0000-7000-8000-000000000001\"]}\n",
        "\n{\"type\":\"request\",\"number\":0,\"planned\":0,\"sent\":100000,\"received\":3000000,"
        "\"status\":201,\"unit\":10,\"instance\":0,\"key\":\"01900000-0000-7000-8000-"
        "000000000000\",\"is_repeat\":true,\"order_id\":\"01900000-0000-7000-8000-000000000000\","
        "\"outcome\":\"sold\",\"wait_us\":1,\"hold_us\":2000000,\"commit_us\":3,\"postgres\":4,"
        "\"redis\":5,\"retries\":6,\"shard\":7,\"lock\":\"redis\"}\n",
        "\n{\"type\":\"request\",\"number\":3,\"planned\":3000000,\"key\":\"01900000-0000-7000-"
        "8000-000000000003\",\"outcome\":\"unsent\"}\n",
        "\n{\"type\":\"sale\",\"order_id\":\"01900000-0000-7000-8000-000000000000\",\"unit\":10,"
        "\"remaining\":9,\"shard\":0,\"fence\":77,\"instance\":\"inventory-1\",\"at\":\"2026-11-"
        "21T10:01:02.123456Z\"}\n",
        "\n{\"type\":\"end\",\"verdict\":\"VIOLATED\",\"ended_us\":7654321,\"is_interrupted\":true,"
        "\"is_restless\":true,\"problem\":\"\"}\n",
    };
    const char *text = written_text(1);

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (strstr(text, lines[i]) == NULL)
            fail_msg("%s\nis not in\n%s", lines[i], text);
}

/* ---- a line is JSON: jansson writes and reads the same */

/* The lines as jansson writes them, with sorted keys and in ASCII; NULL if jansson refuses one. The
 * caller frees it. */
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

/* Writes the history `text` with `instead` in place of the `length` bytes at `at`. */
static void write_with(const char *text, const char *at, size_t length, const char *instead) {
    FILE *to = fopen(written.path, "w");

    assert_non_null(to);
    assert_true(fprintf(to, "%.*s%s%s", (int)(at - text), text, instead, at + length) > 0);
    assert_int_equal(fclose(to), 0);
}

/* The history that was read from the text, written again; NULL if it is refused. The caller frees
 * it. */
static char *reading_of(const char *text) {
    char *read = NULL;
    size_t size;
    FILE *to = open_memstream(&read, &size);
    int code;

    assert_non_null(to);
    write_with(text, text, 0, "");
    code = load_written();
    for (size_t i = 0; i < written.history.count; i++)
        assert_int_equal(history_write_round(to, &written.history.rounds[i]), 0);
    assert_int_equal(fclose(to), 0);
    if (code == 0)
        return read;
    free(read);
    return NULL;
}

/* Returns whether the text is accepted; then jansson must read the same. A text that jansson
 * accepts may be refused only because of an escape, which most members do not allow. */
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

/* Replaces each byte of the first line of its type by one of the changes. */
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
    const char *text = written_text(1);
    size_t tried = 0, taken = 0;

    assert_true(is_read_alike(text, false));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        tried += try_changes(text, types[i], &taken);
    assert_true(tried > 800 && taken > 100);
}

/* ---- writing */

/* The first line of the type contains the part, and jansson writes the same line. */
static void assert_written(const char *type, const char *part) {
    char *line = strstr(written_text(1), type), *dumped;
    json_t *json;

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
}

static void test_what_a_reply_told_of_its_cost_is_written_by_name(void **state) {
    struct record_cost *cost = &recorder->records[0].cost;

    *cost = (struct record_cost){0, INT32_MAX, -1, INT16_MAX, 10, INT32_MAX, -1, 0, -1};
    assert_written("{\"type\":\"request\"",
                   ",\"wait_us\":0,\"hold_us\":2147483647,\"postgres\":32767,\"redis\":10,"
                   "\"retries\":2147483647,\"lock\":\"local\"}");
    cost->kept_us = INT32_MAX;
    assert_written("{\"type\":\"request\"", "\"kept_us\":2147483647}");
    assert_int_equal(load_written(), 0);
    assert_memory_equal(&written.history.rounds[0].recorder->records[0].cost, cost, sizeof *cost);
}

static void test_numbers_and_texts_are_written_as_they_are_or_printable(void **state) {
    const struct ledger_extra extra = {.fence = INT64_MIN, .reserved = -1};

    sales[0].extra = &extra;
    sales[0].instance = "a \"\\/\xc3\xa4 库存 \xf0\x9f\x98\x80";
    assert_written("{\"type\":\"sale\"", "\"fence\":-9223372036854775808,");
    assert_written("{\"type\":\"sale\"", "\"a \\\"\\\\/\xc3\xa4 库存 \xf0\x9f\x98\x80\"");
    sales[0].instance = "\x1b\n\xff\xe2\x82";
    assert_written("{\"type\":\"sale\"", "\"?????\"");
}

/* ---- broken histories */

static void test_a_cut_history_has_its_whole_rounds(void **state) {
    const size_t one = strlen(written_text(1)), two = strlen(written_text(2));

    for (size_t cut = two - 1; cut > one; cut -= 97) {
        assert_int_equal(truncate(written.path, (off_t)cut), 0);
        assert_int_equal(load_written(), 0);
        assert_true(written.history.is_cut);
        assert_int_equal(written.history.count, 1);
    }
}

/* The history `text`, with `instead` in place of the `length` bytes at `at`, is refused. */
static void assert_refused(const char *text, const char *at, size_t length, const char *instead,
                           const char *reason) {
    write_with(text, at, length, instead);
    if (load_written() != -1 || strstr(written.why.text, reason) == NULL)
        fail_msg("%s\ninstead of %s", written.why.text, reason);
}

/* Each of these lines follows a whole history. */
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
        {"{\"type\":\"run\",\"version\":1}", "a run line came before"},
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
    const char *before = written_text(1);
    char line[512];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(line, sizeof line, "%s\n", cases[i].line);
        assert_refused(before, before + strlen(before), 0, line, cases[i].reason);
        assert_non_null(strstr(written.why.text, "history.ndjson line 14: "));
    }
}

/* Loads the history with the number at `at` replaced. If it loads, it can be judged. */
static int load_with(const char *text, const char *at, const char *number) {
    int rc;

    write_with(text, at, strspn(at, "-0123456789"), number);
    rc = load_written();
    if (rc != 0)
        assert_non_null(strstr(written.why.text, "history.ndjson line "));
    for (size_t i = 0; rc == 0 && i < written.history.count; i++)
        assert_int_equal(round_judge(&written.history.rounds[i], NULL), 0);
    return rc;
}

static void test_lines_that_contradict_each_other_are_refused(void **state) {
    static const struct {
        const char *written, *instead, *reason;
    } cases[] = {{"\"planned\":5", "\"planned\":3", "strategy or requests are out of range"},
                 {"\"requests\":4,\"planned\"", "\"requests\":5,\"planned\"", "fewer requests"},
                 {"\"requests\":4,\"planned\"", "\"requests\":3,\"planned\"", "more requests"},
                 {"\"number\":0", "\"number\":0,\"item\":1", "item or instance is out of range"},
                 {"\"instance\":0", "\"instance\":1", "item or instance is out of range"},
                 {"\"products\":[", "\"products\":[\"\",", "ledger of a product is missing"},
                 {"\"item\":0", "\"item\":1", "not the next product"},
                 {"\"verdict\":\"", "\"verdict\":\"UN",
                  "\"verdict\" must be one of \"VALID\", \"VIOLATED\", "},
                 {"\"outcome\":\"", "\"outcome\":\"re",
                  "\"outcome\" must be one of \"sold\", \"sold_out\", "},
                 {"\"key\":\"", "\"key\":\" ", "\"key\" must be an id"},
                 {"\"remaining\":", "\"left\":", "its \"left\" is unknown"},
                 {"\"remaining\":9,", "", "its \"remaining\" is missing"},
                 {"\"remaining\":", "\"remaining\":1,\"remaining\":", "is given twice"},
                 {"T10:01:02.", "T10.01:02.", "\"at\" must be a time such as "},
                 {"\"at\":\"2026", "\"at\":\"9999", "\"at\" must be a time such as "},
                 {",800.0,", ",-800.0,", "stages are out of range"},
                 {"\"lock\":\"", "\"lock\":\"x", "\"lock\" must be one of "}};
    const char *text = written_text(1);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(text, cases[i].written);

        assert_non_null(at);
        assert_refused(text, at, strlen(cases[i].written), cases[i].instead, cases[i].reason);
    }
}

static void test_no_number_does_harm(void **state) {
    static const char *const numbers[] = {
        "-9223372036854775808", "9223372036854775807", "1e300", "-1",
        "1000000000000000",     "9223372036854775808"};
    const char *text = written_text(1);
    size_t tried = 0, refused = 0;

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
}

static void test_a_history_that_is_none_or_of_another_version_is_named(void **state) {
    static const char line[] = "{\"type\":\"run\",\"version\":99,\"started_us\":0,\"settings\":{},"
                               "\"strategies\":[],\"stages\":[]}\n";

    assert_int_equal(load_written(), -1);
    assert_non_null(strstr(written.why.text, "No such file"));
    assert_int_equal(fclose(fopen(written.path, "w")), 0);
    assert_int_equal(load_written(), -1);
    assert_non_null(strstr(written.why.text, "its first line must have the type run or load"));
    assert_refused(line, line, 0, "", "line 1: its version is 99");
}

static void try_to_load(void *arg) {
    (void)arg;
    if (load_written() != 0)
        assert_non_null(strstr(written.why.text, "history.ndjson line "));
}

static void test_memory_may_fail_at_any_line(void **state) {
    write_written(2);
    fault_each_allocation(try_to_load, NULL);
    assert_int_equal(load_written(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WRITTEN(test_a_round_is_read_back_as_it_was),
        WRITTEN(test_events_are_read_back),
        WRITTEN(test_units_below_zero_are_read_back),
        WRITTEN(test_the_settings_are_read_back),
        WRITTEN(test_the_verdict_is_the_same_again),
        WRITTEN(test_a_round_is_judged_by_what_was_asked_for_then),
        WRITTEN(test_a_round_without_ledgers_keeps_its_problem),
        WRITTEN(test_what_was_read_is_written_again),
        WRITTEN(test_the_lines_are_those_of_version_2),
        WRITTEN(test_a_changed_line_is_read_as_jansson_reads_it),
        WRITTEN(test_what_a_reply_told_of_its_cost_is_written_by_name),
        WRITTEN(test_numbers_and_texts_are_written_as_they_are_or_printable),
        WRITTEN(test_a_cut_history_has_its_whole_rounds),
        WRITTEN(test_a_broken_line_is_named),
        WRITTEN(test_lines_that_contradict_each_other_are_refused),
        WRITTEN(test_no_number_does_harm),
        WRITTEN(test_a_history_that_is_none_or_of_another_version_is_named),
        WRITTEN(test_memory_may_fail_at_any_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
