/* Units that come back: each needs a request of its own that may have given it back, and that was
 * sent in time. */
#include "verdict_fixture.h"

/* All is sold from one row, to whose count units return. */
static void return_to_count(int64_t available) {
    (void)keep_count(available, true);
    judged.is_keyless = true;
}

/* Sold, and its customer was not told; behind the others. */
static void sell_to_nobody(int64_t unit) {
    sell_for(ROOM - 1 - (int)ledger.sale_count, unit);
}

/* ---- by number */

static void test_a_unit_that_never_was_came_back(void **state) {
    request(RECORD_UNKNOWN);
    sell(10);
    sell(8);
    ledger.available = 7;
    returned_row(0, 51);
    assert_any(ANOMALY_LEAK);
    assert_non_null(strstr(counterexample_of(ANOMALY_LEAK)->line[0],
                           "Unit 51 came back for sale to a stock row that never had it"));
    returned_units[0] = (struct ledger_returned){7, 9}; /* or another shard, which is not there */
    assert_any(ANOMALY_LEAK);
}

static void test_a_timeout_of_a_key_gives_nothing_back(void **state) {
    request(RECORD_UNKNOWN);
    sell(10);
    sell(8);
    ledger.available = 7;
    returned_row(0, 9);
    assert_only(ANOMALY_LEAK, 1);
    judged.is_keyless = true;
    assert_kind(VERDICT_VALID);
}

static void test_a_unit_that_came_back_twice_is_a_leak(void **state) {
    judged.is_keyless = true;
    request(RECORD_BUSY);
    nameless(RECORD_UNKNOWN);
    sell(8);
    ledger.available = 7;
    returned_row(0, 9);
    returned_row(0, 9);
    assert_any(ANOMALY_LEAK);
    returned_units[1].unit = 10;
    assert_kind(VERDICT_VALID);
}

/* A row has one unit less than it should; sums that hide it are not believed. */
static void test_a_row_that_does_not_add_up_is_a_leak_whatever_the_timeouts(void **state) {
    request(RECORD_UNKNOWN);
    sell(10);
    sell(8);
    ledger.available = 7;
    ledger.returned = 1; /* the list has none */
    assert_any(ANOMALY_LEAK);
}

/* The last unit of the stock is sold after a refusal: a busy may have given it back if it was sent
 * before that. */
static void test_a_busy_excuses_one_late_sale_if_it_was_sent_in_time(void **state) {
    struct record *busy;

    judged.is_keyless = true;
    ledger.initial = 1;
    at(request(RECORD_SOLD_OUT), 2, 4);
    at(sell(1), 6, 7);
    ledger.available = 0;
    busy = at(request(RECORD_BUSY), 1, 9);
    assert_kind(VERDICT_VALID);
    busy->sent_ns = 5 * MS;
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
}

static void test_a_busy_excuses_the_last_unit_of_one_row(void **state) {
    static struct ledger_row rows[] = {{0, 1, 1, 0, false}, {1, 2, 1, 0, false}};

    judged.is_keyless = true;
    ledger.initial = 2;
    ledger.rows = rows;
    ledger.row_count = 2;
    at(request(RECORD_BUSY), 1, 9);
    at(request(RECORD_SOLD_OUT), 2, 4);
    at(sell(1), 6, 7);
    at(sell(2), 6, 7);
    sales[1].shard = 1;
    sales[1].remaining = 0;
    ledger.available = 0;
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
    at(request(RECORD_BUSY), 1, 9);
    assert_kind(VERDICT_VALID);
}

/* ---- who asked is not known */

/* Two were told nothing: the first one sent gave a unit back, and the other one bought. */
static void test_the_requests_without_an_answer_are_told_apart_by_when_they_were_sent(
    void **state) {
    judged.is_keyless = true;
    at(nameless(RECORD_UNKNOWN), 7, 90);
    at(nameless(RECORD_UNKNOWN), 1, 90);
    at(sell(10), 1, 2);
    at(sell(8), 3, 5);
    sell_to_nobody(7);
    ledger.available = 6;
    returned_row(0, 9);
    assert_kind(VERDICT_VALID);
}

