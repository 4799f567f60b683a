/* What the exact check of each stock row adds to the judgement, and rounds of several products,
 * shards and repeated keys. */
#include "verdict_fixture.h"

/* From sent to received, in ms. */
static struct record *at(struct record *record, int64_t sent_ms, int64_t received_ms) {
    record->sent_ns = sent_ms * MS;
    record->received_ns = received_ms * MS;
    return record;
}

/* Two shards of five units each. */
static void split(void) {
    static struct ledger_row rows[2];

    rows[0] = (struct ledger_row){.shard = 0, .first_unit = 1, .initial = 5, .available = 5};
    rows[1] = (struct ledger_row){.shard = 1, .first_unit = 6, .initial = 5, .available = 5};
    ledger.rows = rows;
    ledger.row_count = 2;
}

/* A sale by shard 1, which begins with unit 6. */
static struct record *sell_of_second(int64_t unit) {
    struct record *record = sell(unit);

    sales[ledger.sale_count - 1].shard = 1;
    sales[ledger.sale_count - 1].remaining = unit - 6;
    return record;
}

static void test_a_sale_that_read_an_old_count_is_stale(void **state) {
    (void)state;
    at(sell(10), 1, 2);
    at(sell(8), 1, 4);
    at(sell(9), 5, 6);
    assert_only(ANOMALY_STALE, 1);
    assert_non_null(strstr(verdict.found[ANOMALY_STALE].example[0], "left 7 and was answered"));
}

static void test_sales_that_overlap_are_not_stale(void **state) {
    (void)state;
    at(sell(10), 1, 2);
    at(sell(8), 1, 5);
    at(sell(9), 5, 6);
    assert_kind(VERDICT_VALID);
}

static void test_a_sale_of_unknown_outcome_may_end_at_any_time(void **state) {
    struct record *record;

    (void)state;
    at(sell(10), 1, 2);
    record = at(sell(8), 1, 4);
    record->outcome = RECORD_UNKNOWN;
    record->order_id[0] = '\0';
    at(sell(9), 5, 6);
    assert_kind(VERDICT_VALID);
}

static void test_each_shard_has_a_count_of_its_own(void **state) {
    (void)state;
    split();
    at(sell_of_second(10), 1, 2);
    at(sell_of_second(9), 3, 4);
    at(sell(5), 5, 6);
    assert_kind(VERDICT_VALID);
}

static void test_a_shard_that_sold_the_unit_of_another_is_an_oversell(void **state) {
    (void)state;
    split();
    for (int64_t unit = 10; unit > 4; unit--)
        sell_of_second(unit);
    assert_only(ANOMALY_OVERSELL, 1);
    assert_non_null(strstr(verdict.found[ANOMALY_OVERSELL].example[0], "had units 6 to 10"));
}

static void test_a_unit_passed_over_behind_right_sums_is_a_leak(void **state) {
    (void)state;
    sell(10);
    sell(8);
    assert_only(ANOMALY_LEAK, 1);
    assert_non_null(strstr(verdict.found[ANOMALY_LEAK].example[0], "unit 9 was passed over"));
}

