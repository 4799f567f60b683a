/* The sentences of the report: what was asked, which thresholds were kept, why, and how it ended.
 */
#include "report_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what was asked, and how it ended */

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
    assert_tells("demo: 3 strategies in turn, 3 rounds of each, their order rotated, each under");
    assert_tells("same 800 requests in stages 5s:0..800, poisson");
    assert_tells("5% of them sent twice");
    assert_tells("of each of 4 products (zipf:1.1)");
    options.list.count = 1;
    assert_tells("demo: 3 rounds, each under the same 800 requests");
}

static void test_the_schedule_is_that_of_the_worst_round(void **state) {
    assert_silent_on("not kept");
    memset(&rounds[1].recorder->lateness, 0, sizeof rounds[1].recorder->lateness);
    histogram_record(&rounds[1].recorder->lateness, 50 * MS);
    histogram_record(&rounds[1].recorder->lateness, 1);
    rounds[1].is_realtime = rounds[2].is_realtime = true;
    assert_tells(
        "schedule: 50.00 % sent within 2 ms of plan, 99.9 % within 50 ms (the worst round)");
    assert_tells("it was not kept: 50.0 % were sent more than 10 ms late, and the response times "
                 "have this delay of loadgen's own in them");
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
    } cases[] = {{0, "exit code 0: each verdict as expected"},
                 {1, "exit code 1: a verdict is not the one expected: atomic"},
                 {2, "exit code 2: a verdict is open, for the run proves nothing: redis"},
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
    assert_says("cheapest valid: atomic, with a p99 of 99 ms\n");
    results[2].verdict.kind = VERDICT_INCONCLUSIVE;
    assert_silent_on("cheapest");
}