static void test_a_sale_that_each_request_came_too_late_for_is_an_orphan(void **state) {
    struct record *unknown;

    judged.is_keyless = true;
    unknown = at(nameless(RECORD_UNKNOWN), 5, 90);
    at(sell(9), 1, 4);
    sell_to_nobody(10);
    ledger.available = 8;
    assert_only(ANOMALY_ORPHAN, 1);
    assert_non_null(
        strstr(counterexample_of(ANOMALY_ORPHAN)->line[1], "was sent after that unit was gone"));
    unknown->sent_ns = 3 * MS;
    assert_kind(VERDICT_VALID);
}

static void test_a_sale_without_a_name_was_sent_at_an_unknown_time(void **state) {
    judged.is_keyless = true;
    nameless(RECORD_UNKNOWN);
    sell(10);
    sell_to_nobody(10);
    assert_non_null(
        strstr(counterexample_of(ANOMALY_TWIN)->line[1], "sent without a key at an unknown time"));
}

/* ---- to the count */

static void test_units_that_never_were_sold_are_an_undersell(void **state) {
    sell(10);
    request(RECORD_BUSY);
    request(RECORD_SOLD_OUT);
    return_to_count(9);
    assert_only(ANOMALY_UNDERSELL, 1);
}

static void test_a_lock_that_is_kept_is_stuck_although_units_return_to_the_count(void **state) {
    ledger.initial = ledger.available = 400;
    sell(400);
    while (recorder->count < 400)
        request(RECORD_BUSY);
    judged.stuck_ns = 100 * MS;
    return_to_count(399);
    assert_only(ANOMALY_STUCK, 101);
}

static void test_a_busy_excuses_one_of_many_late_sales(void **state) {
    ledger.initial = 3;
    at(request(RECORD_SOLD_OUT), 2, 4);
    at(request(RECORD_BUSY), 1, 9);
    at(sell(3), 5, 6);
    at(sell(2), 7, 8);
    at(sell(1), 9, 10);
    return_to_count(0);
    judge();
    assert_int_equal(verdict.found[ANOMALY_EARLY_SOLD_OUT].count, 1);
    at(request(RECORD_BUSY), 1, 9);
    at(request(RECORD_BUSY), 1, 9);
    assert_kind(VERDICT_VALID);
}

static void test_a_sale_leaves_a_count_that_there_can_have_been(void **state) {
    static const int64_t wrong[] = {-1, 6, 10, 1000000};

    at(sell(10), 1, 2);
    at(sell(9), 3, 4);
    at(sell(8), 5, 6);
    at(request(RECORD_BUSY), 1, 9);
    return_to_count(7);
    assert_kind(VERDICT_VALID);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sales[2].remaining = wrong[i];
        assert_any(ANOMALY_LEAK);
    }
}

/* 10 came back after 9 was sold, and was sold again: one lay below it, and no more. */
static void test_a_unit_is_not_sold_from_higher_than_units_were_left(void **state) {
    ledger.initial = 2;
    at(request(RECORD_BUSY), 1, 9);
    at(sell(1), 2, 3);
    at(sell(2), 5, 6);
    sales[0].remaining = 0;
    sales[1].remaining = 0;
    return_to_count(0);
    assert_kind(VERDICT_VALID);
    sales[1].remaining = 1;
    judge();
    assert_int_equal(verdict.kind, VERDICT_VIOLATED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_unit_that_never_was_came_back),
        JUDGED(test_a_timeout_of_a_key_gives_nothing_back),
        JUDGED(test_a_unit_that_came_back_twice_is_a_leak),
        JUDGED(test_a_row_that_does_not_add_up_is_a_leak_whatever_the_timeouts),
        JUDGED(test_a_busy_excuses_one_late_sale_if_it_was_sent_in_time),
        JUDGED(test_a_busy_excuses_the_last_unit_of_one_row),
        JUDGED(test_the_requests_without_an_answer_are_told_apart_by_when_they_were_sent),
        JUDGED(test_a_sale_that_each_request_came_too_late_for_is_an_orphan),
        JUDGED(test_a_sale_without_a_name_was_sent_at_an_unknown_time),
        JUDGED(test_units_that_never_were_sold_are_an_undersell),
        JUDGED(test_a_lock_that_is_kept_is_stuck_although_units_return_to_the_count),
        JUDGED(test_a_busy_excuses_one_of_many_late_sales),
        JUDGED(test_a_sale_leaves_a_count_that_there_can_have_been),
        JUDGED(test_a_unit_is_not_sold_from_higher_than_units_were_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