static void test_a_unit_missing_from_a_ledger_that_moved_is_no_leak(void **state) {
    (void)state;
    sell(10);
    sell(8);
    ledger.counted = 3;
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_a_unit_passed_over_behind_wrong_sums_counts_once(void **state) {
    (void)state;
    sell(10);
    sell(8);
    ledger.available = 7;
    assert_only(ANOMALY_LEAK, 1);
    assert_non_null(strstr(verdict.found[ANOMALY_LEAK].example[0], "7 left + 2 units sold is 9"));
}

static void test_a_unit_that_came_back_is_not_passed_over(void **state) {
    (void)state;
    sell(10);
    sell(8);
    returned_row(0, 9);
    ledger.available = 7;
    assert_kind(VERDICT_VALID);
}

static void test_a_unit_that_came_back_and_was_sold_again_is_not_passed_over(void **state) {
    (void)state;
    sell(10);
    at(sell(8), 1, 2);
    at(sell(9), 5, 6);
    sales[2].remaining = 0;
    assert_kind(VERDICT_VALID);
}

static void test_an_unknown_outcome_may_have_taken_the_unit_passed_over(void **state) {
    (void)state;
    at(request(RECORD_UNKNOWN), 1, 9);
    at(sell(10), 1, 2);
    at(sell(8), 3, 4);
    assert_kind(VERDICT_VALID);
    recorder->records[0].sent_ns = 5 * MS;
    assert_only(ANOMALY_LEAK, 1);
}

static void test_a_promise_without_a_row_is_a_ghost_and_no_leak(void **state) {
    (void)state;
    sell(10);
    request(RECORD_SOLD)->unit = 9;
    sell(8);
    assert_only(ANOMALY_GHOST, 1);
}

static void test_a_twin_is_not_stale_as_well(void **state) {
    (void)state;
    at(sell(10), 1, 2);
    at(sell(9), 3, 4);
    at(sell(10), 5, 6);
    ledger.available = 8;
    assert_only(ANOMALY_TWIN, 1);
}

/* ---- several products */

static struct ledger two[2];

static void judge_two_products(void) {
    static struct ledger_sale others[2];

    two[0] = ledger;
    two[0].sale_count = two[0].order_count = 1;
    two[0].counted = two[0].units = 1;
    two[0].available = 9;
    two[1] = two[0];
    others[0] = sales[1];
    two[1].sales = others;
    two[1].orders = &orders[1];
    judged.ledgers = two;
    judged.items = 2;
}

static void test_one_unit_of_each_of_two_products_is_no_twin(void **state) {
    (void)state;
    sell(10);
    sell(10)->item = 1;
    judge_two_products();
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.sold, 2);
    assert_int_equal(verdict.distinct, 2);
    assert_int_equal(verdict.left, 18);
    assert_int_equal(verdict.pairs, 0);
}

static void test_a_sale_in_the_ledger_of_another_product_is_told(void **state) {
    (void)state;
    sell(10);
    sell(10);
    judge_two_products();
    judge();
    assert_int_equal(verdict.found[ANOMALY_GHOST].count, 1);
    assert_int_equal(verdict.found[ANOMALY_ORPHAN].count, 1);
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
}

static void test_a_refusal_counts_for_its_own_product(void **state) {
    (void)state;
    sell(10);
    sell(10)->item = 1;
    request(RECORD_SOLD_OUT)->item = 1;
    judge_two_products();
    two[1].available = 0;
    two[1].initial = 1;
    two[1].sales[0].unit = two[1].orders[0].unit = recorder->records[1].unit = 1;
    two[1].sales[0].remaining = 0;
    assert_kind(VERDICT_VALID);
}

/* ---- repeated keys */

/* The same key again. */
static struct record *repeat(const struct record *first, enum record_outcome outcome) {
    struct record *record = request(outcome);

    memcpy(record->key, first->key, UUID_TEXT);
    record->is_repeat = true;
    if (outcome == RECORD_SOLD) {
        memcpy(record->order_id, first->order_id, UUID_TEXT);
        record->unit = first->unit;
    }
    return record;
}

static void test_a_repeat_that_gets_the_first_answer_is_valid(void **state) {
    (void)state;
    repeat(sell(10), RECORD_SOLD);
    sell(9);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.sold, 2);
    assert_int_equal(verdict.overlapping, 2);
}

static void test_a_repeat_that_is_told_no_makes_no_orphan(void **state) {
    (void)state;
    repeat(sell(10), RECORD_BUSY);
    assert_kind(VERDICT_VALID);
}

static void test_no_to_each_request_of_a_key_makes_one_orphan(void **state) {
    struct record *first;

    (void)state;
    first = sell(10);
    first->outcome = RECORD_BUSY;
    first->order_id[0] = '\0';
    repeat(first, RECORD_FAILED);
    assert_only(ANOMALY_ORPHAN, 1);
}

static void test_a_sale_lasts_to_the_first_yes_of_its_key(void **state) {
    struct record *first;

    (void)state;
    first = at(sell(10), 1, 9);
    at(repeat(first, RECORD_SOLD), 2, 3);
    at(sell(9), 4, 5);
    assert_kind(VERDICT_VALID);
    sales[0].remaining = sales[0].unit = orders[0].unit = 8;
    sales[0].unit = orders[0].unit = 9;
    recorder->records[0].unit = recorder->records[1].unit = 9;
    sales[1].remaining = 9;
    sales[1].unit = orders[1].unit = recorder->records[2].unit = 10;
    assert_only(ANOMALY_STALE, 1);
}

