/* Histories: what is written is read back, and what is broken is named. */
#include "history.h"

#include "fault.h"
#include "options_fixture.h"

#include "verdict_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/sale-history-XXXXXX";
static char path[64];
static struct options options;
static struct round one;
static struct product product = {.id = "01900000-0000-7000-8000-000000000001"};
static struct ledger_row row = {0, 1, 10, 8};
static struct history history;
static char why[512];

static void fill_options(void) {
    static char given[] = "none,redis,ttl=2s", name[] = "a \"name\"\n\xff",
                thresholds[] = "oversell==0\np(99)<250ms", command[] = "loadgen --strategy 'x y'";

    options_fill(&options, given, "none=TWIN");
    options.strategies = given;
    options.name = name;
    options.thresholds = thresholds;
    options.command_line = command;
    options.seed = 7;
    options.repeat = 2;
    options.is_ordinary = true;
    options.shape.stage_count = 1;
    options.shape.stages[0] = (struct plan_stage){1000 * MS, 800, 400.5};
}

/* Two sales, one of them of a repeated key, a refusal that is told, and a request never sent. */
static void fill_round(void) {
    struct record *record = sell(10);

    record->instance = recorder_instance(recorder, "inventory-\"1\"\xc3");
    record->status = 201;
    record->cost = (struct record_cost){1, 2000000, 3, 4, 5, 6, 7, RECORD_LOCK_REDIS};
    record->is_repeat = true;
    sell(9)->status = 201;
    request(RECORD_SOLD_OUT)->status = 409;
    request(RECORD_UNSENT);
    sales[0].fence = 77;
    ledger.row_count = 1;
    ledger.rows = &row;
    one = (struct round){.item = &options.list.items[1],
                         .strategy = 1,
                         .repeat = 1,
                         .items = 1,
                         .products = &product,
                         .recorder = recorder,
                         .ledgers = &ledger,
                         .ledger_skew_us = -12,
                         .started_us = 1795248957115658,
                         .ended_us = 7654321,
                         .is_realtime = true,
                         .is_restless = true,
                         .is_interrupted = true};
    recorder->late_launches = 3;
    recorder->planned = 5;
    assert_int_equal(round_judge(&one), 0);
}

static void write_history(size_t rounds) {
    FILE *to = fopen(path, "w");

    assert_non_null(to);
    assert_int_equal(history_write_run(to, &options, 1234567), 0);
    for (size_t i = 0; i < rounds; i++)
        assert_int_equal(history_write_round(to, &one), 0);
    assert_int_equal(fclose(to), 0);
}

static off_t size_of_history(void) {
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

static char *read_history(void) {
    const size_t size = (size_t)size_of_history();
    char *text = calloc(1, size + 1);
    FILE *from = fopen(path, "r");

    assert_non_null(text);
    assert_non_null(from);
    assert_int_equal(fread(text, 1, size, from), size);
    assert_int_equal(fclose(from), 0);
    return text;
}

static int set_up_history(void **state) {
    strcpy(strrchr(folder, '-'), "-XXXXXX");
    if (verdict_set_up(state) != 0 || mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/history.ndjson", folder);
    fill_options();
    fill_round();
    return 0;
}

static int tear_down_history(void **state) {
    history_free(&history);
    (void)unlink(path);
    (void)rmdir(folder);
    return verdict_tear_down(state);
}

static int load(void) {
    why[0] = '\0';
    return history_load(&history, folder, why, sizeof why);
}

static void assert_same_record(const struct record *a, const struct record *b) {
    assert_int_equal(a->planned_ns, b->planned_ns);
    assert_int_equal(a->sent_ns, b->sent_ns);
    assert_int_equal(a->received_ns, b->received_ns);
    assert_int_equal(a->unit, b->unit);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->item, b->item);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->instance, b->instance);
    assert_int_equal(a->is_repeat, b->is_repeat);
    assert_memory_equal(&a->cost, &b->cost, sizeof a->cost);
    assert_string_equal(a->key, b->key);
    assert_string_equal(a->order_id, b->order_id);
}

