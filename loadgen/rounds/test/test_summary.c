/* The sum of rounds: counts, histograms, the worst verdict, all evidence, the spread, thresholds,
 * and the exit code. */
#include "options_fixture.h"
#include "test.h"

#include "exit_code.h"
#include "summary.h"

#include <stdio.h>
#include <string.h>

#define MS     INT64_C(1000000)
#define ROUNDS 4

static struct options options;
static struct round rounds[2 * ROUNDS]; /* none, atomic, atomic, none, ... */
static struct summary summary;
static struct result *result; /* of none */

static int set_up(void **state) {
    options_fill(&options, "none,atomic", "");
    for (size_t i = 0; i < 2 * ROUNDS; i++) {
        size_t strategy = (i / 2 + i) % 2;

        rounds[i] = (struct round){.item = &options.list.items[strategy],
                                   .strategy = strategy,
                                   .repeat = i / 2,
                                   .recorder = recorder_make(0)};
        if (rounds[i].recorder == NULL)
            return -1;
    }
    return 0;
}

static int tear_down(void **state) {
    summary_free(&summary);
    for (size_t i = 0; i < 2 * ROUNDS; i++)
        round_free(&rounds[i]);
    return 0;
}

/* Round `repeat` of strategy 0. */
static struct round *round_of(size_t repeat) {
    for (size_t i = 0; i < 2 * ROUNDS; i++)
        if (rounds[i].strategy == 0 && rounds[i].repeat == repeat)
            return &rounds[i];
    fail();
    return NULL;
}

static void make(size_t count) {
    summary_free(&summary);
    assert_int_equal(summary_make(&summary, &options, rounds, count), 0);
    result = &summary.results[0];
}

static void test_only_its_own_rounds_are_added(void **state) {
    for (size_t i = 0; i < 2 * ROUNDS; i++)
        rounds[i].recorder->count = rounds[i].strategy == 0 ? 100 : 7;
    make(2 * ROUNDS);
    assert_int_equal(result->count, ROUNDS);
    assert_int_equal(result->total->count, 400);
    assert_ptr_equal(result->item, &options.list.items[0]);
    assert_ptr_equal(result->expectation, &options.expectations[0]);
    for (size_t i = 0; i < ROUNDS; i++)
        assert_int_equal(result->rounds[i]->repeat, i);
}

static void test_a_strategy_without_a_round_has_no_result(void **state) {
    make(1);
    assert_int_equal(summary.count, 1);
    assert_ptr_equal(result->item, &options.list.items[0]);
}

static void test_counts_and_histograms_are_summed(void **state) {
    for (size_t i = 0; i < ROUNDS; i++) {
        struct recorder *recorder = round_of(i)->recorder;

        recorder->planned = 10;
        recorder->answered = 8;
        recorder->last_ns = 100 * MS;
        recorder->late_launches = 1;
        recorder->sold_again = 2;
        recorder->sold_ns = 90 * MS;
        recorder->unsold_hold_ns = 7 * MS;
        recorder->unsold_holds = 2;
        recorder->repeats = 3;
        recorder->by_outcome[RECORD_BUSY] = i;
        recorder->postgres = 3;
        recorder->redis = 4;
        recorder->retries = 5;
        recorder->costed = 6;
        recorder->locks[RECORD_LOCK_REDIS] = 2;
        recorder->shards = (uint32_t)(i == 1 ? 10 : 1);
        for (int64_t n = 1; n <= 25; n++) {
            int64_t value = ((int64_t)i * 25 + n) * 10;

            histogram_record(&recorder->latency, value);
            histogram_record(&recorder->service, value + 1);
            histogram_record(&recorder->lateness, value + 2);
            histogram_record(&recorder->wait, value + 3);
            histogram_record(&recorder->hold, value + 4);
            histogram_record(&recorder->commit, value + 5);
        }
    }
    make(2 * ROUNDS);
    assert_int_equal(result->total->planned, 40);
    assert_int_equal(result->total->answered, 32);
    assert_int_equal(result->total->last_ns, 400 * MS);
    assert_int_equal(result->total->late_launches, 4);
    assert_int_equal(result->total->sold_again, 8);
    assert_int_equal(result->total->sold_ns, 360 * MS);
    assert_int_equal(result->total->unsold_hold_ns, 28 * MS);
    assert_int_equal(result->total->unsold_holds, 8);
    assert_int_equal(result->total->repeats, 12);
    assert_int_equal(result->total->by_outcome[RECORD_BUSY], 6);
    assert_int_equal(result->total->postgres, 12);
    assert_int_equal(result->total->redis, 16);
    assert_int_equal(result->total->retries, 20);
    assert_int_equal(result->total->costed, 24);
    assert_int_equal(result->total->locks[RECORD_LOCK_REDIS], 8);
    assert_int_equal(result->total->shards, 10);
    assert_int_equal(histogram_percentile(&result->total->latency, 50), 500);
    assert_int_equal(result->total->latency.max, 1000);
    assert_int_equal(result->total->service.max, 1001);
    assert_int_equal(result->total->lateness.max, 1002);
    assert_int_equal(result->total->wait.max, 1003);
    assert_int_equal(result->total->hold.max, 1004);
    assert_int_equal(result->total->commit.max, 1005);
    assert_int_equal(result->total->commit.count, 100);
}

