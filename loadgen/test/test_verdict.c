/* Verdicts over hand-made runs: each anomaly, its boundary, and each reason to be inconclusive. */
#include "verdict.h"

#include "fault.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 512
#define MS   INT64_C(1000000)

/* A run under construction. Request i has the key of number i and runs from i ms to i + 3 ms. */
static struct recorder *recorder;
static struct ledger ledger;
static struct ledger_sale sales[ROOM];
static struct ledger_order orders[ROOM];
static char ids[ROOM][UUID_TEXT];
static struct verdict verdict;
static struct verdict_case judged;

static int set_up(void **state) {
    (void)state;
    recorder = recorder_make(ROOM);
    assert_non_null(recorder);
    for (int i = 0; i < ROOM; i++)
        snprintf(ids[i], sizeof ids[i], "01900000-0000-7000-8000-%012d", i);
    memset(&verdict, 0, sizeof verdict);
    ledger = (struct ledger){.initial = 10, .available = 10, .sales = sales, .orders = orders};
    judged = (struct verdict_case){.ledger = &ledger, .recorder = recorder};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    recorder_free(recorder);
    return 0;
}

static struct record *request(enum record_outcome outcome) {
    size_t number = recorder->count;
    struct record *record = recorder_next(recorder, (int64_t)number * MS);

    memcpy(record->key, ids[number], UUID_TEXT);
    record->outcome = outcome;
    recorder->by_outcome[outcome]++;
    if (outcome == RECORD_UNSENT || outcome == RECORD_UNREACHED)
        return record;
    record->sent_ns = record->planned_ns + MS / 10;
    record->received_ns = record->planned_ns + 3 * MS;
    histogram_record(&recorder->lateness, MS / 10);
    recorder->answered += outcome != RECORD_UNKNOWN;
    return record;
}

static struct ledger_sale *ledger_row(int number, int64_t unit) {
    struct ledger_sale *sale = &sales[ledger.sale_count++];

    *sale = (struct ledger_sale){.order_id = ids[number],
                                 .unit = unit,
                                 .instance = number % 2 ? "inventory-2" : "inventory-1",
                                 .at = "2026-11-21T10:01:02.123456Z"};
    ledger.counted++;
    return sale;
}

static void order_row(int number, int64_t unit) {
    orders[ledger.order_count++] = (struct ledger_order){
        .order_id = ids[number], .unit = unit, .at = "2026-11-21T10:01:02.124456Z"};
}

/* A sale as it should be: told, in the ledger, recorded, and taken from the stock. */
static struct record *sell(int64_t unit) {
    int number = (int)recorder->count;
    struct record *record = request(RECORD_SOLD);

    record->unit = unit;
    memcpy(record->order_id, record->key, UUID_TEXT);
    ledger_row(number, unit);
    order_row(number, unit);
    ledger.available--;
    return record;
}

static void judge(void) {
    assert_int_equal(verdict_judge(&judged, &verdict), 0);
}

/* Judge, and find this anomaly so many times and no other. */
static void assert_only(enum anomaly anomaly, int64_t count) {
    judge();
    for (int i = 0; i < ANOMALY_COUNT; i++)
        assert_int_equal(verdict.found[i].count, i == (int)anomaly ? count : 0);
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
    assert_true(verdict.found[anomaly].examples >= 1);
}

static void assert_kind(enum verdict_kind kind) {
    judge();
    for (int i = 0; i < ANOMALY_COUNT; i++)
        assert_int_equal(verdict.found[i].count, 0);
    assert_int_equal(verdict.kind, kind);
}

static void test_a_sale_to_the_last_unit_is_valid(void **state) {
    (void)state;
    for (int64_t unit = 10; unit > 0; unit--)
        sell(unit);
    request(RECORD_SOLD_OUT);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.sold, 10);
    assert_int_equal(verdict.left, 0);
    assert_int_equal(verdict.refused_early, 0);
}

static void test_units_left_without_a_refusal_are_valid(void **state) {
    (void)state;
    sell(10);
    request(RECORD_BUSY);
    request(RECORD_REFUSED);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.left, 9);
}

