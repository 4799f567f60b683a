/* Each anomaly in hand-made runs, on both sides of its boundary. */
#include "verdict_fixture.h"

static void test_one_unit_in_two_orders_is_a_twin(void **state) {
    sell(10);
    sell(10);
    sell(9);
    sell(10)->sent_ns = 2 * MS;
    ledger.available = 8;
    assert_only(ANOMALY_TWIN, 2);
    assert_int_equal(verdict.distinct, 2);
    assert_example(ANOMALY_TWIN, 0, "unit 10 sold twice");
    assert_example(ANOMALY_TWIN, 0, "inventory-2 at 10:01:02.123");
}

static void test_more_sales_than_stock_is_an_oversell(void **state) {
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

static void test_of_sales_beyond_the_stock_the_more_count(void **state) {
    ledger.initial = 2;
    ledger.available = 2;
    sell(2);
    sell(3);
    sell(4);
    judge();
    assert_int_equal(verdict.found[ANOMALY_OVERSELL].count, 2);
    assert_example(ANOMALY_OVERSELL, 0, "the stock is 1 to 2");
}

static void test_a_unit_that_never_was_is_an_oversell(void **state) {
    sell(11);
    judge();
    assert_int_equal(verdict.found[ANOMALY_OVERSELL].count, 1);
    assert_int_equal(verdict.found[ANOMALY_TWIN].count, 0);
}

/* As many as could have been served. */
static void test_units_left_after_a_refusal_are_an_undersell(void **state) {
    sell(10);
    request(RECORD_SOLD_OUT);
    assert_only(ANOMALY_UNDERSELL, 1);
    assert_example(ANOMALY_UNDERSELL, 0, "1 requests were told sold out, and 9 units are left");
    for (int i = 0; i < 20; i++)
        request(RECORD_SOLD_OUT);
    assert_only(ANOMALY_UNDERSELL, 9);
}

static void test_a_unit_returned_after_the_last_refusal_is_no_undersell(void **state) {
    judged.is_keyless = true;
    for (int64_t unit = 10; unit > 1; unit--)
        sell(unit);
    ledger.available = 0;
    returned_row(0, 1);
    request(RECORD_BUSY);
    request(RECORD_SOLD_OUT);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.left, 1);
}

static void move(struct record *record, int64_t sent_ns) {
    record->sent_ns = sent_ns;
    record->received_ns = sent_ns + 3 * MS;
}

static void sell_after_a_refusal(int64_t sent_ns) {
    for (int64_t unit = 10; unit > 2; unit--)
        sell(unit);
    request(RECORD_SOLD_OUT)->received_ns = 20 * MS;
    move(sell(2), sent_ns);
    move(sell(1), sent_ns - MS);
}

static void test_a_refusal_before_a_later_buyer_was_sent_is_early(void **state) {
    sell_after_a_refusal(20 * MS + 1);
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
    assert_int_equal(verdict.refused_early, 1);
}

static void test_a_refusal_after_the_last_buyer_was_sent_is_not_early(void **state) {
    sell_after_a_refusal(20 * MS + 1);
    request(RECORD_SOLD_OUT)->received_ns = 20 * MS + 1;
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
}

static void test_a_refusal_while_the_buyer_was_on_its_way_is_not_early(void **state) {
    sell_after_a_refusal(20 * MS);
    assert_kind(VERDICT_VALID);
}

static void test_a_buyer_of_a_unit_that_came_back_after_the_refusal_is_not_early(void **state) {
    judged.is_keyless = true;
    request(RECORD_BUSY);
    sell_after_a_refusal(20 * MS + 1);
    sales[8].remaining = 0;
    assert_kind(VERDICT_VALID);
}

/* A unit that nobody can have given back has not come back, whatever its row says. */
static void test_a_unit_that_did_not_come_back_shows_an_early_refusal(void **state) {
    sell_after_a_refusal(20 * MS + 1);
    sales[8].remaining = 0;
    judge();
    assert_int_equal(verdict.found[ANOMALY_EARLY_SOLD_OUT].count, 1);
    assert_int_equal(verdict.found[ANOMALY_LEAK].count, 1);
}

/* However many were told busy: that is no licence to refuse others. */
static void test_busy_replies_do_not_hide_an_early_refusal(void **state) {
    sell_after_a_refusal(20 * MS + 1);
    for (int i = 0; i < 20; i++)
        request(RECORD_BUSY);
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
}

static void test_an_unknown_outcome_that_bought_later_shows_an_early_refusal(void **state) {
    struct record *record;

    sell_after_a_refusal(20 * MS + 1);
    record = &recorder->records[recorder->count - 2];
    untell(record, RECORD_UNKNOWN);
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
}

