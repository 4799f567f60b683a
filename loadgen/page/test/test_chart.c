/* Charts of the page: samples keep rare outcomes, times agree, and data never ends the script. */
#include "verdict_fixture.h"

#include "chart.h"
#include "chart_ledger.h"
#include "fault.h"
#include "page.h"

static struct strategy_item item = {.spec = "redis,ttl=2s,fail=after-read:pause=4s@100,work=2ms,"
                                            "fail=before-write:error"};
static struct round drawn;
static json_t *chart;

static void draw(void) {
    drawn.recorder = recorder;
    drawn.verdict = verdict;
    json_decref(chart);
    chart = chart_make(&drawn);
    assert_non_null(chart);
}

static int set_up(void **state) {
    drawn = (struct round){.item = &item,
                           .items = 1,
                           .ledgers = &ledger,
                           .started_us = ledger_time_us("2026-11-21T10:01:02.000000Z")};
    return verdict_set_up(state);
}

static int tear_down(void **state) {
    json_decref(chart);
    chart = NULL;
    return verdict_tear_down(state);
}

static const json_t *part(const char *a, const char *b) {
    return json_object_get(json_object_get(chart, a), b);
}

static json_int_t last_of(const json_t *line) {
    return json_integer_value(json_array_get(line, json_array_size(line) - 1));
}

static json_int_t number(const char *key) {
    return json_integer_value(json_object_get(chart, key));
}

static void test_stock_falls_as_orders_rise(void **state) {
    for (int64_t unit = 10; unit >= 8; unit--)
        sell(unit);
    ledger.rows = &(struct ledger_row){.first_unit = 1, .initial = 10, .available = 7};
    ledger.row_count = 1;
    draw();
    assert_int_equal(last_of(part("stock", "stock")), 7);
    assert_int_equal(last_of(part("stock", "orders")), 3);
    assert_int_equal(last_of(part("stock", "sold")), 3);
    assert_int_equal(json_array_size(part("stock", "t")), CHART_STEPS);
    assert_true(json_is_null(json_object_get(chart, "oversold_us")));
}

/* Three units in two orders: one at its reply, the other, without a yes, when it was written. */
static void test_orders_of_another_shop_count_from_their_replies(void **state) {
    drawn.is_shop_named = ledger.is_unnumbered = true;
    at(sell(2), 10, 20);
    at(request(RECORD_UNKNOWN), 30, 0);
    ledger_row(1, 1)->quantity = 2;
    at_time(1, "10:01:02.100000");
    sales[0].quantity = 1;
    sales[0].at_us = 0;
    ledger.initial = 2;
    ledger.available = 1;
    drawn.recorder = recorder;
    draw();
    assert_true(json_is_null(json_array_get(part("stock", "stock"), 0)));
    assert_int_equal(last_of(part("stock", "orders")), 3);
    assert_int_equal(json_integer_value(json_array_get(part("stock", "orders"), 0)), 0);
    assert_int_equal(number("oversold_us"), 100000);
    assert_int_equal(number("oversold_left"), 1);
    assert_int_equal(json_integer_value(part("clock", "sales")), 0);
}

static void test_oversell_is_where_orders_pass_the_stock(void **state) {
    ledger.initial = 2;
    for (int i = 0; i < 3; i++)
        sell(1);
    for (int i = 0; i < 3; i++)
        orders[i].at_us = ledger_time_us("2026-11-21T10:01:02.001000Z") + 1000 * i;
    draw();
    assert_int_equal(number("oversold_us"), 3000);
}

/* The second product was oversold; a hundred units of the other products would hide that. */
static void test_oversold_product_is_drawn_alone(void **state) {
    struct ledger_order bought[2] = {{.at_us = ledger_time_us("2026-11-21T10:01:02.001000Z")},
                                     {.at_us = ledger_time_us("2026-11-21T10:01:02.002000Z")}};
    struct ledger_sale sold[2] = {
        {.unit = 1, .remaining = 1, .at_us = ledger_time_us("2026-11-21T10:01:02.001000Z")},
        {.unit = 1, .remaining = 1, .at_us = ledger_time_us("2026-11-21T10:01:02.002000Z")}};
    struct ledger_row row = {.first_unit = 1, .initial = 1};
    struct ledger ledgers[2] = {{.initial = 100},
                                {.initial = 1,
                                 .rows = &row,
                                 .row_count = 1,
                                 .sales = sold,
                                 .sale_count = 2,
                                 .orders = bought,
                                 .order_count = 2}};

    drawn.ledgers = ledgers;
    drawn.items = 2;
    draw();
    assert_int_equal(number("product"), 1);
    assert_int_equal(number("initial"), 1);
    assert_int_equal(number("oversold_us"), 2000);
    assert_int_equal(number("oversold_left"), 1);
    assert_int_equal(last_of(part("stock", "orders")), 2);
}

