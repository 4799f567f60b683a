/* What the exact check of the stock rows adds to the judgement, and rounds of several products and
 * shards. */
#include "verdict_fixture.h"

/* Two shards of five units each. */
static struct ledger_row rows[2];

static void split(void) {
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
    rows[1].available--;
    return record;
}

static void test_a_sale_that_read_an_old_count_is_stale(void **state) {
    at(sell(10), 1, 2);
    at(sell(8), 1, 4);
    at(sell(9), 5, 6);
    assert_only(ANOMALY_STALE, 1);
    assert_example(ANOMALY_STALE, 0, "got unit 8 and was answered");
}

static void test_sales_that_overlap_are_not_stale(void **state) {
    at(sell(10), 1, 2);
    at(sell(8), 1, 5);
    at(sell(9), 5, 6);
    assert_kind(VERDICT_VALID);
}

static void test_a_sale_of_unknown_outcome_may_end_at_any_time(void **state) {
    struct record *record;

    at(sell(10), 1, 2);
    record = at(sell(8), 1, 4);
    untell(record, RECORD_UNKNOWN);
    at(sell(9), 5, 6);
    assert_kind(VERDICT_VALID);
}

static void test_each_shard_has_a_count_of_its_own(void **state) {
    split();
    at(sell_of_second(10), 1, 2);
    at(sell_of_second(9), 3, 4);
    at(sell(5), 5, 6);
    rows[0].available--;
    assert_kind(VERDICT_VALID);
}

static void test_a_shard_that_sold_the_unit_of_another_is_an_oversell(void **state) {
    split();
    for (int64_t unit = 10; unit > 4; unit--)
        sell_of_second(unit);
    assert_only(ANOMALY_OVERSELL, 1);
    assert_example(ANOMALY_OVERSELL, 0, "had units 6 to 10");
}

static void test_a_unit_passed_over_behind_right_sums_is_a_leak(void **state) {
    sell(10);
    sell(8);
    assert_only(ANOMALY_LEAK, 2);
    assert_example(ANOMALY_LEAK, 0, "unit 8 is in the stock");
    assert_example(ANOMALY_LEAK, 1, "unit 9 was passed over");
}