static void test_instances_are_known_once(void **state) {
    (void)recorder_instance(round_of(0)->recorder, "inventory-1");
    (void)recorder_instance(round_of(1)->recorder, "inventory-2");
    (void)recorder_instance(round_of(1)->recorder, "inventory-1");
    make(2 * ROUNDS);
    assert_int_equal(result->total->instance_count, 2);
    assert_string_equal(result->total->instances[1], "inventory-2");
}

static void test_the_worst_verdict_counts(void **state) {
    static const struct {
        enum verdict_kind kinds[ROUNDS], worst;
    } cases[] = {
        {{VERDICT_VALID, VERDICT_VALID, VERDICT_VALID, VERDICT_VALID}, VERDICT_VALID},
        {{VERDICT_VALID, VERDICT_INCONCLUSIVE, VERDICT_VALID, VERDICT_VALID}, VERDICT_INCONCLUSIVE},
        {{VERDICT_INCONCLUSIVE, VERDICT_VALID, VERDICT_VIOLATED, VERDICT_INCONCLUSIVE},
         VERDICT_VIOLATED},
        {{VERDICT_VIOLATED, VERDICT_VALID, VERDICT_VALID, VERDICT_VALID}, VERDICT_VIOLATED},
        {{VERDICT_UNJUDGED, VERDICT_UNJUDGED, VERDICT_UNJUDGED, VERDICT_UNJUDGED},
         VERDICT_UNJUDGED},
        {{VERDICT_UNJUDGED, VERDICT_UNJUDGED, VERDICT_UNJUDGED, VERDICT_INCONCLUSIVE},
         VERDICT_INCONCLUSIVE},
    };

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (size_t i = 0; i < ROUNDS; i++)
            round_of(i)->verdict.kind = cases[c].kinds[i];
        make(2 * ROUNDS);
        assert_int_equal(result->verdict.kind, cases[c].worst);
    }
}

static void find(struct verdict *verdict, enum anomaly anomaly, const char *example) {
    struct anomaly_found *found = &verdict->found[anomaly];

    verdict->kind = VERDICT_VIOLATED;
    found->count += 10;
    snprintf(found->example[found->examples++], VERDICT_TEXT, "%s", example);
}

static void test_anomalies_add_up_and_keep_the_first_examples(void **state) {
    find(&round_of(0)->verdict, ANOMALY_TWIN, "a");
    find(&round_of(1)->verdict, ANOMALY_TWIN, "b");
    find(&round_of(1)->verdict, ANOMALY_TWIN, "c");
    find(&round_of(2)->verdict, ANOMALY_TWIN, "d");
    find(&round_of(3)->verdict, ANOMALY_LEAK, "e");
    make(2 * ROUNDS);
    assert_int_equal(result->verdict.found[ANOMALY_TWIN].count, 40);
    assert_int_equal(result->verdict.found[ANOMALY_TWIN].examples, VERDICT_EXAMPLES);
    assert_string_equal(result->verdict.found[ANOMALY_TWIN].example[0], "a");
    assert_string_equal(result->verdict.found[ANOMALY_TWIN].example[2], "c");
    assert_int_equal(result->verdict.found[ANOMALY_LEAK].count, 10);
    assert_int_equal(result->verdict.found[ANOMALY_GHOST].count, 0);
}