static void assert_same_sale(const struct ledger_sale *a, const struct ledger_sale *b) {
    assert_string_equal(a->order_id, b->order_id);
    assert_string_equal(a->instance, b->instance);
    assert_string_equal(a->at, b->at);
    assert_int_equal(a->unit, b->unit);
    assert_int_equal(a->shard, b->shard);
    assert_int_equal(a->fence, b->fence);
    assert_int_equal(a->remaining, b->remaining);
}

static void assert_same_order(const struct ledger_order *a, const struct ledger_order *b) {
    assert_string_equal(a->order_id, b->order_id);
    assert_string_equal(a->instance, b->instance);
    assert_string_equal(a->at, b->at);
    assert_int_equal(a->unit, b->unit);
}

static void test_a_round_is_read_back_as_it_was(void **state) {
    const struct round *read;

    (void)state;
    write_history(2);
    assert_int_equal(load(), 0);
    assert_false(history.is_cut);
    assert_int_equal(history.count, 2);
    assert_int_equal(history.started_us, 1234567);
    assert_int_equal(history.rounds[1].ended_us, 7654321);
    read = &history.rounds[1];
    assert_ptr_equal(read->item, &history.options.list.items[1]);
    assert_int_equal(read->repeat, 1);
    assert_int_equal(read->ledger_skew_us, -12);
    assert_int_equal(read->started_us, one.started_us);
    assert_true(read->is_realtime && read->is_restless && read->is_interrupted);
    assert_false(read->is_aborted);
    assert_string_equal(read->products[0].id, product.id);
    assert_int_equal(read->recorder->ended, 4);
    assert_int_equal(read->recorder->count, 4);
    assert_int_equal(read->recorder->planned, 5);
    assert_int_equal(read->recorder->late_launches, 3);
    for (size_t i = 0; i < 4; i++)
        assert_same_record(&read->recorder->records[i], &recorder->records[i]);
    assert_string_equal(read->recorder->instances[0], "inventory-\"1\"\xef\xbf\xbd");
    assert_int_equal(read->ledgers[0].initial, 10);
    assert_int_equal(read->ledgers[0].sale_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_same_sale(&read->ledgers[0].sales[i], &sales[i]);
        assert_same_order(&read->ledgers[0].orders[i], &orders[i]);
    }
    assert_memory_equal(read->ledgers[0].rows, &row, sizeof row);
}

static void test_the_settings_are_read_back(void **state) {
    const struct options *read = &history.options;

    (void)state;
    write_history(1);
    assert_int_equal(load(), 0);
    assert_int_equal(read->rate, 800);
    assert_int_equal(read->seed, 7);
    assert_int_equal(read->repeat, 2);
    assert_true(read->is_ordinary);
    assert_false(read->is_unjudged);
    assert_string_equal(read->name, "a \"name\"\n\xef\xbf\xbd");
    assert_string_equal(read->command_line, options.command_line);
    assert_int_equal(read->list.count, 2);
    assert_string_equal(read->list.items[1].spec, "redis,ttl=2s");
    assert_int_equal(read->expectations[0].anomaly, ANOMALY_TWIN);
    assert_int_equal(read->expectations[1].kind, VERDICT_VALID);
    assert_int_equal(read->threshold_list.count, 2);
    assert_int_equal(read->shape.stage_count, 1);
    assert_true(read->shape.stages[0].to > 400.4 && read->shape.stages[0].to < 400.6);
}

static void test_the_verdict_is_the_same_again(void **state) {
    (void)state;
    write_history(1);
    assert_int_equal(load(), 0);
    assert_int_equal(history.rounds[0].verdict.kind, one.verdict.kind);
    assert_int_equal(round_judge(&history.rounds[0]), 0);
    assert_memory_equal(&history.rounds[0].verdict, &one.verdict, sizeof one.verdict);
}

static void test_a_round_without_ledgers_keeps_its_problem(void **state) {
    (void)state; /* one.ledgers has what was read before the problem */
    snprintf(one.problem, sizeof one.problem, "the database \"orders\" is gone");
    assert_int_equal(round_judge(&one), 0);
    write_history(1);
    assert_int_equal(load(), 0);
    assert_null(history.rounds[0].ledgers);
    assert_string_equal(history.rounds[0].problem, one.problem);
    assert_int_equal(round_judge(&history.rounds[0]), 0);
    assert_int_equal(history.rounds[0].verdict.kind, VERDICT_INCONCLUSIVE);
}

