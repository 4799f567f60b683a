/* Verdicts on hand-made runs: valid runs, and each reason to be inconclusive. */
#include "scene.h"

#include "fault.h"

static const struct scene scenes[] = {
    {"a sale to the last unit is valid", "sold:10..1 sold_out",
     "valid, sold 10, left 0, refused_early 0, has_ended 1"},
    {"units left without a refusal are valid", "sold:10 busy refused",
     "valid, left 9, has_ended 0"},
    {"an unknown outcome is resolved from the ledger", "sold:10 unknown:9 unknown",
     "valid, unknown_sold 1"},
    {"an unknown sale without an order is inconclusive", "sold:10 unknown sale:9=1",
     "inconclusive, unsettled 1"},
    {"a ledger that moved while it was read is inconclusive", "sold:10 counted=2", "inconclusive"},
    {"an interrupted run is inconclusive", "sold:10 interrupted", "inconclusive"},
    {"a target that answers nothing is inconclusive", "unreached unknown", "inconclusive"},
    {"one unsent request is inconclusive", "sold:10 unsent", "inconclusive"},
    {"a ledger that does not become quiet is inconclusive", "sold:10 restless", "inconclusive"},
    /* Each request overlaps the two before it. */
    {"too few overlaps are inconclusive", "sold:10..1 pairs_wanted=18", "inconclusive, pairs 17"},
    {"overlaps that are enough are valid", "sold:10..1 pairs_wanted=17", "valid, pairs 17"},
    {"a run that sold nothing is inconclusive", "refused*20 failed*20 busy*20 pairs_wanted=1",
     "inconclusive"},
    {"two refusals do not compete", "stock=1 sold:1 sold_out*20", "valid, pairs 2, overlapping 3"},
    {"a customer that is told busy competes", "sold:10 busy unreached", "valid, pairs 1"},
    {"overlapping pairs are counted", "sold:10@1-10 sold:9@2-3 sold:8@3-4 sold:7@9-12 sold:6@20-21",
     "valid, pairs 3, overlapping 4"},
    {"violated wins over inconclusive", "sold:10 sold:10 unsent interrupted left=9",
     "TWIN 1, reasons 2"},
    {.name = NULL},
};

static void test_a_ledger_that_could_not_be_read_is_inconclusive(void **state) {
    sell(10);
    judged.ledgers = NULL;
    judged.problem = "the ledger could not be read";
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_string_equal(verdict.reason[0], "the ledger could not be read");
}

static void test_a_fault_that_failed_is_inconclusive(void **state) {
    sell(10);
    judged.fault_problem = "the fault redis:kill@1s failed: no luck";
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_string_equal(verdict.reason[0], judged.fault_problem);
}

static void test_a_run_without_a_judge_is_not_judged(void **state) {
    sell(10);
    judged.ledgers = NULL;
    assert_kind(VERDICT_UNJUDGED);
}

static void test_an_interrupted_run_gets_no_advice(void **state) {
    sell(10);
    judged.is_interrupted = judged.is_restless = true;
    judged.pairs_wanted = VERDICT_PAIRS;
    ledger.counted++;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict.reasons, 4);
    for (size_t i = 0; i < verdict.reasons; i++)
        assert_null(strstr(verdict.reason[i], "raise"));
}

static void sell_late(int late) {
    ledger.initial = ledger.available = 300;
    for (int i = 0; i < 200; i++)
        sell(300 - i);
    memset(&recorder->lateness, 0, sizeof recorder->lateness);
    for (int i = 0; i < 200; i++)
        histogram_record(&recorder->lateness, i < late ? 11 * MS : MS);
}

static void test_one_request_in_twenty_may_be_late(void **state) {
    sell_late(10);
    assert_kind(VERDICT_VALID);
}

static void test_more_late_requests_are_inconclusive(void **state) {
    sell_late(11);
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_string_equal(verdict.reason[0],
                        "the schedule was missed: 5.5 % of the requests were sent more than 10 ms "
                        "late (5 % may be); lower --rate, raise --connections or free a CPU");
}

static void test_how_late_is_late_can_be_said(void **state) {
    sell_late(200);
    judged.late_ns = 20 * MS;
    assert_kind(VERDICT_VALID);
    judged.late_ns = 5 * MS;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_non_null(
        strstr(verdict.reason[0], "100.0 % of the requests were sent more than 5.0 ms"));
}

static void test_the_rate_is_bounded_by_three_in_n(void **state) {
    assert_true(verdict_rate_bound(&(struct verdict){.overlapping = 300}) == 0.01);
    assert_true(verdict_rate_bound(&(struct verdict){.overlapping = 4}) == 0.75);
}

static void test_few_overlapping_attempts_bound_no_rate(void **state) {
    for (int64_t n = 0; n <= 3; n++)
        assert_true(verdict_rate_bound(&(struct verdict){.overlapping = n}) == -1);
}

static void test_examples_are_bounded_and_counts_are_not(void **state) {
    ledger.available = 10;
    for (int i = 0; i < 300; i++)
        sell(10);
    judge();
    assert_int_equal(verdict.found[ANOMALY_TWIN].count, 299);
    assert_int_equal(verdict.found[ANOMALY_TWIN].examples, VERDICT_EXAMPLES);
    assert_int_equal(verdict.found[ANOMALY_OVERSELL].count, 290);
}

static void judge_or_fail(void *arg) {
    (void)!verdict_judge(&judged, &verdict);
}

static void test_no_memory_is_told(void **state) {
    sell(10);
    fault_each_allocation(judge_or_fail, NULL);
    assert_int_equal(verdict.kind, VERDICT_VALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_ledger_that_could_not_be_read_is_inconclusive),
        JUDGED(test_a_fault_that_failed_is_inconclusive),
        JUDGED(test_a_run_without_a_judge_is_not_judged),
        JUDGED(test_an_interrupted_run_gets_no_advice),
        JUDGED(test_how_late_is_late_can_be_said),
        JUDGED(test_more_late_requests_are_inconclusive),
        JUDGED(test_the_rate_is_bounded_by_three_in_n),
        JUDGED(test_few_overlapping_attempts_bound_no_rate),
        JUDGED(test_examples_are_bounded_and_counts_are_not),
        JUDGED(test_no_memory_is_told),
        JUDGED(test_one_request_in_twenty_may_be_late),
    };

    return scene_run_group(scenes, NULL, tests, sizeof tests / sizeof *tests);
}