static void test_a_promise_without_a_ledger_row_is_a_ghost(void **state) {
    request(RECORD_SOLD)->unit = 10;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_a_promise_of_another_unit_is_a_ghost(void **state) {
    sell(10)->unit = 9;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_a_promise_that_was_not_recorded_is_a_ghost(void **state) {
    sell(10);
    ledger.order_count = 0;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_an_order_for_another_unit_is_a_ghost(void **state) {
    sell(10);
    orders[0].unit = 9;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_an_order_without_a_sale_is_a_ghost(void **state) {
    request(RECORD_UNKNOWN);
    order_row(0, 10);
    assert_only(ANOMALY_GHOST, 1);
}

static void test_an_order_of_unknown_outcome_for_another_unit_is_a_ghost(void **state) {
    sell(10)->outcome = RECORD_UNKNOWN;
    orders[0].unit = 9;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_one_order_for_two_customers_is_a_ghost(void **state) {
    struct record *second;

    sell(10);
    second = request(RECORD_SOLD);
    second->unit = 10;
    memcpy(second->order_id, ids[0], UUID_TEXT);
    assert_only(ANOMALY_GHOST, 1);
}

static void test_the_order_of_an_unknown_outcome_told_to_another_is_a_ghost(void **state) {
    struct record *other;

    other = sell(10);
    untell(other, RECORD_UNKNOWN);
    other = request(RECORD_SOLD);
    other->unit = 10;
    memcpy(other->order_id, ids[0], UUID_TEXT);
    assert_only(ANOMALY_GHOST, 1);
}

static void test_a_sale_whose_customer_was_told_no_is_an_orphan(void **state) {
    static const enum record_outcome no[] = {RECORD_BUSY, RECORD_REFUSED, RECORD_FAILED,
                                             RECORD_UNREACHED, RECORD_UNSENT};

    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        request(no[i]);
        sell_for((int)i, 10 - (int64_t)i);
    }
    assert_only(ANOMALY_ORPHAN, 5);
}

static void test_a_sale_that_nobody_asked_for_is_an_orphan(void **state) {
    sell(10);
    sell_for(100, 9);
    judge();
    assert_int_equal(verdict.found[ANOMALY_ORPHAN].count, 1);
}

static void test_one_key_with_two_orders_is_a_duplicate(void **state) {
    sell_for_one_key_twice();
    judge();
    assert_int_equal(verdict.found[ANOMALY_DUPLICATE].count, 1);
}

static void test_one_order_with_two_ledger_rows_is_a_duplicate(void **state) {
    sell(10);
    memcpy(ledger_row(0, 9)->order_id, ids[0], UUID_TEXT);
    ledger.available--;
    judge();
    assert_int_equal(verdict.found[ANOMALY_DUPLICATE].count, 1);
}

/* The stock is judged by itself, in one snapshot: sales that came in before or after do not count.
 */
static void test_a_sale_after_the_stock_was_read_is_no_leak(void **state) {
    sell(10);
    request(RECORD_UNKNOWN);
    ledger_row(1, 9);
    order_row(1, 9);
    ledger.counted = ledger.units = 1;
    assert_kind(VERDICT_INCONCLUSIVE);
}

static void test_a_twin_that_was_given_back_is_a_leak(void **state) {
    sell(10);
    ledger.available = 9;
    ledger.returned = 1;
    assert_only(ANOMALY_LEAK, 1);
}

static void test_a_missing_unit_is_a_leak(void **state) {
    sell(10);
    ledger.available = 8;
    assert_only(ANOMALY_LEAK, 1);
}

static void test_a_unit_too_many_is_a_leak(void **state) {
    sell(10);
    ledger.returned = 2;
    assert_only(ANOMALY_LEAK, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_one_unit_in_two_orders_is_a_twin),
        JUDGED(test_more_sales_than_stock_is_an_oversell),
        JUDGED(test_a_unit_that_never_was_is_an_oversell),
        JUDGED(test_of_sales_beyond_the_stock_the_more_count),
        JUDGED(test_units_left_after_a_refusal_are_an_undersell),
        JUDGED(test_a_unit_returned_after_the_last_refusal_is_no_undersell),
        JUDGED(test_a_refusal_before_a_later_buyer_was_sent_is_early),
        JUDGED(test_a_refusal_while_the_buyer_was_on_its_way_is_not_early),
        JUDGED(test_a_refusal_after_the_last_buyer_was_sent_is_not_early),
        JUDGED(test_a_promise_without_a_ledger_row_is_a_ghost),
        JUDGED(test_a_promise_of_another_unit_is_a_ghost),
        JUDGED(test_a_promise_that_was_not_recorded_is_a_ghost),
        JUDGED(test_an_order_for_another_unit_is_a_ghost),
        JUDGED(test_an_order_without_a_sale_is_a_ghost),
        JUDGED(test_an_order_of_unknown_outcome_for_another_unit_is_a_ghost),
        JUDGED(test_one_order_for_two_customers_is_a_ghost),
        JUDGED(test_a_sale_whose_customer_was_told_no_is_an_orphan),
        JUDGED(test_a_sale_that_nobody_asked_for_is_an_orphan),
        JUDGED(test_one_key_with_two_orders_is_a_duplicate),
        JUDGED(test_one_order_with_two_ledger_rows_is_a_duplicate),
        JUDGED(test_a_missing_unit_is_a_leak),
        JUDGED(test_a_unit_too_many_is_a_leak),
        JUDGED(test_a_buyer_of_a_unit_that_came_back_after_the_refusal_is_not_early),
        JUDGED(test_a_unit_that_did_not_come_back_shows_an_early_refusal),
        JUDGED(test_busy_replies_do_not_hide_an_early_refusal),
        JUDGED(test_an_unknown_outcome_that_bought_later_shows_an_early_refusal),
        JUDGED(test_the_order_of_an_unknown_outcome_told_to_another_is_a_ghost),
        JUDGED(test_a_sale_after_the_stock_was_read_is_no_leak),
        JUDGED(test_a_twin_that_was_given_back_is_a_leak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
