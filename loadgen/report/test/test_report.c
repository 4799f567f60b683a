/* The report: what a person reads fits a terminal, and what a program reads is JSON. */
#include "report_fixture.h"
#include "summary_json.h"

#include <jansson.h>

static void test_the_text_says_what_was_found(void **state) {
    char *text = printed(report_print);

    assert_non_null(strstr(text, "VIOLATED TWIN"));
    assert_non_null(strstr(text, "  TWIN, 431 times: one unit was sold twice"));
    assert_non_null(strstr(text, "unit 788 sold twice"));
    assert_non_null(strstr(text, "\n    unit 788 sold twice"));
    assert_non_null(strstr(text, "none: VIOLATED, as expected\n"));
    assert_non_null(strstr(text, ": INCONCLUSIVE\n  the schedule was missed\n"));
    assert_non_null(strstr(text, "\natomic: VALID: no anomaly in 790 overlapping attempts"));
    assert_non_null(strstr(text, "0.38 % (3/n)"));
    assert_null(strstr(text, "safe"));
    assert_null(strstr(text, "\033")); /* as in a file */
    free(text);
}

static void test_what_fired_stands_below_the_verdict(void **state) {
    struct firings *firings = &results[0].verdict.firings;

    assert_silent_on("fired");
    firings_arm_spec(firings, "none,fail=after-read:pause=4s@9,fail=before-write:crash");
    assert_tells("expected never fired: after-read:pause=4s@9 never fired: before-write:crash ");
    firings->items[0].times = 3;
    firings->items[0].in_time = 1;
    firings->items[0].first = (struct event){.at_ns = 412000000,
                                             .kind = EVENT_FAILPOINT,
                                             .who = "inventory-1",
                                             .name = "after-read",
                                             .detail = "pause 4000 ms",
                                             .order_id = "x"};
    assert_tells(
        "fired: after-read pause 4000 ms at inventory-1, order x, 0.412 s, the first of 3 ");
    assert_silent_on("too late");
    firings->items[0].in_time = 0;
    assert_tells("first of 3; too late, nothing was sold after it ");
}

static void test_no_line_is_wider_than_a_terminal(void **state) {
    char *text = printed(report_print);

    assert_fits(text, 80);
    free(text);
}

static void test_large_numbers_fit_too(void **state) {
    char *text;

    options.stock = options.requests = rounds[1].verdict.sold = 9999999;
    rounds[1].verdict.left = rounds[1].verdict.refused_early = 9999999;
    results[1].total->count = results[1].total->by_outcome[RECORD_BUSY] = 9999999;
    results[1].total->by_outcome[RECORD_UNKNOWN] = 9999999;
    cost(results[1].total);
    results[1].count = 2;
    results[1].rounds[1] = results[1].rounds[0];
    spread(&results[1].p50_ms, 1, 10400, 99999);
    spread(&results[1].p99_ms, 1, 10400, 99999);
    spread(&results[1].rate, 10000, 10000, 10000);
    text = printed(report_print);
    assert_fits(text, 80);
    free(text);
}

static void test_repeats_show_the_median_and_the_range_below(void **state) {
    assert_silent_on("median");
    results[2].count = 3;
    results[2].rounds[1] = results[2].rounds[2] = results[2].rounds[0];
    spread(&results[2].p50_ms, 0.4, 3.25, 11);
    spread(&results[2].p99_ms, 900, 1250, 10400);
    spread(&results[2].rate, 700.4, 750, 801);
    assert_tells("3.2 ms 1.2 s 750 0.4–11 0.9–10 700–801");
    assert_says("800/3000");
    assert_says("the median of the rounds");
}

static void test_what_it_cost_is_told_only_when_it_is_known(void **state) {
    assert_int_equal(setenv("COLUMNS", "120", 1), 0);
    assert_silent_on("\ncost ");
    cost(results[1].total);
    assert_says("\ncost ");
    assert_tells("40 ms 40 ms 3.0 ms 1.0 ms 2.5 2.1 0.5");
    assert_tells("atomic - - - - - - - - - ");
    cost(results[2].total);
    results[2].total->by_outcome[RECORD_SOLD] = 0;
    assert_tells("atomic 40 ms 40 ms 3.0 ms 1.0 ms 2.5 2.1 - ");
    assert_int_equal(unsetenv("COLUMNS"), 0);
}