static json_int_t measured(void) {
    json_int_t count = 0;
    const json_t *row;
    size_t i;

    json_array_foreach (part("latency", "rows"), i, row)
        count += json_integer_value(json_array_get(row, 0));
    return count;
}

static void test_request_that_was_not_sent_has_no_response_time(void **state) {
    sell(1);
    request(RECORD_UNREACHED)->received_ns = 5 * MS;
    draw();
    assert_int_equal(measured(), 1);
    assert_int_equal(json_integer_value(part("scatter", "of")), 2);
}

/* Somebody else may have written the history. */
static void test_answer_before_its_planned_time_is_drawn(void **state) {
    sell(1)->planned_ns = 3600 * 1000 * MS;
    draw();
    assert_int_equal(measured(), 1);
    assert_int_equal(number("end_us"), 3600000000);
}

/* One answer of three came after 6 s. Drawings by planned time and the lines of the stock do not
 * wait for it. */
static void test_axis_ends_where_its_data_ends(void **state) {
    for (int64_t unit = 10; unit >= 8; unit--)
        sell(unit);
    recorder->records[0].received_ns = 6000 * MS;
    for (int i = 0; i < 3; i++) {
        orders[i].at_us = sales[i].at_us = ledger_time_us("2026-11-21T10:01:02.800000Z");
    }
    draw();
    assert_int_equal(number("end_us"), 6000000);
    assert_int_equal(number("planned_us"), 2000);
    assert_int_equal(json_array_size(part("latency", "rows")), 1);
    assert_int_equal(last_of(part("stock", "t")), 800000);
}

static void test_ledger_times_are_moved_by_the_skew(void **state) {
    sell(1);
    draw(); /* sold at .123456, and the request ran for the first 3 ms */
    assert_int_equal(json_integer_value(part("clock", "outside")), 1);
    drawn.ledger_skew_us = -122000;
    draw();
    assert_int_equal(json_integer_value(part("clock", "sales")), 1);
    assert_int_equal(json_integer_value(part("clock", "outside")), 0);
}

static void test_failpoints_are_named(void **state) {
    sell(1);
    draw();
    assert_string_equal(json_string_value(json_object_get(chart, "fail")),
                        "after-read:pause=4s@100, before-write:error");
}

static json_int_t number_in(const json_t *rows, size_t row, size_t place) {
    return json_integer_value(json_array_get(json_array_get(rows, row), place));
}

/* Two instances sell 200 units in turns. */
static void sell_by_two(void) {
    (void)recorder_instance(recorder, "inventory-1");
    (void)recorder_instance(recorder, "inventory-2");
    for (int i = 0; i < 200; i++)
        sell(i + 1)->instance = (int16_t)(i % 2);
}

/* Instance 0 answers every millisecond, except in the 300 ms after number 50; instance 1 always. */
static void test_silent_instance_is_a_fault(void **state) {
    const json_t *faults;

    sell_by_two();
    for (int i = 50; i < 200; i += 2)
        recorder->records[i].received_ns += 300 * MS;
    draw();
    faults = json_object_get(chart, "faults");
    assert_int_equal(json_array_size(faults), 1);
    assert_int_equal(number_in(faults, 0, 0), 0);
    assert_in_range(number_in(faults, 0, 1), 48000, 51500);
    assert_int_equal(number_in(faults, 0, 2), 353000);
}

