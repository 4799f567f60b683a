/* The counterexamples of units and counts that do not add up, word by word. */
#include "verdict_fixture.h"

static const char *sums(void) {
    return counterexample_of(ANOMALY_LEAK)->line[counterexample_of(ANOMALY_LEAK)->lines - 1];
}

static void test_a_leak_names_the_neighbours_of_the_missing_unit(void **state) {
    sell(10);
    sell(8);
    ledger.available = 7;
    LINES(
        counterexample_of(ANOMALY_LEAK),
        "A = order " ORDER "1 via inventory-2: sent 0.001100 s, read 8, wrote 7 at "
        "10:01:02.123456, answered 0.004000 s",
        "B = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at "
        "10:01:02.123456, answered 0.003000 s",
        "A saw that unit gone, and no order has unit 9, and nobody gave it back: a contradiction.",
        "7 left + 2 units sold is 9, and the stock was 10: 1 unit is neither sold nor left.");
}

/* The last to write had read before the others did. */
static void test_a_leak_names_the_unit_that_is_sold_and_in_the_stock(void **state) {
    sell(10);
    sell(9);
    sell(10);
    at_time(2, "10:01:02.999999");
    ledger.available = 9;
    LINES(counterexample_of(ANOMALY_LEAK),
          "A = order " ORDER "1 via inventory-2: sent 0.001100 s, read 9, wrote 8 at "
          "10:01:02.123456, answered 0.004000 s",
          "B = order " ORDER "2 via inventory-1: sent 0.002100 s, read 10, wrote 9 at "
          "10:01:02.999999, answered 0.005000 s",
          "B wrote 9 after A had written 8.",
          "9 are left, from unit 1 up: unit 9 is in the stock, and A sold it: a contradiction.",
          "9 left + 2 units sold is 11, and the stock was 10: 1 unit is sold, "
          "and in the stock all the same.");
}

static void test_a_leak_names_the_unit_that_is_gone_at_the_end(void **state) {
    sell(10);
    ledger.available = 8;
    LINES(counterexample_of(ANOMALY_LEAK),
          "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at "
          "10:01:02.123456, answered 0.003000 s",
          "8 are left, from unit 1 up: unit 9 is gone, no order has it, and nobody "
          "gave it back: a contradiction.",
          "8 left + 1 unit sold is 9, and the stock was 10: 1 unit is neither sold nor left.");
}

/* Sums alone name no order. */
static void test_a_leak_of_a_shard_says_which_and_what_it_has(void **state) {
    static struct ledger_row rows[] = {{0, 1, 5, 5, false}, {1, 6, 5, 7, false}};

    ledger.rows = rows;
    ledger.row_count = 2;
    ledger.available = 12;
    LINES(counterexample_of(ANOMALY_LEAK),
          "Shard 1 began with 5 units, 6 to 10: 0 different ones sold, 7 left.",
          "12 left + 0 units sold is 12, and the stock was 10: 2 units are too many.");
    assert_int_equal(counterexample_of(ANOMALY_LEAK)->shard, 1);
}

static void test_a_leak_of_a_contradictory_row_says_what_it_took(void **state) {
    sell(10);
    sales[0].remaining = 4;
    LINES(counterexample_of(ANOMALY_LEAK),
          "A = order " ORDER "0 via inventory-1: sent 0.000100 s, took unit 10 at 10:01:02.123456, "
          "answered 0.003000 s",
          "A left 4 there, from unit 1 up, so it took unit 5; and the ledger "
          "says unit 10: a contradiction.",
          "9 left + 1 unit sold is 10, which is the stock all the same.");
}

static void test_the_sums_of_a_leak_say_no_more_than_they_show(void **state) {
    sell(10);
    ledger.returned = 3;
    assert_string_equal(sums(), "9 left + 3 returned + 1 unit sold is 13, and the stock was 10: 3 "
                                "units are too many.");
    ledger.returned = 0;
    ledger.available = 12;
    assert_string_equal(sums(),
                        "12 left + 1 unit sold is 13, and the stock was 10: 3 units are too many.");
    ledger.available = -1;
    assert_string_equal(sums(),
                        "-1 left + 1 unit sold is 0, and the stock was 10: 10 units are too few.");
    ledger.available = 10;
    sales[0].unit = 11;
    assert_string_equal(sums(),
                        "10 left + 1 unit sold is 11, and the stock was 10: 1 unit is too many.");
}

/* One request of unknown outcome, and two units that are gone. */
static void test_a_leak_of_a_unit_that_came_back_says_why_it_cannot(void **state) {
    sell(10);
    sell(8);
    returned_row(0, 9);
    ledger.available = 7;
    assert_string_equal(counterexample_of(ANOMALY_LEAK)->line[0],
                        "Unit 9 came back, and an order of a key is "
                        "never given back: a contradiction.");
    judged.is_keyless = true;
    assert_non_null(strstr(counterexample_of(ANOMALY_LEAK)->line[0], "fewer requests can have"));
}

static void test_a_leak_counts_the_unknown_outcomes(void **state) {
    request(RECORD_UNKNOWN);
    sell(7);
    sell(10);
    ledger.available = 6;
    assert_string_equal(counterexample_of(ANOMALY_LEAK)->line[2],
                        "A saw units gone that no order has and nobody gave back, from unit 8 up; "
                        "too few requests of unknown outcome were sent in time to have taken them: "
                        "a contradiction.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_leak_names_the_neighbours_of_the_missing_unit),
        JUDGED(test_a_leak_names_the_unit_that_is_sold_and_in_the_stock),
        JUDGED(test_a_leak_names_the_unit_that_is_gone_at_the_end),
        JUDGED(test_a_leak_of_a_shard_says_which_and_what_it_has),
        JUDGED(test_a_leak_of_a_contradictory_row_says_what_it_took),
        JUDGED(test_the_sums_of_a_leak_say_no_more_than_they_show),
        JUDGED(test_a_leak_of_a_unit_that_came_back_says_why_it_cannot),
        JUDGED(test_a_leak_counts_the_unknown_outcomes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