static void test_columns_that_say_nothing_are_left_out(void **state) {
    for (size_t i = 0; i < 3; i++)
        results[i].verdict.refused_early = 0;
    assert_silent_on(" unknown");
    assert_silent_on(" early");
    assert_says(" oversold");
    results[1].total->by_outcome[RECORD_UNKNOWN] = 3;
    assert_says(" unknown ");
    assert_tells("; unknown: not told; p50");
    cost(results[2].total);
    memset(results[2].total->locks, 0, sizeof results[2].total->locks);
    results[2].total->wait.count = results[2].total->hold.count = 0;
    assert_tells("cost commit p50 PG Redis retries none");
    assert_silent_on("ceiling:");
}

static void test_what_customers_were_told_is_counted(void **state) {
    results[2].total->by_outcome[RECORD_SOLD_OUT] = 303;
    results[2].total->by_outcome[RECORD_BUSY] = 12;
    assert_tells("answers offered sold out busy p50 p99 rate none 800 0 0 50 ms");
    assert_tells("atomic 800 303 12 50 ms 99 ms 800");
}

static void test_a_narrow_terminal_has_fewer_columns(void **state) {
    char *text;

    cost(results[2].total);
    for (size_t columns = 50; columns <= 120; columns += 10) {
        char width[8];

        snprintf(width, sizeof width, "%zu", columns);
        assert_int_equal(setenv("COLUMNS", width, 1), 0);
        text = printed(report_print);
        assert_fits(text, columns);
        free(text);
    }
    assert_int_equal(setenv("COLUMNS", "40", 1), 0);
    assert_tells("strategy verdict sold/stock none ");
    assert_tells("answers sold out busy p99 none ");
    assert_tells("cost wait p99 ceiling none ");
    assert_int_equal(setenv("COLUMNS", "60", 1), 0);
    assert_tells("strategy verdict sold/stock oversold expected none ");
    assert_tells("answers offered sold out busy p50 p99 rate none ");
    assert_tells("cost wait p50 wait p99 hold p50 ceiling reached none ");
    assert_int_equal(unsetenv("COLUMNS"), 0);
}

static void test_a_round_without_an_answer_has_no_times(void **state) {
    memset(&results[2].total->latency, 0, sizeof results[2].total->latency);
    assert_tells("atomic 800 0 0 - - -");
}

static void test_the_json_has_what_the_text_has(void **state) {
    char *text = printed(summary_json_write);
    json_t *json = json_loads(text, 0, NULL);
    json_t *first = json_array_get(json_object_get(json, "strategies"), 0);
    const char *verdict, *name;
    int sold, twins, left;
    double within;

    assert_int_equal(json_unpack(first, "{s:s, s:i, s:i, s:i, s:[{s:s}], s:{s:f}}", "verdict",
                                 &verdict, "sold", &sold, "twins", &twins, "left", &left,
                                 "anomalies", "name", &name, "schedule", "within_2ms_percent",
                                 &within),
                     0);
    assert_string_equal(verdict, "VIOLATED");
    assert_string_equal(name, "TWIN");
    assert_int_equal(sold, 800);
    assert_int_equal(twins, 431);
    assert_int_equal(left, 200);
    assert_true(json_is_false(json_object_get(first, "stock_ran_out")));
    assert_true(within > 99.99);
    assert_int_equal(json_array_size(json_object_get(json, "strategies")), 3);
    json_decref(json);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REPORTED(test_the_text_says_what_was_found),
        REPORTED(test_what_fired_stands_below_the_verdict),
        REPORTED(test_no_line_is_wider_than_a_terminal),
        REPORTED(test_large_numbers_fit_too),
        REPORTED(test_repeats_show_the_median_and_the_range_below),
        REPORTED(test_what_it_cost_is_told_only_when_it_is_known),
        REPORTED(test_columns_that_say_nothing_are_left_out),
        REPORTED(test_what_customers_were_told_is_counted),
        REPORTED(test_a_narrow_terminal_has_fewer_columns),
        REPORTED(test_a_round_without_an_answer_has_no_times),
        REPORTED(test_the_json_has_what_the_text_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