/* An event explains the same silence; results of locks appear only in counterexamples. */
static void test_what_failed_on_purpose_is_not_inferred(void **state) {
    struct event events[] = {{.at_ns = 40 * MS,
                              .until_ns = 40 * MS,
                              .kind = EVENT_FAILPOINT,
                              .who = "inventory-2",
                              .name = "after-read",
                              .detail = "delay 900 ms"},
                             {.at_ns = 50 * MS,
                              .until_ns = 350 * MS,
                              .kind = EVENT_FAILPOINT,
                              .who = "inventory-1",
                              .name = "after-read",
                              .detail = "pause 300 ms"},
                             {.at_ns = 60 * MS, .kind = EVENT_LOCK, .name = "SET NX"},
                             {.at_ns = 90 * MS,
                              .until_ns = EVENT_OPEN,
                              .kind = EVENT_SERVER,
                              .who = "redis",
                              .name = "kill"}};
    const json_t *known;

    test_silent_instance_is_a_fault(state);
    drawn.events = (struct event_list){1, events};
    draw();
    assert_int_equal(json_array_size(json_object_get(chart, "faults")), 1);
    drawn.events.count = 4;
    draw();
    assert_int_equal(json_array_size(json_object_get(chart, "faults")), 0);
    known = json_object_get(chart, "events");
    assert_int_equal(json_array_size(known), 3);
    assert_int_equal(number("event_count"), 3);
    assert_int_equal(number_in(known, 0, 1), 40000);
    assert_int_equal(number_in(known, 0, 2), 40000);
    assert_int_equal(number_in(known, 1, 2), 350000);
    assert_int_equal(number_in(known, 2, 2), number("end_us"));
    assert_string_equal(json_string_value(json_array_get(json_array_get(known, 2), 3)),
                        "redis kill");
}

static void test_of_many_events_some_of_all_times_are_drawn(void **state) {
    struct event events[800];
    const json_t *known;

    sell(1);
    for (int i = 0; i < 800; i++)
        events[i] = (struct event){.at_ns = i * MS, .kind = EVENT_FAILPOINT};
    drawn.events = (struct event_list){800, events};
    draw();
    known = json_object_get(chart, "events");
    assert_in_range(json_array_size(known), 20, 40);
    assert_in_range(number_in(known, json_array_size(known) - 1, 1), 770000, 799000);
    assert_int_equal(number("event_count"), 800);
}

/* Instance 0 stops for a second. Instance 1 is silent, too, except for one answer in between. */
static void test_fault_of_one_instance_is_not_told_of_all(void **state) {
    sell_by_two();
    for (int i = 50; i < 200; i++)
        recorder->records[i].received_ns += (i == 51 ? 500 : 1000) * MS;
    draw();
    assert_int_equal(json_array_size(json_object_get(chart, "faults")), 1);
    assert_int_equal(number_in(json_object_get(chart, "faults"), 0, 0), 0);
}

static void test_rare_outcomes_and_outliers_are_kept(void **state) {
    const size_t count = 20000;
    struct record *record;
    size_t i, rare = 0, slow = 0;
    const json_t *point;

    recorder_free(recorder);
    recorder = recorder_make(count);
    assert_non_null(recorder);
    for (size_t n = 0; n < count; n++) {
        record = recorder_begin(recorder, recorder->count, (int64_t)n * MS, NULL);
        recorder->ended++;
        record->outcome = n % 4000 == 7 ? RECORD_UNKNOWN : RECORD_SOLD_OUT;
        recorder->by_outcome[record->outcome]++;
        record->sent_ns = record->planned_ns + 1000;
        record->received_ns = record->planned_ns + (n == 12345 ? 900 : 2) * MS;
    }
    draw();
    assert_in_range(json_array_size(part("scatter", "points")), 500, CHART_POINTS);
    json_array_foreach (part("scatter", "points"), i, point) {
        rare += json_integer_value(json_array_get(point, 2)) == 1;
        slow += json_integer_value(json_array_get(point, 1)) == 900000;
    }
    assert_int_equal(rare, 5);
    assert_int_equal(slow, 1);
    assert_int_equal(json_integer_value(part("scatter", "of")), count);
}

/* Two sales of unit 9 among 400 others: the drawing has both, and at most CHART_OPS in all. */
static void test_counterexample_is_drawn_with_its_neighbours(void **state) {
    const json_t *example, *op;
    size_t i, named = 0;
    json_t *ops;

    for (int n = 0; n < 402; n++)
        sell(n == 200 || n == 203 ? 9 : n + 10);
    verdict.counterexamples = 1;
    verdict.counterexample[0].anomaly = ANOMALY_TWIN;
    verdict.counterexample[0].ops = 2;
    memcpy(verdict.counterexample[0].order_id[0], ids[200], UUID_TEXT);
    memcpy(verdict.counterexample[0].order_id[1], ids[203], UUID_TEXT);
    draw();
    example = json_array_get(json_object_get(chart, "examples"), 0);
    ops = json_object_get(example, "ops");
    assert_in_range(json_array_size(ops), 150, CHART_OPS);
    assert_int_equal(json_integer_value(json_object_get(example, "of")), 402);
    chart_thin(chart, CHART_POINTS / 100);
    json_array_foreach (ops, i, op) {
        named += json_integer_value(json_array_get(op, 1)) > 0;
        if (json_integer_value(json_array_get(op, 1)) > 0)
            assert_int_equal(json_integer_value(json_array_get(op, 6)), 9);
    }
    assert_int_equal(named, 2);
    assert_in_range(json_array_size(ops), 2, 6);
}

