/* Verdicts over hand-made runs: what is valid, and each reason to be inconclusive. */
#include "verdict_fixture.h"

#include "fault.h"

static void test_a_sale_to_the_last_unit_is_valid(void **state) {
    for (int64_t unit = 10; unit > 0; unit--)
        sell(unit);
    request(RECORD_SOLD_OUT);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.sold, 10);
    assert_int_equal(verdict.left, 0);
    assert_int_equal(verdict.refused_early, 0);
    assert_true(verdict.has_ended);
}

static void test_units_left_without_a_refusal_are_valid(void **state) {
    sell(10);
    request(RECORD_BUSY);
    request(RECORD_REFUSED);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.left, 9);
    assert_false(verdict.has_ended);
}

static void test_an_unknown_outcome_is_resolved_from_the_ledger(void **state) {
    sell(10);
    request(RECORD_UNKNOWN);
    request(RECORD_UNKNOWN);
    sell_for(1, 9);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.unknown_sold, 1);
}

static void test_an_unknown_sale_without_an_order_is_inconclusive(void **state) {
    sell(10);
    request(RECORD_UNKNOWN);
    ledger_row(1, 9);
    ledger.available--;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict.unsettled, 1);
}

static void test_a_ledger_that_moved_while_it_was_read_is_inconclusive(void **state) {
    sell(10);
    ledger.counted = 2;
    assert_kind(VERDICT_INCONCLUSIVE);
}

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

static void test_a_run_that_nobody_wants_judged_is_not(void **state) {
    sell(10);
    judged.ledgers = NULL;
    assert_kind(VERDICT_UNJUDGED);
}

static void test_an_interrupted_run_is_inconclusive(void **state) {
    sell(10);
    judged.is_interrupted = true;
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_who_interrupts_is_not_told_to_wait_longer_or_fire_faster(void **state) {
    sell(10);
    judged.is_interrupted = judged.is_restless = true;
    judged.pairs_wanted = VERDICT_PAIRS;
    ledger.counted++;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict.reasons, 4);
    for (size_t i = 0; i < verdict.reasons; i++)
        assert_null(strstr(verdict.reason[i], "raise"));
}

static void test_a_target_that_answers_nothing_is_inconclusive(void **state) {
    request(RECORD_UNREACHED);
    request(RECORD_UNKNOWN);
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_one_unsent_request_is_inconclusive(void **state) {
    sell(10);
    request(RECORD_UNSENT);
    assert_kind(VERDICT_INCONCLUSIVE);
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
                        "late, and 5 % may be; lower --rate, raise --connections or free a CPU");
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

static void test_a_ledger_that_does_not_become_quiet_is_inconclusive(void **state) {
    sell(10);
    judged.is_restless = true;
    assert_kind(VERDICT_INCONCLUSIVE);
}

/* Each request overlaps the two before it. */
static void test_too_few_overlaps_are_inconclusive(void **state) {
    for (int64_t unit = 10; unit > 0; unit--)
        sell(unit);
    judged.pairs_wanted = 18;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict.pairs, 17);
    judged.pairs_wanted = 17;
    assert_kind(VERDICT_VALID);
}

static void test_a_run_that_sold_nothing_is_inconclusive(void **state) {
    static const enum record_outcome none[] = {RECORD_REFUSED, RECORD_FAILED, RECORD_BUSY};

    for (int i = 0; i < 60; i++)
        request(none[i % 3]);
    judged.pairs_wanted = 1;
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_two_refusals_do_not_compete(void **state) {
    ledger.initial = ledger.available = 1;
    sell(1);
    for (int i = 0; i < 20; i++)
        request(RECORD_SOLD_OUT);
    judge();
    assert_int_equal(verdict.pairs, 2);
    assert_int_equal(verdict.overlapping, 3);
}

static void test_who_is_told_busy_competes(void **state) {
    sell(10);
    request(RECORD_BUSY);
    request(RECORD_UNREACHED);
    judge();
    assert_int_equal(verdict.pairs, 1);
}

static void test_overlapping_pairs_are_counted(void **state) {
    static const int64_t spans[][2] = {{1, 10}, {2, 3}, {3, 4}, {9, 12}, {20, 21}};

    for (int64_t i = 0; i < 5; i++) {
        struct record *record = sell(10 - i);

        record->sent_ns = spans[i][0];
        record->received_ns = spans[i][1];
    }
    judge();
    assert_int_equal(verdict.pairs, 3);
    assert_int_equal(verdict.overlapping, 4);
}

static void test_the_rate_is_bounded_by_three_in_n(void **state) {
    assert_true(verdict_rate_bound(&(struct verdict){.overlapping = 300}) == 0.01);
    assert_true(verdict_rate_bound(&(struct verdict){.overlapping = 4}) == 0.75);
}

static void test_few_overlapping_attempts_bound_no_rate(void **state) {
    for (int64_t n = 0; n <= 3; n++)
        assert_true(verdict_rate_bound(&(struct verdict){.overlapping = n}) == -1);
}

static void test_violated_wins_over_inconclusive(void **state) {
    sell(10);
    sell(10);
    request(RECORD_UNSENT);
    judged.is_interrupted = true;
    judge();
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
    assert_int_equal(verdict.reasons, 2);
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

static void judge_whatever(void *arg) {
    (void)!verdict_judge(&judged, &verdict);
}

static void test_no_memory_is_told(void **state) {
    sell(10);
    fault_each_allocation(judge_whatever, NULL);
    assert_int_equal(verdict.kind, VERDICT_VALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_sale_to_the_last_unit_is_valid),
        JUDGED(test_units_left_without_a_refusal_are_valid),
        JUDGED(test_an_unknown_outcome_is_resolved_from_the_ledger),
        JUDGED(test_an_unknown_sale_without_an_order_is_inconclusive),
        JUDGED(test_a_ledger_that_moved_while_it_was_read_is_inconclusive),
        JUDGED(test_a_ledger_that_could_not_be_read_is_inconclusive),
        JUDGED(test_a_fault_that_failed_is_inconclusive),
        JUDGED(test_a_run_that_nobody_wants_judged_is_not),
        JUDGED(test_an_interrupted_run_is_inconclusive),
        JUDGED(test_who_interrupts_is_not_told_to_wait_longer_or_fire_faster),
        JUDGED(test_a_target_that_answers_nothing_is_inconclusive),
        JUDGED(test_one_unsent_request_is_inconclusive),
        JUDGED(test_how_late_is_late_can_be_said),
        JUDGED(test_more_late_requests_are_inconclusive),
        JUDGED(test_too_few_overlaps_are_inconclusive),
        JUDGED(test_overlapping_pairs_are_counted),
        JUDGED(test_the_rate_is_bounded_by_three_in_n),
        JUDGED(test_few_overlapping_attempts_bound_no_rate),
        JUDGED(test_violated_wins_over_inconclusive),
        JUDGED(test_examples_are_bounded_and_counts_are_not),
        JUDGED(test_no_memory_is_told),
        JUDGED(test_one_request_in_twenty_may_be_late),
        JUDGED(test_a_ledger_that_does_not_become_quiet_is_inconclusive),
        JUDGED(test_a_run_that_sold_nothing_is_inconclusive),
        JUDGED(test_two_refusals_do_not_compete),
        JUDGED(test_who_is_told_busy_competes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