static void test_one_unit_in_two_orders_is_a_twin(void **state) {
    (void)state;
    sell(10);
    sell(10);
    sell(9);
    sell(10);
    ledger.available = 8;
    assert_only(ANOMALY_TWIN, 2);
    assert_int_equal(verdict.distinct, 2);
    assert_non_null(strstr(verdict.found[ANOMALY_TWIN].example[0], "unit 10 sold twice"));
    assert_non_null(strstr(verdict.found[ANOMALY_TWIN].example[0], "inventory-2 at 10:01:02.123"));
}

static void test_more_sales_than_stock_is_an_oversell(void **state) {
    (void)state;
    ledger.initial = ledger.available = 2;
    sell(2);
    sell(1);
    sell(0);
    ledger.available = 0;
    judge();
    assert_int_equal(verdict.found[ANOMALY_OVERSELL].count, 1);
    assert_int_equal(verdict.found[ANOMALY_TWIN].count, 0);
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
}

static void test_a_unit_that_never_was_is_an_oversell(void **state) {
    (void)state;
    sell(11);
    assert_only(ANOMALY_OVERSELL, 1);
}

static void test_units_left_after_a_refusal_are_an_undersell(void **state) {
    (void)state;
    sell(10);
    request(RECORD_SOLD_OUT);
    assert_only(ANOMALY_UNDERSELL, 9);
}

static void test_a_unit_returned_after_the_last_refusal_is_no_undersell(void **state) {
    (void)state;
    for (int64_t unit = 10; unit > 1; unit--)
        sell(unit);
    ledger.available = 0;
    ledger.returned = 1;
    request(RECORD_SOLD_OUT);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.left, 1);
}

static void sell_after_a_refusal(int64_t sent_ns) {
    for (int64_t unit = 10; unit > 1; unit--)
        sell(unit);
    request(RECORD_SOLD_OUT)->received_ns = 20 * MS;
    sell(1)->sent_ns = sent_ns;
}

static void test_a_refusal_before_a_later_buyer_was_sent_is_early(void **state) {
    (void)state;
    sell_after_a_refusal(20 * MS + 1);
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
    assert_int_equal(verdict.refused_early, 1);
}

static void test_a_refusal_while_the_buyer_was_on_its_way_is_not_early(void **state) {
    (void)state;
    sell_after_a_refusal(20 * MS);
    assert_kind(VERDICT_VALID);
}

static void test_a_buyer_of_a_unit_that_may_have_been_returned_proves_nothing(void **state) {
    static const enum record_outcome cancelled[] = {RECORD_BUSY, RECORD_FAILED, RECORD_UNKNOWN};

    (void)state;
    for (size_t i = 0; i < sizeof cancelled / sizeof cancelled[0]; i++) {
        sell_after_a_refusal(20 * MS + 1);
        request(cancelled[i]);
        assert_kind(VERDICT_VALID);
        assert_int_equal(tear_down(NULL), 0);
        assert_int_equal(set_up(NULL), 0);
    }
}

