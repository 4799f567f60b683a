/* Rounds in which keys are sent again, or answered with the orders of others. */
#include "verdict_fixture.h"

static void test_a_repeat_that_gets_the_first_answer_is_valid(void **state) {
    repeat(sell(10), RECORD_SOLD);
    sell(9);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.sold, 2);
    assert_int_equal(verdict.overlapping, 2);
}

static void test_a_repeat_that_is_told_no_makes_no_orphan(void **state) {
    repeat(sell(10), RECORD_BUSY);
    assert_kind(VERDICT_VALID);
}

static void test_no_to_each_request_of_a_key_makes_one_orphan(void **state) {
    struct record *first;

    first = sell(10);
    untell(first, RECORD_BUSY);
    repeat(first, RECORD_FAILED);
    assert_only(ANOMALY_ORPHAN, 1);
}

static void test_a_sale_lasts_to_the_first_yes_of_its_key(void **state) {
    struct record *first;

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

/* The first request was told no, so the second one sold: after the count had passed its unit. */
static void test_a_request_that_was_told_no_is_not_the_seller(void **state) {
    static const enum record_outcome no[] = {RECORD_SOLD_OUT, RECORD_BUSY, RECORD_REFUSED,
                                             RECORD_FAILED};
    struct record *first;

    first = at(request(RECORD_UNKNOWN), 1, 2);
    at(sell(9), 3, 4);
    memcpy(first->key, at(sell(10), 5, 6)->key, UUID_TEXT);
    assert_kind(VERDICT_VALID);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        first->outcome = no[i];
        judge();
        assert_int_equal(verdict.found[ANOMALY_STALE].count, 1);
    }
}

static void test_a_key_that_was_told_yes_and_then_no_is_an_orphan(void **state) {
    static const enum record_outcome no[] = {RECORD_SOLD_OUT, RECORD_REFUSED};
    struct record *again;

    ledger.initial = ledger.available = 1;
    again = repeat(at(sell(1), 1, 3), RECORD_SOLD_OUT);
    for (size_t i = 0; i < 2; i++) {
        again->outcome = no[i];
        at(again, 3, 5); /* it may have been on its way before the yes */
        assert_kind(VERDICT_VALID);
        again->sent_ns++;
        assert_only(ANOMALY_ORPHAN, 1);
    }
    again->outcome = RECORD_BUSY; /* the order could not be looked up */
    assert_kind(VERDICT_VALID);
}

/* It is told "sold out" and asks once more: only the second request can have sold. */
static void test_a_key_that_was_refused_before_it_bought_was_refused_early(void **state) {
    struct record *first;

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

    judged.is_keyless = true;
    ledger.initial = ledger.available = 2;
    first = at(request(RECORD_BUSY), 1, 9);
    memcpy(first->key, at(sell(2), 1, 3)->key, UUID_TEXT);
    at(request(RECORD_SOLD_OUT), 2, 4);
    at(sell(1), 5, 6);
    assert_kind(VERDICT_VALID);
    first->outcome = RECORD_REFUSED;
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
}

/* The second customer is told the order of the first one, long before that is sold. */
static void test_an_order_is_sold_to_whose_key_it_is(void **state) {
    struct record *owner, *other;

    other = at(sell(10), 1, 2);
    owner = at(sell(9), 5, 6);
    at(sell(8), 7, 8);
    memcpy(other->order_id, owner->key, UUID_TEXT);
    memcpy(sales[0].order_id, ids[7], UUID_TEXT); /* of nobody */
    ledger_sort(&ledger);
    judge();
    assert_int_equal(verdict.found[ANOMALY_GHOST].count, 1);
    assert_int_equal(verdict.found[ANOMALY_ORPHAN].count, 1);
    assert_int_equal(verdict.found[ANOMALY_STALE].count, 0);
}

/* Each has a unit; the one was told of the other's. */
static void test_the_order_of_another_customer_is_no_duplicate(void **state) {
    struct record *told;

    told = sell(10);
    sell(9);
    memcpy(told->order_id, ids[1], UUID_TEXT);
    assert_only(ANOMALY_GHOST, 1);
    told->unit = 9;
    assert_only(ANOMALY_GHOST, 1);
}

static void test_an_order_that_is_not_its_key_is_a_ghost(void **state) {
    memcpy(sell(10)->order_id, ids[3], UUID_TEXT);
    memcpy(sales[0].order_id, ids[3], UUID_TEXT);
    memcpy(orders[0].order_id, ids[3], UUID_TEXT);
    assert_only(ANOMALY_GHOST, 1);
}