static void test_the_ledger_adds_up(void **state) {
    for (size_t i = 0; i < ROUNDS; i++)
        round_of(i)->verdict = (struct verdict){.sold = 1,
                                                .distinct = 2,
                                                .left = 3,
                                                .refused_early = 4,
                                                .unsettled = 5,
                                                .unknown_sold = 6,
                                                .pairs = 7,
                                                .overlapping = 8,
                                                .has_ended = i == 0};
    make(2 * ROUNDS);
    assert_int_equal(result->verdict.sold, 4);
    assert_int_equal(result->verdict.distinct, 8);
    assert_int_equal(result->verdict.left, 12);
    assert_int_equal(result->verdict.refused_early, 16);
    assert_int_equal(result->verdict.unsettled, 20);
    assert_int_equal(result->verdict.unknown_sold, 24);
    assert_int_equal(result->verdict.pairs, 28);
    assert_int_equal(result->verdict.overlapping, 32);
    assert_true(result->verdict.has_ended);
}

static void test_a_reason_is_given_once_with_its_first_figures(void **state) {
    for (size_t i = 0; i < ROUNDS; i++) {
        struct verdict *verdict = &round_of(i)->verdict;

        verdict->kind = VERDICT_INCONCLUSIVE;
        for (verdict->reasons = 0; verdict->reasons < VERDICT_REASONS - 2; verdict->reasons++)
            snprintf(verdict->reason[verdict->reasons], VERDICT_TEXT, "%zu.5 %% missed %c", i + 10,
                     (char)('a' + verdict->reasons + i));
    }
    make(2 * ROUNDS);
    assert_int_equal(result->verdict.reasons, VERDICT_REASONS);
    assert_string_equal(result->verdict.reason[0], "10.5 % missed a");
    assert_string_equal(result->verdict.reason[9], "10.5 % missed j");
    assert_string_equal(result->verdict.reason[10], "11.5 % missed k");
    assert_string_equal(result->verdict.reason[11], "12.5 % missed l");
}

static void prove(struct verdict *verdict, enum anomaly anomaly, uint32_t item) {
    verdict->kind = VERDICT_VIOLATED;
    verdict->counterexample[verdict->counterexamples++] =
        (struct counterexample){.anomaly = anomaly, .item = item};
}

static void test_counterexamples_of_different_anomalies_come_first(void **state) {
    static const uint32_t order[] = {1, 4, 2, 3, 5};

    prove(&round_of(1)->verdict, ANOMALY_TWIN, 1);
    prove(&round_of(1)->verdict, ANOMALY_TWIN, 2);
    prove(&round_of(2)->verdict, ANOMALY_TWIN, 3);
    prove(&round_of(2)->verdict, ANOMALY_LEAK, 4);
    prove(&round_of(3)->verdict, ANOMALY_TWIN, 5);
    prove(&round_of(3)->verdict, ANOMALY_TWIN, 6);
    make(2 * ROUNDS);
    assert_int_equal(result->verdict.counterexamples, VERDICT_COUNTEREXAMPLES);
    for (size_t i = 0; i < VERDICT_COUNTEREXAMPLES; i++)
        assert_int_equal(result->verdict.counterexample[i].item, order[i]);
}

static void measure(size_t repeat, int64_t ms) {
    struct recorder *recorder = round_of(repeat)->recorder;

    histogram_record(&recorder->latency, ms * MS);
    recorder->answered = 1;
    recorder->last_ns = ms * MS;
}

static void assert_spread(const struct spread *spread, double min, double median, double max) {
    assert_float_equal(spread->min, min, 1e-9);
    assert_float_equal(spread->median, median, 1e-9);
    assert_float_equal(spread->max, max, 1e-9);
}