static void test_what_was_read_is_written_again(void **state) {
    char *first, *again;
    FILE *to;

    (void)state;
    write_history(2);
    first = read_history();
    assert_int_equal(load(), 0);
    to = fopen(path, "w");
    assert_non_null(to);
    assert_int_equal(history_write_run(to, &history.options, history.started_us), 0);
    for (size_t i = 0; i < history.count; i++)
        assert_int_equal(history_write_round(to, &history.rounds[i]), 0);
    assert_int_equal(fclose(to), 0);
    again = read_history();
    assert_string_equal(first, again);
    free(first);
    free(again);
}

/* ---- what is written */

/* As they have been since version 1, byte for byte. */
static void test_the_lines_are_those_of_version_1(void **state) {
    static const char *const lines[] = {
        "\n{\"type\":\"round\",\"strategy\":1,\"repeat\":1,\"started_us\":1795248957115658,"
        "\"ledger_skew_us\":-12,\"is_realtime\":true,\"is_aborted\":false,\"requests\":4,"
        "\"planned\":5,\"late_launches\":3,\"instances\":[\"inventory-\\\"1\\\"\xef\xbf\xbd\"],"
        "\"products\":[\"01900000-0000-7000-8000-000000000001\"]}\n",
        "\n{\"type\":\"request\",\"number\":0,\"planned\":0,\"sent\":100000,\"received\":3000000,"
        "\"status\":201,\"unit\":10,\"instance\":0,\"key\":\"01900000-0000-7000-8000-"
        "000000000000\",\"is_repeat\":true,\"order_id\":\"01900000-0000-7000-8000-000000000000\","
        "\"outcome\":\"sold\",\"cost\":[1,2000000,3,4,5,6,7,1]}\n",
        "\n{\"type\":\"request\",\"number\":3,\"planned\":3000000,\"key\":\"01900000-0000-7000-"
        "8000-000000000003\",\"outcome\":\"unsent\"}\n",
        "\n{\"type\":\"product\",\"item\":0,\"initial\":10,\"available\":8,\"returned\":0,"
        "\"counted\":2,\"units\":2}\n",
        "\n{\"type\":\"row\",\"shard\":0,\"first_unit\":1,\"initial\":10,\"available\":8}\n",
        "\n{\"type\":\"sale\",\"order_id\":\"01900000-0000-7000-8000-000000000000\",\"unit\":10,"
        "\"remaining\":9,\"shard\":0,\"fence\":77,\"instance\":\"inventory-1\",\"at\":\"2026-11-"
        "21T10:01:02.123456Z\"}\n",
        "\n{\"type\":\"end\",\"verdict\":\"VIOLATED\",\"ended_us\":7654321,\"is_interrupted\":true,"
        "\"is_restless\":true,\"problem\":\"\"}\n",
    };
    char *text;

    (void)state;
    write_history(1);
    text = read_history();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (strstr(text, lines[i]) == NULL)
            fail_msg("%s\nis not in\n%s", lines[i], text);
    free(text);
}

/* ---- what is broken */

static void test_a_cut_history_has_its_whole_rounds(void **state) {
    off_t whole, end;

    (void)state;
    write_history(1);
    end = size_of_history();
    write_history(2);
    whole = size_of_history();
    for (off_t cut = whole - 1; cut > end; cut -= 97) {
        assert_int_equal(truncate(path, cut), 0);
        assert_int_equal(load(), 0);
        assert_true(history.is_cut);
        assert_int_equal(history.count, 1);
        history_free(&history);
    }
}

/* Write the line `text` after the lines of a whole history, and load it. */
static void assert_refused(const char *text, const char *reason) {
    FILE *to;

    write_history(1);
    to = fopen(path, "a");
    assert_non_null(to);
    assert_true(fprintf(to, "%s\n", text) > 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(load(), -1);
    if (strstr(why, reason) == NULL || strstr(why, "history.ndjson line 14: ") == NULL)
        fail_msg("%s\ninstead of %s", why, reason);
    history_free(&history);
}

static void test_a_broken_line_is_named(void **state) {
    static const struct {
        const char *line, *reason;
    } cases[] = {
        {"{\"type\":\"request\",", "it is no JSON"},
        {"{}", "no type"},
        {"[]", "no type"},
        {"{\"type\":\"dance\"}", "unknown"},
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

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].line, cases[i].reason);
}