/* It is told "sold out" and asks once more: only the second request can have sold. */
static void test_a_key_that_was_refused_before_it_bought_was_refused_early(void **state) {
    struct record *first;

    (void)state;
    first = at(request(RECORD_SOLD_OUT), 1, 2);
    for (int64_t unit = 10; unit > 3; unit--)
        at(sell(unit), 1, 9);
    at(sell(2), 5, 6);
    memcpy(recorder->records[8].key, first->key, UUID_TEXT);
    memcpy(recorder->records[8].order_id, first->key, UUID_TEXT);
    memcpy(sales[7].order_id, first->key, UUID_TEXT);
    memcpy(orders[7].order_id, first->key, UUID_TEXT);
    at(sell(3), 1, 9);
    at(sell(1), 1, 9);
    ledger_sort(&ledger);
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
}

/* A unit that a key had, gave back and another customer got, while the key got another one. */
static void test_a_unit_given_back_by_a_key_that_bought_another_is_not_early(void **state) {
    struct record *first;

    (void)state;
    ledger.initial = ledger.available = 2;
    first = at(request(RECORD_BUSY), 1, 9);
    memcpy(first->key, at(sell(2), 1, 3)->key, UUID_TEXT);
    at(request(RECORD_SOLD_OUT), 2, 4);
    at(sell(1), 5, 6);
    assert_kind(VERDICT_VALID);
    first->outcome = RECORD_REFUSED;
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
}

static void test_two_answers_to_one_key_are_a_duplicate(void **state) {
    (void)state;
    repeat(sell(10), RECORD_SOLD)->unit = 9;
    assert_only(ANOMALY_DUPLICATE, 1);
}

static void test_two_orders_of_one_key_are_a_duplicate(void **state) {
    struct record *record;

    (void)state;
    record = repeat(sell(10), RECORD_SOLD);
    memcpy(record->order_id, ids[5], UUID_TEXT);
    assert_only(ANOMALY_DUPLICATE, 1);
}

static void test_launches_held_back_miss_the_schedule(void **state) {
    (void)state;
    for (int64_t unit = 10; unit > 0; unit--)
        sell(unit);
    recorder->late_launches = 1;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_non_null(strstr(verdict.reason[0], "--max-in-flight"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_sale_that_read_an_old_count_is_stale),
        JUDGED(test_sales_that_overlap_are_not_stale),
        JUDGED(test_a_sale_of_unknown_outcome_may_end_at_any_time),
        JUDGED(test_each_shard_has_a_count_of_its_own),
        JUDGED(test_a_shard_that_sold_the_unit_of_another_is_an_oversell),
        JUDGED(test_a_unit_passed_over_behind_right_sums_is_a_leak),
        JUDGED(test_a_unit_missing_from_a_ledger_that_moved_is_no_leak),
        JUDGED(test_a_unit_passed_over_behind_wrong_sums_counts_once),
        JUDGED(test_a_unit_that_came_back_is_not_passed_over),
        JUDGED(test_a_unit_that_came_back_and_was_sold_again_is_not_passed_over),
        JUDGED(test_an_unknown_outcome_may_have_taken_the_unit_passed_over),
        JUDGED(test_a_promise_without_a_row_is_a_ghost_and_no_leak),
        JUDGED(test_a_twin_is_not_stale_as_well),
        JUDGED(test_one_unit_of_each_of_two_products_is_no_twin),
        JUDGED(test_a_sale_in_the_ledger_of_another_product_is_told),
        JUDGED(test_a_refusal_counts_for_its_own_product),
        JUDGED(test_a_repeat_that_gets_the_first_answer_is_valid),
        JUDGED(test_a_repeat_that_is_told_no_makes_no_orphan),
        JUDGED(test_no_to_each_request_of_a_key_makes_one_orphan),
        JUDGED(test_a_sale_lasts_to_the_first_yes_of_its_key),
        JUDGED(test_a_key_that_was_refused_before_it_bought_was_refused_early),
        JUDGED(test_a_unit_given_back_by_a_key_that_bought_another_is_not_early),
        JUDGED(test_two_answers_to_one_key_are_a_duplicate),
        JUDGED(test_two_orders_of_one_key_are_a_duplicate),
        JUDGED(test_launches_held_back_miss_the_schedule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