static void test_the_median_is_the_middle_or_the_mean_of_the_middle_two(void **state) {
    measure(0, 40);
    make(2);
    assert_spread(&result->p50_ms, 40, 40, 40);
    measure(1, 10);
    make(4);
    assert_spread(&result->p50_ms, 10, 25, 40);
    measure(2, 20);
    make(6);
    assert_spread(&result->p99_ms, 10, 20, 40);
    assert_spread(&result->rate, 25, 50, 100);
    measure(3, 80);
    make(8);
    assert_spread(&result->p50_ms, 10, 30, 80);
}

static void test_a_round_without_an_answer_has_no_part_in_the_spread(void **state) {
    make(8);
    assert_spread(&result->p50_ms, 0, 0, 0);
    measure(2, 20);
    make(8);
    assert_spread(&result->p50_ms, 20, 20, 20);
}

/* ---- thresholds */

static void test_every_round_has_to_keep_a_threshold(void **state) {
    static const size_t sold[ROUNDS] = {100, 90, 100, 110};
    static const struct {
        const char *text;
        bool holds;
        double measured;
    } cases[] = {{"sold>=90", true, 90},   {"sold>=91", false, 90},  {"sold<=110", true, 110},
                 {"sold<105", false, 110}, {"sold==110", false, 90}, {"sold==90", false, 110},
                 {"sold!=98", true, 100},  {"sold!=90", false, 90}};
    struct why why;

    for (size_t i = 0; i < ROUNDS; i++)
        round_of(i)->recorder->by_outcome[RECORD_SOLD] = sold[i];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(threshold_parse(cases[i].text, &options.threshold_list, &why), 0);
        make(8);
        if (summary.outcomes[0].holds != cases[i].holds)
            fail_msg("%s", cases[i].text);
        assert_float_equal(summary.outcomes[0].measured, cases[i].measured, 0);
    }
}

/* ---- the exit code */

/* The exit code of a run with one round. */
static int exit_code_of(enum verdict_kind kind) {
    rounds[0].verdict.kind = kind;
    rounds[0].verdict.found[ANOMALY_TWIN].count = kind == VERDICT_VIOLATED;
    make(1);
    assert_true(summary.is_left_down == rounds[0].is_left_down);
    return summary.exit_code;
}

static void test_a_run_that_lacks_rounds_is_not_as_expected(void **state) {
    rounds[0].is_left_down = true;
    assert_int_equal(exit_code_of(VERDICT_VALID), EXIT_INCONCLUSIVE);
    assert_int_equal(exit_code_of(VERDICT_INCONCLUSIVE), EXIT_INCONCLUSIVE);
    rounds[0].is_left_down = false;
    assert_int_equal(exit_code_of(VERDICT_VALID), EXIT_AS_EXPECTED);
}

static void test_what_was_found_before_counts(void **state) {
    rounds[0].is_left_down = true;
    assert_int_equal(exit_code_of(VERDICT_VIOLATED), EXIT_UNEXPECTED);
    rounds[0].is_interrupted = true;
    assert_int_equal(exit_code_of(VERDICT_VALID), EXIT_INTERRUPTED);
}

#define ADDED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        ADDED(test_only_its_own_rounds_are_added),
        ADDED(test_a_strategy_without_a_round_has_no_result),
        ADDED(test_counts_and_histograms_are_summed),
        ADDED(test_instances_are_known_once),
        ADDED(test_the_worst_verdict_counts),
        ADDED(test_anomalies_add_up_and_keep_the_first_examples),
        ADDED(test_the_ledger_adds_up),
        ADDED(test_a_reason_is_given_once_with_its_first_figures),
        ADDED(test_counterexamples_of_different_anomalies_come_first),
        ADDED(test_the_median_is_the_middle_or_the_mean_of_the_middle_two),
        ADDED(test_a_round_without_an_answer_has_no_part_in_the_spread),
        ADDED(test_every_round_has_to_keep_a_threshold),
        ADDED(test_a_run_that_lacks_rounds_is_not_as_expected),
        ADDED(test_what_was_found_before_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