static void test_the_page_is_shown_by_a_command(void **state) {
    static char image[] = "loadgen", spaced[] = "/my shop/scripts/loadgen";
    char folder[] = "/tmp/report-words-XXXXXX", page[64];

    assert_non_null(mkdtemp(folder));
    snprintf(page, sizeof page, "%s/report.html", folder);
    assert_int_equal(close(creat(page, 0600)), 0);
    summary.folder = folder;
    assert_says("browser: scripts/loadgen serve /tmp/\n");
    options.program = spaced;
    assert_says("browser: '/my shop/scripts/loadgen' serve /tmp/\n");
    options.program = image;
    assert_says("browser: docker compose up report\n");
    assert_int_equal(unlink(page), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_the_folder_of_the_page_is_one_word(void **state) {
    char folder[] = "/tmp/report words-XXXXXX", run[64], page[80];

    assert_non_null(mkdtemp(folder));
    snprintf(run, sizeof run, "%s/run", folder);
    assert_int_equal(mkdir(run, 0700), 0);
    snprintf(page, sizeof page, "%s/report.html", run);
    assert_int_equal(close(creat(page, 0600)), 0);
    summary.folder = run;
    assert_says("browser: scripts/loadgen serve '/tmp/report words-");
    assert_says("/'\n");
    assert_int_equal(unlink(page), 0);
    assert_int_equal(rmdir(run), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_the_folder_is_named(void **state) {
    assert_silent_on("results:");
    summary.folder = "/nowhere/20261121T080000Z-demo";
    assert_says("results: /nowhere/20261121T080000Z-demo\n");
    assert_silent_on("report.html"); /* which was not written */
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

static void test_thresholds_come_first_with_what_was_measured(void **state) {
    char *text;

    hold("p(99)<250ms\nmax<1s", 2, 99e6, true);
    text = printed(report_print);
    assert_int_equal(strncmp(text, "thresholds\n", strlen("thresholds\n")), 0);
    assert_non_null(strstr(text, "  ✓ ok      atomic  p(99)<250ms  measured: 99 ms\n"));
    assert_non_null(strstr(text, "  ✗ MISSED  atomic  max<1s       measured: 99 ms\n"));
    free(text);
}

static void test_an_anomaly_that_was_not_found_is_open_when_nothing_is_proved(void **state) {
    hold("oversell==0", 1, 0, true);
    assert_says("  ? open  redis");
    hold("oversell==0", 2, 0, true);
    assert_says("  ✓ ok  atomic  oversell==0");
}

static void test_a_run_that_was_stopped_says_where(void **state) {
    hold("p(99)<50ms", 2, 99e6, false);
    assert_silent_on("--abort-on-fail");
    options.abort_on_fail = true;
    options.repeat = 2;
    assert_says("\nstopped by --abort-on-fail in round 3 of 6, atomic\n\n");
    summary.is_left_down = true;
    assert_tells("ended after round 3 of 6, atomic: a fault put servers down, they did not come up "
                 "again, and the next round could sell nothing. Start them, or name with --stack "
                 "the script that does, such as scripts/stack");
    summary.is_interrupted = true;
    assert_says("\nstopped by a signal in round 3 of 6, atomic\n\n");
}

/* ---- why */

static void test_the_smallest_proof_is_told_in_prose(void **state) {
    struct counterexample *proof = &results[0].verdict.counterexample[0];

    results[0].verdict.counterexamples = 1;
    *proof = (struct counterexample){.anomaly = ANOMALY_TWIN, .lines = 2};
    snprintf(proof->line[0], VERDICT_TEXT, "A read 57");
    snprintf(proof->line[1], VERDICT_TEXT, "B read 57 before A wrote 56");
    assert_says("one unit was sold twice\n    A read 57\n    B read 57 before A wrote 56\n");
    assert_silent_on("unit 788");               /* the example, which it replaces */
    assert_says("request x was told sold out"); /* the one of another anomaly */
}

static void test_a_violation_names_a_command_for_all_of_it(void **state) {
    static char elsewhere[] = "../scripts/loadgen", direct[] = "build/gcc/bin/loadgen",
                image[] = "loadgen", spaced[] = "/my shop/scripts/loadgen";

    assert_says("  all of it: scripts/audit 01900000-0000-7000-8000-000000000001\n");
    options.program = elsewhere;
    assert_says("  all of it: ../scripts/audit 01900000-0000-7000-8000-000000000001\n");
    options.program = spaced;
    assert_says("  all of it: '/my shop/scripts/audit' 01900000-0000-7000-8000-000000000001\n");
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
    assert_says("scripts/audit 01900000-0000-7000-8000-00000000000b\n");
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

static void test_what_was_expected_of_a_valid_run_is_told(void **state) {
    static const struct expectation twins = {.must = 1 << ANOMALY_TWIN};

    results[2].expectation = &twins;
    assert_says("\natomic: VALID, and TWIN was expected: no anomaly in 790 overlapping");
    results[2].verdict.overlapping = 4;
    assert_tells("at most about 75 % (3/n)");
    results[2].verdict.overlapping = 3;
    assert_tells("expected: no anomaly, but only 3 attempts overlapped, which says nothing");
}

static void test_a_stock_that_never_ran_out_is_told_beside_valid(void **state) {
    assert_tells("(3/n); the stock never ran out: nothing is said of its end");
    results[2].verdict.has_ended = true;
    assert_silent_on("never ran out");
}

static void test_late_launches_and_other_outcomes_are_told(void **state) {
    options.max_in_flight = 50;
    results[2].total->late_launches = 7;
    results[2].total->by_outcome[RECORD_FAILED] = 3;
    assert_says("  7 requests were launched late: 50 were in flight, the limit of --max-in-flight");
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
    assert_silent_on("3/n");
    assert_silent_on("expected\n  ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REPORTED(test_the_head_says_what_was_run),
        REPORTED(test_the_schedule_is_that_of_the_worst_round),
        REPORTED(test_the_exit_code_is_explained),
        REPORTED(test_the_cheapest_valid_strategy_is_named),
        REPORTED(test_the_folder_is_named),
        REPORTED(test_the_page_is_shown_by_a_command),
        REPORTED(test_the_folder_of_the_page_is_one_word),
        REPORTED(test_thresholds_come_first_with_what_was_measured),
        REPORTED(test_an_anomaly_that_was_not_found_is_open_when_nothing_is_proved),
        REPORTED(test_a_run_that_was_stopped_says_where),
        REPORTED(test_the_smallest_proof_is_told_in_prose),
        REPORTED(test_a_violation_names_a_command_for_all_of_it),
        REPORTED(test_the_product_is_that_of_the_proof),
        REPORTED(test_rounds_that_differ_are_counted),
        REPORTED(test_doubts_beside_a_violation_are_told_apart),
        REPORTED(test_what_was_expected_of_a_valid_run_is_told),
        REPORTED(test_a_stock_that_never_ran_out_is_told_beside_valid),
        REPORTED(test_late_launches_and_other_outcomes_are_told),
        REPORTED(test_nothing_is_said_of_a_ledger_that_was_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