/* The second of two replies to a key names the order: a request was made for it. */
static void test_both_orders_of_a_duplicate_were_asked_for(void **state) {
    struct record *again;

    again = repeat(sell(10), RECORD_SOLD);
    sell_for(5, 9);
    memcpy(again->order_id, ids[5], UUID_TEXT);
    again->unit = 9;
    assert_only(ANOMALY_DUPLICATE, 1);
}

static void test_two_answers_to_one_key_are_a_duplicate(void **state) {
    repeat(sell(10), RECORD_SOLD)->unit = 9;
    assert_only(ANOMALY_DUPLICATE, 1);
}

static void test_two_orders_of_one_key_are_a_duplicate(void **state) {
    struct record *record;

    record = repeat(sell(10), RECORD_SOLD);
    memcpy(record->order_id, ids[5], UUID_TEXT);
    assert_only(ANOMALY_DUPLICATE, 1);
}

static void test_a_lost_reply_without_a_key_may_be_of_any_order(void **state) {
    at(sell(10), 1, 2);
    at(nameless(RECORD_UNKNOWN), 3, 9);
    sell_for(7, 9);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.unknown_sold, 1);
    ledger.order_count--;
    assert_kind(VERDICT_INCONCLUSIVE);
    assert_int_equal(verdict.unsettled, 1);
}

static void test_a_lost_reply_without_a_key_is_of_one_order(void **state) {
    at(nameless(RECORD_UNKNOWN), 1, 9);
    at(sell(8), 1, 9);
    for (int i = 0; i < 2; i++) {
        sell_for(6 + i, 10 - i);
    }
    ledger_sort(&ledger);
    assert_only(ANOMALY_ORPHAN, 1);
    at(nameless(RECORD_UNKNOWN), 1, 9);
    assert_kind(VERDICT_VALID);
    recorder->records[2].outcome = RECORD_BUSY; /* told that nothing was sold */
    assert_only(ANOMALY_ORPHAN, 1);
}

/* The one that was sent first can have sold before the other one was sent, whoever has the row. */
static void test_of_two_lost_replies_each_may_be_of_either_order(void **state) {
    at(nameless(RECORD_UNKNOWN), 1, 99);
    at(sell(9), 2, 3); /* unit 10 was sold by then */
    at(nameless(RECORD_UNKNOWN), 4, 99);
    sell_for(7, 10);
    ledger_sort(&ledger);
    assert_kind(VERDICT_VALID);
    sell_for(8, 8);
    ledger_sort(&ledger);
    assert_kind(VERDICT_VALID);
}

static void test_one_order_that_two_are_promised_without_keys_is_a_ghost(void **state) {
    struct record *other;

    sell(10);
    other = request(RECORD_SOLD);
    other->unit = 10;
    memcpy(other->key, ids[0], UUID_TEXT);
    memcpy(other->order_id, ids[0], UUID_TEXT);
    assert_only(ANOMALY_GHOST, 1);
    other->is_repeat = true;
    assert_kind(VERDICT_VALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_repeat_that_gets_the_first_answer_is_valid),
        JUDGED(test_a_repeat_that_is_told_no_makes_no_orphan),
        JUDGED(test_no_to_each_request_of_a_key_makes_one_orphan),
        JUDGED(test_a_sale_lasts_to_the_first_yes_of_its_key),
        JUDGED(test_a_request_that_was_told_no_is_not_the_seller),
        JUDGED(test_a_key_that_was_told_yes_and_then_no_is_an_orphan),
        JUDGED(test_a_key_that_was_refused_before_it_bought_was_refused_early),
        JUDGED(test_a_unit_given_back_by_a_key_that_bought_another_is_not_early),
        JUDGED(test_an_order_is_sold_to_whose_key_it_is),
        JUDGED(test_the_order_of_another_customer_is_no_duplicate),
        JUDGED(test_an_order_that_is_not_its_key_is_a_ghost),
        JUDGED(test_both_orders_of_a_duplicate_were_asked_for),
        JUDGED(test_two_answers_to_one_key_are_a_duplicate),
        JUDGED(test_two_orders_of_one_key_are_a_duplicate),
        JUDGED(test_a_lost_reply_without_a_key_may_be_of_any_order),
        JUDGED(test_a_lost_reply_without_a_key_is_of_one_order),
        JUDGED(test_of_two_lost_replies_each_may_be_of_either_order),
        JUDGED(test_one_order_that_two_are_promised_without_keys_is_a_ghost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