/* Load the history with the number at `at` replaced; what can be loaded can be judged. */
static int load_with(const char *text, const char *at, const char *number) {
    FILE *to = fopen(path, "w");
    int rc;

    assert_non_null(to);
    assert_true(fprintf(to, "%.*s%s%s", (int)(at - text), text, number,
                        at + strspn(at, "-0123456789")) > 0);
    assert_int_equal(fclose(to), 0);
    rc = load();
    if (rc != 0)
        assert_non_null(strstr(why, "history.ndjson line "));
    for (size_t i = 0; rc == 0 && i < history.count; i++)
        assert_int_equal(round_judge(&history.rounds[i]), 0);
    history_free(&history);
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
                 {"\"verdict\":\"", "\"verdict\":\"UN", "verdict is unknown"},
                 {"\"outcome\":\"", "\"outcome\":\"re", "outcome is unknown"},
                 {"\"key\":\"", "\"key\":\"x", "\"key\" is of another type or out of range"},
                 {"\"remaining\":", "\"left\":", "\"remaining\" is missing"},
                 {",800.0,", ",-800.0,", "stages are out of range"},
                 {",\"cost\":[", ",\"cost\":[1,", "cost has more or fewer numbers"}};
    char *text;

    (void)state;
    write_history(1);
    text = read_history();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *at = strstr(text, cases[i].written);
        FILE *to = fopen(path, "w");

        assert_non_null(at);
        assert_non_null(to);
        assert_true(fprintf(to, "%.*s%s%s", (int)(at - text), text, cases[i].instead,
                            at + strlen(cases[i].written)) > 0);
        assert_int_equal(fclose(to), 0);
        if (load() == 0 || strstr(why, cases[i].reason) == NULL)
            fail_msg("%s\ninstead of %s", why, cases[i].reason);
        history_free(&history);
    }
    free(text);
}

static void test_no_number_does_harm(void **state) {
    static const char *const numbers[] = {
        "-9223372036854775808", "9223372036854775807", "1e300", "-1",
        "1000000000000000",     "9223372036854775808"};
    size_t tried = 0, refused = 0;
    char *text;

    (void)state;
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
    FILE *to = fopen(path, "w");

    (void)state;
    assert_non_null(to);
    assert_true(fprintf(to, "{\"type\":\"run\",\"version\":99,\"started_us\":0,\"settings\":{},"
                            "\"strategies\":[],\"stages\":[]}\n") > 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(load(), -1);
    assert_non_null(strstr(why, "line 1: its version is 99"));
}

static void test_an_empty_or_missing_history_is_named(void **state) {
    (void)state;
    assert_int_equal(load(), -1);
    assert_non_null(strstr(why, "No such file"));
    history_free(&history);
    assert_int_equal(fclose(fopen(path, "w")), 0);
    assert_int_equal(load(), -1);
    assert_non_null(strstr(why, "does not begin"));
}

static void load_and_free(void *arg) {
    (void)arg;
    if (load() != 0)
        assert_non_null(strstr(why, "history.ndjson line "));
    history_free(&history);
}

static void test_memory_may_fail_at_any_line(void **state) {
    (void)state;
    write_history(2);
    fault_each_allocation(load_and_free, NULL);
    assert_int_equal(load(), 0);
}

#define WRITTEN(test) cmocka_unit_test_setup_teardown(test, set_up_history, tear_down_history)

int main(void) {
    const struct CMUnitTest tests[] = {
        WRITTEN(test_a_round_is_read_back_as_it_was),
        WRITTEN(test_the_settings_are_read_back),
        WRITTEN(test_what_was_read_is_written_again),
        WRITTEN(test_the_lines_are_those_of_version_1),
        WRITTEN(test_the_verdict_is_the_same_again),
        WRITTEN(test_a_round_without_ledgers_keeps_its_problem),
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
