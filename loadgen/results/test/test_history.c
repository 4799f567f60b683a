/* Histories: what is written is read back. */
#include "history_fixture.h"

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

static void assert_same_event(const struct event *a, const struct event *b) {
    assert_int_equal(a->at_ns, b->at_ns);
    assert_int_equal(a->began_ns, b->began_ns);
    assert_int_equal(a->until_ns, b->until_ns);
    assert_int_equal(a->item, b->item);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->result, b->result);
    assert_string_equal(a->who, b->who);
    assert_string_equal(a->order_id, b->order_id);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->detail, b->detail);
    assert_string_equal(a->key, b->key);
    assert_string_equal(a->token, b->token);
}

/* In order of time, with one of before the round, and one that lasted beyond its end. */
static void test_events_are_read_back(void **state) {
    struct event events[] = {{.at_ns = -5,
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
        assert_same_event(&read->items[i], &events[i]);
}

/* The stock of an oversold row goes below zero. */
static void test_units_below_zero_are_read_back(void **state) {
    for (int64_t unit = 0; unit > -4; unit--) {
        recorder->records[1].unit = sales[1].unit = orders[1].unit = unit;
        assert_int_equal(written_again(1)->recorder->records[1].unit, unit);
        history_free(&written.history);
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
    assert_int_equal(round_judge(&written.history.rounds[0]), 0);
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

    /* one.ledgers has what was read before it. */
    why_set(&written.one.problem, "the database \"orders\" is gone");
    why_set(&written.one.fault_problem, "no luck");
    written.one.are_events_lost = written.one.is_left_down = true;
    assert_int_equal(round_judge(&written.one), 0);
    read = written_again(1);
    assert_null(read->ledgers);
    assert_string_equal(read->problem.text, written.one.problem.text);
    assert_string_equal(read->fault_problem.text, "no luck");
    assert_true(read->are_events_lost && read->is_left_down);
    assert_int_equal(round_judge(&written.history.rounds[0]), 0);
    assert_int_equal(read->verdict.kind, VERDICT_INCONCLUSIVE);
}

static void test_what_was_read_is_written_again(void **state) {
    char *first, *again;
    FILE *to;

    (void)written_again(2);
    first = read_history();
    to = fopen(written.path, "w");
    assert_non_null(to);
    assert_int_equal(history_write_run(to, &written.history.options, written.history.started_us),
                     0);
    for (size_t i = 0; i < written.history.count; i++)
        assert_int_equal(history_write_round(to, &written.history.rounds[i]), 0);
    assert_int_equal(fclose(to), 0);
    again = read_history();
    assert_string_equal(first, again);
    free(first);
    free(again);
}

/* ---- what is written */

/* As they have been since version 2, byte for byte. */
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
    char *text;

    write_history(1);
    text = read_history();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (strstr(text, lines[i]) == NULL)
            fail_msg("%s\nis not in\n%s", lines[i], text);
    free(text);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
