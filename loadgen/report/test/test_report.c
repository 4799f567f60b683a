/* The report: it fits a terminal for people, and is JSON for programs; and its sentences. */
#include "report_fixture.h"

#include "summary_json.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_the_text_says_what_was_found(void **state) {
    assert_says("VIOLATED TWIN");
    assert_says("  TWIN, 431 times: one unit was sold twice");
    assert_says("\n    unit 788 sold twice");
    assert_says("none: VIOLATED, as expected\n");
    assert_says(": INCONCLUSIVE\n  the schedule was missed\n");
    assert_says("\natomic: VALID: no anomaly in 790 overlapping attempts");
    assert_tells("attempts, so with 95 % confidence the true rate is below 0.38 %; the");
    assert_silent_on("safe");
    assert_silent_on("\033"); /* as in a file */
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

/* Also with large numbers. */
static void test_no_line_is_wider_than_a_terminal(void **state) {
    assert_fits(80);
    options.stock = options.requests = rounds[1].verdict.sold = 9999999;
    rounds[1].verdict.left = rounds[1].verdict.refused_early = 9999999;
    results[1].total->count = results[1].total->by_outcome[RECORD_BUSY] = 9999999;
    results[1].total->by_outcome[RECORD_UNKNOWN] = 9999999;
    cost(results[1].total);
    results[1].count = 2;
    results[1].rounds[1] = results[1].rounds[0];
    results[1].p50_ms = (struct spread){.median = 10400, .min = 1, .max = 99999};
    results[1].p99_ms = (struct spread){.median = 10400, .min = 1, .max = 99999};
    results[1].rate = (struct spread){.median = 10000, .min = 10000, .max = 10000};
    assert_fits(80);
}

static void test_repeats_show_the_median_and_the_range_below(void **state) {
    assert_silent_on("median");
    results[2].count = 3;
    results[2].rounds[1] = results[2].rounds[2] = results[2].rounds[0];
    results[2].p50_ms = (struct spread){.median = 3.25, .min = 0.4, .max = 11};
    results[2].p99_ms = (struct spread){.median = 1250, .min = 900, .max = 10400};
    results[2].rate = (struct spread){.median = 750, .min = 700.4, .max = 801};
    assert_tells("3.2 ms 1.2 s 750 0.4–11 0.9–10 700–801");
    assert_says("800/3000");
    assert_tells("p50, p99 and rate are the median of the rounds; below it stand the lowest and");
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
    assert_tells("; unknown: got neither a yes nor a no; p50");
    cost(results[2].total);
    memset(results[2].total->locks, 0, sizeof results[2].total->locks);
    results[2].total->wait.count = results[2].total->hold.count = 0;
    assert_tells("cost commit p50 PG Redis retries none");
    assert_silent_on("ceiling:");
}

static void test_a_verdict_that_leaves_out_names_explains_its_number(void **state) {
    assert_says("VIOLATED TWIN +2 ");
    assert_tells("+N: N more anomalies, told above");
    results[0].verdict.found[ANOMALY_EARLY_SOLD_OUT].count = 0;
    assert_says("VIOLATED TWIN LEAK ");
    assert_silent_on("+N");
}

static void test_what_customers_were_told_is_counted(void **state) {
    results[2].total->by_outcome[RECORD_SOLD_OUT] = 303;
    results[2].total->by_outcome[RECORD_BUSY] = 12;
    assert_tells("answers offered sold out busy p50 p99 rate none 800 0 0 50 ms");
    assert_tells("atomic 800 303 12 50 ms 99 ms 800");
    memset(&results[2].total->latency, 0, sizeof results[2].total->latency);
    assert_tells("atomic 800 303 12 - - -"); /* without an answer there are no times */
}