static void test_a_promise_without_a_ledger_row_is_a_ghost(void **state) {
    (void)state;
    request(RECORD_SOLD)->unit = 10;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_a_promise_of_another_unit_is_a_ghost(void **state) {
    (void)state;
    sell(10)->unit = 9;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_a_promise_that_was_not_recorded_is_a_ghost(void **state) {
    (void)state;
    sell(10);
    ledger.order_count = 0;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_an_order_for_another_unit_is_a_ghost(void **state) {
    (void)state;
    sell(10);
    orders[0].unit = 9;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_an_order_without_a_sale_is_a_ghost(void **state) {
    (void)state;
    request(RECORD_UNKNOWN);
    order_row(0, 10);
    assert_only(ANOMALY_GHOST, 1);
}

static void test_one_order_for_two_customers_is_a_ghost(void **state) {
    struct record *second;

    (void)state;
    sell(10);
    second = request(RECORD_SOLD);
    second->unit = 10;
    memcpy(second->order_id, ids[0], UUID_TEXT);
    assert_only(ANOMALY_GHOST, 1);
}

static void test_a_sale_whose_customer_was_told_no_is_an_orphan(void **state) {
    static const enum record_outcome no[] = {RECORD_BUSY, RECORD_REFUSED, RECORD_FAILED,
                                             RECORD_UNREACHED, RECORD_UNSENT};

    (void)state;
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        request(no[i]);
        ledger_row((int)i, 10 - (int64_t)i);
        order_row((int)i, 10 - (int64_t)i);
        ledger.available--;
    }
    assert_only(ANOMALY_ORPHAN, 5);
}

static void test_a_sale_that_nobody_asked_for_is_an_orphan(void **state) {
    (void)state;
    sell(10);
    ledger_row(100, 9);
    order_row(100, 9);
    ledger.available--;
    judge();
    assert_int_equal(verdict.found[ANOMALY_ORPHAN].count, 1);
}

static void test_one_key_with_two_orders_is_a_duplicate(void **state) {
    struct record *record;

    (void)state;
    record = sell(10);
    memcpy(record->order_id, ids[1], UUID_TEXT);
    ledger_row(1, 10);
    order_row(1, 10);
    sales[0].unit = 9;
    ledger.available--;
    judge();
    assert_int_equal(verdict.found[ANOMALY_DUPLICATE].count, 1);
}

static void test_one_order_with_two_ledger_rows_is_a_duplicate(void **state) {
    (void)state;
    sell(10);
    ledger_row(0, 9)->order_id = ids[0];
    ledger.available--;
    judge();
    assert_int_equal(verdict.found[ANOMALY_DUPLICATE].count, 1);
}

static void test_a_missing_unit_is_a_leak(void **state) {
    (void)state;
    sell(10);
    ledger.available = 8;
    assert_only(ANOMALY_LEAK, 1);
}

static void test_a_unit_too_many_is_a_leak(void **state) {
    (void)state;
    sell(10);
    ledger.returned = 2;
    assert_only(ANOMALY_LEAK, 2);
}

static void test_an_unknown_outcome_is_resolved_from_the_ledger(void **state) {
    (void)state;
    sell(10);
    request(RECORD_UNKNOWN);
    request(RECORD_UNKNOWN);
    ledger_row(1, 9);
    order_row(1, 9);
    ledger.available--;
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.unknown_sold, 1);
}

static void test_an_unknown_sale_without_an_order_is_inconclusive(void **state) {
    (void)state;
    sell(10);
    request(RECORD_UNKNOWN);
    ledger_row(1, 9);
    ledger.available--;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict.unsettled, 1);
}

static void test_a_ledger_that_moved_while_it_was_read_is_inconclusive(void **state) {
    (void)state;
    sell(10);
    ledger.counted = 2;
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_a_ledger_that_could_not_be_read_is_inconclusive(void **state) {
    (void)state;
    sell(10);
    judged.ledger = NULL;
    judged.problem = "the ledger could not be read";
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_string_equal(verdict.reason[0], "the ledger could not be read");
}

static void test_a_run_that_nobody_wants_judged_is_not(void **state) {
    (void)state;
    sell(10);
    judged.ledger = NULL;
    assert_kind(VERDICT_UNJUDGED);
}

static void test_an_interrupted_run_is_inconclusive(void **state) {
    (void)state;
    sell(10);
    judged.is_interrupted = true;
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_a_target_that_answers_nothing_is_inconclusive(void **state) {
    (void)state;
    request(RECORD_UNREACHED);
    request(RECORD_UNKNOWN);
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_one_unsent_request_is_inconclusive(void **state) {
    (void)state;
    sell(10);
    request(RECORD_UNSENT);
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void sell_late(int late) {
    ledger.initial = ledger.available = 300;
    for (int i = 0; i < 200; i++)
        sell(300 - i);
    histogram_reset(&recorder->lateness);
    for (int i = 0; i < 200; i++)
        histogram_record(&recorder->lateness, i < late ? 11 * MS : MS);
}

static void test_one_request_in_a_hundred_may_be_late(void **state) {
    (void)state;
    sell_late(2);
    assert_kind(VERDICT_VALID);
}

static void test_more_late_requests_are_inconclusive(void **state) {
    (void)state;
    sell_late(3);
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_too_few_overlaps_are_inconclusive(void **state) {
    (void)state;
    ledger.initial = ledger.available = 300;
    for (int i = 0; i < 100; i++) {
        struct record *record = sell(300 - i);

        record->received_ns = record->sent_ns + 1;
    }
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict.pairs, 0);
    assert_int_equal(verdict.overlapping, 0);
}

static void test_few_requests_need_no_overlaps(void **state) {
    (void)state;
    ledger.initial = ledger.available = 300;
    for (int i = 0; i < 99; i++) {
        struct record *record = sell(300 - i);

        record->received_ns = record->sent_ns + 1;
    }
    assert_kind(VERDICT_VALID);
}

static void test_overlapping_pairs_are_counted(void **state) {
    static const int64_t spans[][2] = {{1, 10}, {2, 3}, {3, 4}, {9, 12}, {20, 21}};

    (void)state;
    for (int64_t i = 0; i < 5; i++) {
        struct record *record = sell(10 - i);

        record->sent_ns = spans[i][0];
        record->received_ns = spans[i][1];
    }
    judge();
    assert_int_equal(verdict.pairs, 3);
    assert_int_equal(verdict.overlapping, 4);
}

static void test_violated_wins_over_inconclusive(void **state) {
    (void)state;
    sell(10);
    sell(10);
    request(RECORD_UNSENT);
    judged.is_interrupted = true;
    judge();
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
    assert_int_equal(verdict.reasons, 2);
}

static void test_examples_are_bounded_and_counts_are_not(void **state) {
    (void)state;
    ledger.available = 10;
    for (int i = 0; i < 300; i++)
        sell(10);
    judge();
    assert_int_equal(verdict.found[ANOMALY_TWIN].count, 299);
    assert_int_equal(verdict.found[ANOMALY_TWIN].examples, VERDICT_EXAMPLES);
    assert_int_equal(verdict.found[ANOMALY_OVERSELL].count, 290);
}

static void judge_whatever(void *arg) {
    (void)arg;
    (void)!verdict_judge(&judged, &verdict);
}

static void test_no_memory_is_told(void **state) {
    (void)state;
    sell(10);
    fault_each_allocation(judge_whatever, NULL);
    assert_int_equal(verdict.kind, VERDICT_VALID);
}

#define JUDGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_sale_to_the_last_unit_is_valid),
        JUDGED(test_units_left_without_a_refusal_are_valid),
        JUDGED(test_one_unit_in_two_orders_is_a_twin),
        JUDGED(test_more_sales_than_stock_is_an_oversell),
        JUDGED(test_a_unit_that_never_was_is_an_oversell),
        JUDGED(test_units_left_after_a_refusal_are_an_undersell),
        JUDGED(test_a_unit_returned_after_the_last_refusal_is_no_undersell),
        JUDGED(test_a_refusal_before_a_later_buyer_was_sent_is_early),
        JUDGED(test_a_refusal_while_the_buyer_was_on_its_way_is_not_early),
        JUDGED(test_a_buyer_of_a_unit_that_may_have_been_returned_proves_nothing),
        JUDGED(test_a_promise_without_a_ledger_row_is_a_ghost),
        JUDGED(test_a_promise_of_another_unit_is_a_ghost),
        JUDGED(test_a_promise_that_was_not_recorded_is_a_ghost),
        JUDGED(test_an_order_for_another_unit_is_a_ghost),
        JUDGED(test_an_order_without_a_sale_is_a_ghost),
        JUDGED(test_one_order_for_two_customers_is_a_ghost),
        JUDGED(test_a_sale_whose_customer_was_told_no_is_an_orphan),
        JUDGED(test_a_sale_that_nobody_asked_for_is_an_orphan),
        JUDGED(test_one_key_with_two_orders_is_a_duplicate),
        JUDGED(test_one_order_with_two_ledger_rows_is_a_duplicate),
        JUDGED(test_a_missing_unit_is_a_leak),
        JUDGED(test_a_unit_too_many_is_a_leak),
        JUDGED(test_an_unknown_outcome_is_resolved_from_the_ledger),
        JUDGED(test_an_unknown_sale_without_an_order_is_inconclusive),
        JUDGED(test_a_ledger_that_moved_while_it_was_read_is_inconclusive),
        JUDGED(test_a_ledger_that_could_not_be_read_is_inconclusive),
        JUDGED(test_a_run_that_nobody_wants_judged_is_not),
        JUDGED(test_an_interrupted_run_is_inconclusive),
        JUDGED(test_a_target_that_answers_nothing_is_inconclusive),
        JUDGED(test_one_unsent_request_is_inconclusive),
        JUDGED(test_one_request_in_a_hundred_may_be_late),
        JUDGED(test_more_late_requests_are_inconclusive),
        JUDGED(test_too_few_overlaps_are_inconclusive),
        JUDGED(test_few_requests_need_no_overlaps),
        JUDGED(test_overlapping_pairs_are_counted),
        JUDGED(test_violated_wins_over_inconclusive),
        JUDGED(test_examples_are_bounded_and_counts_are_not),
        JUDGED(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