static void test_a_unit_missing_from_a_ledger_that_moved_is_no_leak(void **state) {
    sell(10);
    sell(8);
    ledger.counted = 3;
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_a_unit_passed_over_behind_wrong_sums_counts_once(void **state) {
    sell(10);
    sell(8);
    ledger.available = 7;
    assert_only(ANOMALY_LEAK, 1);
    assert_example(ANOMALY_LEAK, 0, "7 left + 2 units sold is 9");
}

static void test_a_unit_that_came_back_is_not_passed_over(void **state) {
    judged.is_keyless = true;
    request(RECORD_BUSY);
    sell(10);
    sell(8);
    returned_row(0, 9);
    ledger.available = 7;
    assert_kind(VERDICT_VALID);
    judged.is_keyless = false; /* an order of a key is never given back */
    assert_only(ANOMALY_LEAK, 1);
    judged.is_keyless = true;
    recorder->records[0].sent_ns = 7 * MS; /* unit 8 was sold by then */
    assert_only(ANOMALY_LEAK, 1);
    assert_example(ANOMALY_LEAK, 0, "unit 9 came back, and no");
}

static void test_a_unit_that_came_back_and_was_sold_again_is_not_passed_over(void **state) {
    judged.is_keyless = true;
    request(RECORD_BUSY);
    sell(10);
    at(sell(8), 1, 2);
    at(sell(9), 5, 6);
    sales[2].remaining = 0;
    assert_kind(VERDICT_VALID);
    recorder->records[0].outcome = RECORD_REFUSED; /* and gave nothing back */
    judge();
    assert_int_equal(verdict.found[ANOMALY_LEAK].count, 1);
    assert_int_equal(verdict.found[ANOMALY_STALE].count, 1);
}

/* 10, 9 and 8 are sold; 10 comes back, to the place of 8, and is sold again. */
static void test_a_unit_that_returned_to_the_count_leaves_any_number(void **state) {
    struct ledger_row *row;

    judged.is_keyless = true;
    request(RECORD_BUSY);
    sell(9);
    sell(8);
    at(sell(10), 7, 8);
    sales[2].remaining = 7;
    row = keep_count(7, true);
    assert_kind(VERDICT_VALID);
    row->returns_to_count = false;
    assert_any(ANOMALY_LEAK);
    row->returns_to_count = true;
    judged.is_keyless = false; /* an order of a key is never given back */
    assert_any(ANOMALY_LEAK);
    judged.is_keyless = true;
    at(sell(10), 9, 10);
    ledger.available = 7;
    assert_only(ANOMALY_TWIN, 1);
}

/* 10 to 1 are sold, one is told so, and 1 comes back. */
static void test_a_unit_that_returned_to_the_count_was_not_withheld(void **state) {
    judged.is_keyless = true;
    for (int64_t unit = 10; unit > 1; unit--)
        sell(unit);
    request(RECORD_BUSY);
    request(RECORD_SOLD_OUT);
    (void)keep_count(0, true);
    returned_row(0, 1);
    assert_kind(VERDICT_VALID);
    assert_true(verdict.has_ended);
    ledger.returned = 0;
    ledger.returned_count = 0;
    (void)keep_count(1, true); /* it never was sold */
    assert_only(ANOMALY_UNDERSELL, 1);
}

/* 10 to 7 are sold; 9 comes back, then 8, to its own place, and is sold once more: it left 7 both
 * times, the second time after 7 was sold. */
static void test_a_unit_that_returned_to_its_own_place_is_not_stale(void **state) {
    struct ledger_row *row;

    judged.is_keyless = true;
    request(RECORD_BUSY);
    request(RECORD_BUSY);
    at(sell(10), 1, 2);
    at(sell(7), 4, 5);
    at(sell(8), 7, 8);
    returned_row(0, 9);
    row = keep_count(6, true);
    assert_kind(VERDICT_VALID);
    recorder->records[1].outcome = RECORD_REFUSED; /* one alone gave back one unit */
    assert_only(ANOMALY_STALE, 1);
    row->returns_to_count = false;
    assert_only(ANOMALY_STALE, 1);
}

static void test_a_unit_and_a_count_that_contradict_each_other_are_a_leak(void **state) {
    judged.is_keyless = true;
    request(RECORD_BUSY);
    at(sell(10), 1, 2);
    at(sell(8), 1, 4);
    at(sell(9), 5, 6);
    sales[2].remaining = 3;
    judge();
    assert_int_equal(verdict.found[ANOMALY_LEAK].count, 1);
    assert_int_equal(verdict.found[ANOMALY_STALE].count, 1);
    assert_example(ANOMALY_LEAK, 0, "has unit 9 of shard 0, and left 3 there");
}

static void test_a_shard_without_a_stock_sells_nothing(void **state) {
    sell(10);
    sales[0].shard = 7;
    ledger.available = 9;
    judge();
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
    assert_example(ANOMALY_LEAK, 0, "of shard 7");
}

static void test_one_unit_too_many_here_does_not_hide_one_missing_there(void **state) {
    split();
    sell_of_second(10);
    rows[0].available--;
    rows[1].available++;
    assert_only(ANOMALY_LEAK, 2);
}

/* A timeout may have given back what one request had, and no more. */
static void test_one_timeout_explains_one_unit(void **state) {
    judged.is_keyless = true;
    request(RECORD_UNKNOWN);
    split();
    sell_of_second(9);
    at(sell(4), 5, 6);
    returned_row(0, 5);
    returned_row(1, 10);
    rows[0].available = rows[1].available = 3;
    ledger.available = 6;
    assert_only(ANOMALY_LEAK, 1);
    at(request(RECORD_UNKNOWN), 1, 2);
    assert_kind(VERDICT_VALID);
}

static void test_a_unit_for_sale_again_that_an_order_has_is_a_leak(void **state) {
    judged.is_keyless = true;
    request(RECORD_BUSY);
    sell(10);
    sell(8);
    returned_row(0, 8);
    ledger.available = 7;
    judge();
    assert_int_equal(verdict.found[ANOMALY_LEAK].count, 2);
    assert_example(ANOMALY_LEAK, 1, "unit 8 came back for sale");
}

static void test_a_timeout_does_not_hide_a_unit_that_is_sold_and_in_the_stock(void **state) {
    at(request(RECORD_UNKNOWN), 1, 9);
    at(sell(10), 1, 2);
    at(sell(8), 3, 4);
    assert_only(ANOMALY_LEAK, 1);
    assert_example(ANOMALY_LEAK, 0, "unit 8 is in the stock");
    recorder->records[0].sent_ns = 10 * MS; /* after it was read that unit 9 is gone */
    assert_only(ANOMALY_LEAK, 2);
}

static void test_a_unit_that_was_promised_is_missing_once(void **state) {
    sell(10);
    request(RECORD_SOLD)->unit = 9;
    sell(8);
    ledger.available = 7;
    judge();
    assert_int_equal(verdict.found[ANOMALY_GHOST].count, 1);
    assert_int_equal(verdict.found[ANOMALY_LEAK].count, 1);
}

static void test_a_twin_that_began_after_the_first_was_told_is_stale_as_well(void **state) {
    at(sell(10), 1, 2);
    at(sell(9), 3, 4);
    at(sell(10), 5, 6);
    ledger.available = 8;
    judge();
    assert_int_equal(verdict.found[ANOMALY_TWIN].count, 1);
    assert_int_equal(verdict.found[ANOMALY_STALE].count, 1);
    recorder->records[2].sent_ns = 2 * MS;
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
    sell(10);
    sell(10);
    judge_two_products();
    judge();
    assert_int_equal(verdict.found[ANOMALY_GHOST].count, 1);
    assert_int_equal(verdict.found[ANOMALY_ORPHAN].count, 1);
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
}

static void test_a_refusal_counts_for_its_own_product(void **state) {
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

static void test_launches_held_back_miss_the_schedule(void **state) {
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
        JUDGED(test_a_unit_that_returned_to_the_count_leaves_any_number),
        JUDGED(test_a_unit_that_returned_to_its_own_place_is_not_stale),
        JUDGED(test_a_unit_that_returned_to_the_count_was_not_withheld),
        JUDGED(test_a_unit_that_came_back_is_not_passed_over),
        JUDGED(test_a_unit_that_came_back_and_was_sold_again_is_not_passed_over),
        JUDGED(test_a_unit_and_a_count_that_contradict_each_other_are_a_leak),
        JUDGED(test_a_shard_without_a_stock_sells_nothing),
        JUDGED(test_one_unit_too_many_here_does_not_hide_one_missing_there),
        JUDGED(test_one_timeout_explains_one_unit),
        JUDGED(test_a_unit_for_sale_again_that_an_order_has_is_a_leak),
        JUDGED(test_a_timeout_does_not_hide_a_unit_that_is_sold_and_in_the_stock),
        JUDGED(test_a_unit_that_was_promised_is_missing_once),
        JUDGED(test_a_twin_that_began_after_the_first_was_told_is_stale_as_well),
        JUDGED(test_one_unit_of_each_of_two_products_is_no_twin),
        JUDGED(test_a_sale_in_the_ledger_of_another_product_is_told),
        JUDGED(test_a_refusal_counts_for_its_own_product),
        JUDGED(test_launches_held_back_miss_the_schedule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