static void test_a_narrow_terminal_has_fewer_columns(void **state) {
    cost(results[2].total);
    for (size_t columns = 50; columns <= 120; columns += 10) {
        char width[8];

        snprintf(width, sizeof width, "%zu", columns);
        assert_int_equal(setenv("COLUMNS", width, 1), 0);
        assert_fits(columns);
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

/* ---- the load, and the exit code */

static void test_the_head_says_what_was_run(void **state) {
    static char stages[] = "5s:0..800", part[] = "5%", skew[] = "zipf:1.1", name[] = "demo";

    assert_tells("3 strategies in turn, each under the same 800 requests at "
                 "800/s, poisson, seed 1, stock 1000,");
    options.repeat = 3;
    options.stages = stages;
    options.dup_rate = part;
    options.skew = skew;
    options.items = 4;
    options.name = name;
    assert_tells("demo: 3 strategies in turn, 3 rounds of each in rotating order, each under");
    assert_tells("same 800 requests in stages 5s:0..800, poisson");
    assert_tells("5% of them sent twice");
    assert_tells("of each of 4 products (zipf:1.1)");
    options.list.count = 1;
    assert_tells("demo: 3 rounds, each under the same 800 requests");
}

static void test_the_schedule_is_that_of_the_worst_round(void **state) {
    assert_silent_on("the schedule was missed:");
    memset(&rounds[1].recorder->lateness, 0, sizeof rounds[1].recorder->lateness);
    histogram_record(&rounds[1].recorder->lateness, 50 * MS);
    histogram_record(&rounds[1].recorder->lateness, 1);
    rounds[1].is_realtime = rounds[2].is_realtime = true;
    assert_tells(
        "schedule: 50.00 % sent within 2 ms of plan, 99.9 % within 50 ms (the worst round)");
    assert_tells("the schedule was missed: 50.0 % were sent more than 10 ms late, and the response "
                 "times include this delay of loadgen");
    rounds[0].is_realtime = true;
    assert_tells(", with real-time priority (the worst round)");
    for (size_t i = 0; i < 3; i++)
        memset(&rounds[i].recorder->lateness, 0, sizeof rounds[i].recorder->lateness);
    assert_tells("schedule: no request was sent");
}

static void test_the_exit_code_is_explained(void **state) {
    static const struct {
        int code;
        const char *text;
    } cases[] = {{0, "exit code 0: each verdict is as expected"},
                 {1, "exit code 1: a verdict is not as expected: atomic"},
                 {2, "exit code 2: a verdict is open, because the run proves nothing: redis"},
                 {99, "exit code 99: a threshold was missed"},
                 {130, "exit code 130: interrupted"},
                 {70, "exit code 70: an internal error"}};

    violate(&results[2].verdict, ANOMALY_LEAK, 1, "x");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        summary.exit_code = cases[i].code;
        assert_tells(cases[i].text);
    }
}

static void test_the_cheapest_valid_strategy_is_named(void **state) {
    assert_says("cheapest valid: atomic, with the lowest p99: 99 ms\n");
    results[2].verdict.kind = VERDICT_INCONCLUSIVE;
    assert_silent_on("cheapest");
}

static void assert_shown_by(const char *folder, const char *command) {
    char page[80];

    snprintf(page, sizeof page, "%s/report.html", folder);
    assert_int_equal(close(creat(page, 0600)), 0);
    summary.folder = folder;
    assert_says(command);
    assert_int_equal(unlink(page), 0);
}

static void test_the_page_is_shown_by_a_command(void **state) {
    static char image[] = "loadgen", spaced[] = "/my shop/scripts/loadgen";
    char folder[] = "/tmp/report-words-XXXXXX";

    assert_non_null(mkdtemp(folder));
    assert_shown_by(folder, "browser: scripts/loadgen serve /tmp/\n");
    options.program = spaced;
    assert_shown_by(folder, "browser: '/my shop/scripts/loadgen' serve /tmp/\n");
    options.program = image;
    assert_shown_by(folder, "browser: docker compose up report\n");
    assert_int_equal(setenv("SALE_LOADGEN", "loadgen", 1), 0); /* an installed copy */
    assert_shown_by(folder, "browser: loadgen serve /tmp/\n");
    assert_int_equal(unsetenv("SALE_LOADGEN"), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_the_folder_of_the_page_is_one_word(void **state) {
    char folder[] = "/tmp/report words-XXXXXX", run[64], command[128];

    assert_non_null(mkdtemp(folder));
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(command, sizeof command, "browser: scripts/loadgen serve '%s/'\n", folder);
    assert_int_equal(mkdir(run, 0700), 0);
    assert_shown_by(run, command);
    assert_int_equal(rmdir(run), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_the_folder_is_named(void **state) {
    assert_silent_on("results:");
    summary.folder = "/nowhere/20261121T080000Z-demo";
    assert_says("results: /nowhere/20261121T080000Z-demo\n");
    assert_silent_on("report.html"); /* it was not written */
}

/* ---- thresholds */

static struct threshold_list limits;
static struct threshold_outcome outcomes[2];

static void hold(const char *text, size_t result, double measured, bool holds) {
    struct why why;

    assert_int_equal(threshold_parse(text, &limits, &why), 0);
    for (size_t i = 0; i < limits.count; i++)
        outcomes[i] = (struct threshold_outcome){&limits.items[i], &results[result], measured,
                                                 i == 0 && holds};
    summary.outcomes = outcomes;
    summary.outcome_count = limits.count;
}

/* Thresholds, the table of verdicts, the recommendation and the exit code: a terminal shows the
 * last lines. */
static void test_the_report_ends_with_the_verdicts(void **state) {
    static const char *const ends[] = {"atomic: VALID: ", "\nthresholds\n", "\nstrategy ",
                                       "\ncheapest valid: ", "\nexit code "};
    char *text;
    const char *at;

    hold("p(99)<250ms", 2, 99e6, true);
    at = text = printed(report_print);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        at = strstr(at, ends[i]);
        assert_non_null(at);
    }
    free(text);
    hold("p(99)<250ms\nmax<1s", 2, 99e6, true);
    assert_says("  ✓ ok      atomic  p(99)<250ms  measured: 99 ms\n");
    assert_says("  ✗ MISSED  atomic  max<1s       measured: 99 ms\n");
}

static void test_an_anomaly_that_was_not_found_is_open_when_nothing_is_proved(void **state) {
    hold("oversell==0", 1, 0, true);
    assert_says("  ? open  redis");
    hold("oversell==0", 2, 0, true);
    assert_says("  ✓ ok  atomic  oversell==0");
}

static void test_repeats_of_keys_are_explained(void **state) {
    assert_silent_on("repeat a key");
    results[0].total->count = 811;
    results[0].total->repeats = 11;
    assert_tells("11 of the 811 requests repeat a key: a repeat gets the first yes again, and buys "
                 "no second unit ");
}

static void test_a_run_that_was_stopped_says_where(void **state) {
    hold("p(99)<50ms", 2, 99e6, false);
    assert_silent_on("--abort-on-fail");
    options.abort_on_fail = true;
    options.repeat = 2;
    assert_says("\nstopped by --abort-on-fail in round 3 of 6, atomic\n\n");
    summary.is_left_down = true;
    assert_tells("ended after round 3 of 6, atomic: servers that a fault stopped did not come up "
                 "again, so the next round could sell nothing. Start them, or give --stack the "
                 "path of a script that starts them, such as scripts/stack");
    summary.is_interrupted = true;
    assert_says("\nstopped by a signal in round 3 of 6, atomic\n\n");
}

/* ---- reasons */

static void test_the_smallest_proof_is_told_in_prose(void **state) {
    struct counterexample *proof = &results[0].verdict.counterexample[0];

    results[0].verdict.counterexamples = 1;
    *proof = (struct counterexample){.anomaly = ANOMALY_TWIN, .lines = 2};
    snprintf(proof->line[0], VERDICT_TEXT, "A read 57");
    snprintf(proof->line[1], VERDICT_TEXT, "B read 57 before A wrote 56");
    assert_says("one unit was sold twice\n    A read 57\n    B read 57 before A wrote 56\n");
    assert_silent_on("unit 788");               /* the proof replaces the example */
    assert_says("request x was told sold out"); /* the proof of another anomaly */
}

static void test_a_violation_names_a_command_for_all_of_it(void **state) {
    static char direct[] = "build/gcc/bin/loadgen", image[] = "loadgen";

    assert_int_equal(setenv("SALE_AUDIT", "'/my shop/scripts/audit'", 1), 0);
    assert_says("  all of it: '/my shop/scripts/audit' 01900000-0000-7000-8000-000000000001\n");
    assert_int_equal(setenv("RUN_DIR", "/my shop/run", 1), 0);
    assert_says("  all of it: RUN_DIR='/my shop/run' '/my shop/scripts/audit' "
                "01900000-0000-7000-8000-000000000001\n");
    assert_int_equal(unsetenv("RUN_DIR"), 0);
    assert_int_equal(unsetenv("SALE_AUDIT"), 0);
    options.program = direct;
    assert_says("  all of it: psql \"$LOADGEN_INVENTORY_DB\" "
                "-v product=01900000-0000-7000-8000-000000000001 -f sql/audit.sql\n");
    options.program = image;
    assert_says("  all of it: docker compose exec postgres psql -U postgres inventory "
                "-v product=01900000-0000-7000-8000-000000000001 -f /sql/audit.sql\n");
}

static void test_the_product_is_that_of_the_proof(void **state) {
    static struct product products[2] = {{.id = "01900000-0000-7000-8000-00000000000a"},
                                         {.id = "01900000-0000-7000-8000-00000000000b"}};
    static struct round second;
    const struct counterexample proof = {.anomaly = ANOMALY_TWIN, .item = 1, .lines = 1};

    second = *results[0].rounds[0];
    second.items = 2;
    second.products = products;
    second.verdict.counterexamples = results[0].verdict.counterexamples = 1;
    second.verdict.counterexample[0] = results[0].verdict.counterexample[0] = proof;
    results[0].rounds[1] = &second;
    results[0].count = 2;
    assert_says("-v product=01900000-0000-7000-8000-00000000000b -f sql");
}

static void test_rounds_that_differ_are_counted(void **state) {
    static struct round others[2];

    others[0] = others[1] = *results[0].rounds[0];
    others[0].verdict.kind = VERDICT_VALID;
    results[0].count = 3;
    results[0].rounds[1] = &others[0];
    results[0].rounds[2] = &others[1];
    assert_says("none: VIOLATED in 2 of 3 rounds, as expected\n");
}

static void test_doubts_beside_a_violation_are_told_apart(void **state) {
    results[0].verdict.reasons = 1;
    snprintf(results[0].verdict.reason[0], VERDICT_TEXT, "interrupted");
    assert_says("\n  and inconclusive: interrupted\n");
}

static void test_what_is_not_proved_is_told_beside_valid(void **state) {
    static const struct expectation twins = {.must = 1 << ANOMALY_TWIN};

    assert_tells("below 0.38 %; the stock never ran out: its last units were not tested");
    results[2].verdict.has_ended = true;
    assert_silent_on("never ran out");
    results[2].verdict.has_ended = false;
    results[2].expectation = &twins;
    assert_says("\natomic: VALID, and TWIN was expected: no anomaly in 790 overlapping");
    results[2].verdict.overlapping = 4;
    assert_tells("confidence the true rate is below 75 %");
    results[2].verdict.overlapping = 3;
    assert_tells("expected: no anomaly, but only 3 attempts overlapped, too few to say anything");
}

static void test_late_launches_and_other_outcomes_are_told(void **state) {
    options.max_in_flight = 50;
    results[2].total->late_launches = 7;
    results[2].total->by_outcome[RECORD_FAILED] = 3;
    assert_says("  7 requests were sent late: 50 were in flight, the limit of --max-in-flight");
    assert_says("  3 requests were told: an error of the server\n");
}

static void test_nothing_is_said_of_a_ledger_that_was_not_read(void **state) {
    for (size_t i = 0; i < 3; i++) {
        results[i].verdict = (struct verdict){.kind = VERDICT_UNJUDGED};
        rounds[i].verdict = results[i].verdict;
    }
    options.no_judge = true;
    summary.exit_code = 0;
    assert_says("exit code 0: nothing was judged");
    assert_silent_on("twins");
    assert_silent_on("stock");
    assert_silent_on("sold");
    assert_silent_on("left");
    assert_silent_on("confidence");
    assert_silent_on("expected\n  ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REPORTED(test_the_text_says_what_was_found),
        REPORTED(test_what_fired_stands_below_the_verdict),
        REPORTED(test_no_line_is_wider_than_a_terminal),
        REPORTED(test_repeats_show_the_median_and_the_range_below),
        REPORTED(test_what_it_cost_is_told_only_when_it_is_known),
        REPORTED(test_columns_that_say_nothing_are_left_out),
        REPORTED(test_a_verdict_that_leaves_out_names_explains_its_number),
        REPORTED(test_what_customers_were_told_is_counted),
        REPORTED(test_a_narrow_terminal_has_fewer_columns),
        REPORTED(test_the_json_has_what_the_text_has),
        REPORTED(test_the_head_says_what_was_run),
        REPORTED(test_the_schedule_is_that_of_the_worst_round),
        REPORTED(test_the_exit_code_is_explained),
        REPORTED(test_the_cheapest_valid_strategy_is_named),
        REPORTED(test_the_folder_is_named),
        REPORTED(test_the_page_is_shown_by_a_command),
        REPORTED(test_the_folder_of_the_page_is_one_word),
        REPORTED(test_repeats_of_keys_are_explained),
        REPORTED(test_the_report_ends_with_the_verdicts),
        REPORTED(test_an_anomaly_that_was_not_found_is_open_when_nothing_is_proved),
        REPORTED(test_a_run_that_was_stopped_says_where),
        REPORTED(test_the_smallest_proof_is_told_in_prose),
        REPORTED(test_a_violation_names_a_command_for_all_of_it),
        REPORTED(test_the_product_is_that_of_the_proof),
        REPORTED(test_rounds_that_differ_are_counted),
        REPORTED(test_doubts_beside_a_violation_are_told_apart),
        REPORTED(test_what_is_not_proved_is_told_beside_valid),
        REPORTED(test_late_launches_and_other_outcomes_are_told),
        REPORTED(test_nothing_is_said_of_a_ledger_that_was_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