static void test_named_order_without_request_and_sale_is_left_out(void **state) {
    sell(1);
    verdict.counterexamples = 1;
    verdict.counterexample[0].ops = 2;
    memcpy(verdict.counterexample[0].order_id[0], ids[0], UUID_TEXT);
    memcpy(verdict.counterexample[0].order_id[1], ids[1], UUID_TEXT);
    draw();
    assert_int_equal(json_array_size(json_object_get(
                         json_array_get(json_object_get(chart, "examples"), 0), "ops")),
                     1);
}

static void test_round_without_anything_is_drawn(void **state) {
    draw();
    assert_int_equal(json_array_size(part("scatter", "points")), 0);
    drawn.ledgers = NULL;
    draw();
    assert_true(json_is_null(json_object_get(chart, "stock")));
}

static void draw_if_possible(void *arg) {
    json_t *made = chart_make(&drawn);

    *(int *)arg += made == NULL;
    json_decref(made);
}

static void test_chart_is_whole_or_not_there(void **state) {
    int undrawn = 0;

    for (int64_t unit = 10; unit >= 8; unit--)
        sell(unit);
    draw();
    fault_each_allocation(draw_if_possible, &undrawn);
    assert_true(undrawn >= 5); /* faults, outcomes, points, latencies, ledgers */
}

static void test_violating_round_is_drawn_else_the_first(void **state) {
    const struct round valid = {.verdict.kind = VERDICT_VALID}, later = valid;
    const struct round violated = {.verdict.kind = VERDICT_VIOLATED}, other = violated;
    const struct result results[] = {{.count = 2, .rounds = {&valid, &later}},
                                     {.count = 3, .rounds = {&valid, &violated, &other}}};

    assert_ptr_equal(page_round(&results[0]), &valid);
    assert_ptr_equal(page_round(&results[1]), &violated);
}

static void test_page_spells_what_would_end_its_script(void **state) {
    struct page_run run = {.summary = json_pack("{s:s}", "name", "</script><!--\xE2\x80\xA8"),
                           .charts = json_null(),
                           .environment = json_null()};
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    assert_int_equal(page_write_runs(&run, 1, to), 0);
    assert_int_equal(fclose(to), 0);
    assert_non_null(strstr(text, "[{\"name\":\"\\u003c/script\\u003e\\u003c!--\\u2028\"}]"));
    assert_null(strstr(text, "</script><!--"));
    assert_null(strstr(text, "@charts@"));
    free(text);
    json_decref(run.summary);
}

#define DRAWN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        DRAWN(test_stock_falls_as_orders_rise),
        DRAWN(test_orders_of_another_shop_count_from_their_replies),
        DRAWN(test_oversell_is_where_orders_pass_the_stock),
        DRAWN(test_oversold_product_is_drawn_alone),
        DRAWN(test_axis_ends_where_its_data_ends),
        DRAWN(test_request_that_was_not_sent_has_no_response_time),
        DRAWN(test_answer_before_its_planned_time_is_drawn),
        DRAWN(test_ledger_times_are_moved_by_the_skew),
        DRAWN(test_failpoints_are_named),
        DRAWN(test_silent_instance_is_a_fault),
        DRAWN(test_what_failed_on_purpose_is_not_inferred),
        DRAWN(test_of_many_events_some_of_all_times_are_drawn),
        DRAWN(test_fault_of_one_instance_is_not_told_of_all),
        DRAWN(test_rare_outcomes_and_outliers_are_kept),
        DRAWN(test_counterexample_is_drawn_with_its_neighbours),
        DRAWN(test_named_order_without_request_and_sale_is_left_out),
        DRAWN(test_round_without_anything_is_drawn),
        DRAWN(test_chart_is_whole_or_not_there),
        DRAWN(test_violating_round_is_drawn_else_the_first),
        DRAWN(test_page_spells_what_would_end_its_script),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
