/* The smallest counterexample of each anomaly, word by word. */
#include "verdict_fixture.h"

static void test_a_twin_names_what_each_read_and_wrote(void **state) {
    const struct counterexample *twin;

    sell(10);
    sell(10);
    at_time(1, "10:01:02.123999");
    ledger.available = 9;
    twin = counterexample_of(ANOMALY_TWIN);
    LINES(twin,
          "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at "
          "10:01:02.123456, answered 0.003000 s",
          "B = order " ORDER "1 via inventory-2: sent 0.001100 s, read 10, wrote 9 at "
          "10:01:02.123999, answered 0.004000 s",
          "B read 10 before A wrote 9, so both sold unit 10.",
          "There was one unit 10, and two orders have it: a contradiction.");
    assert_int_equal(twin->ops, 2);
    assert_string_equal(twin->order_id[1], ids[1]);
    assert_string_equal(twin->op[1].instance, "inventory-2");
    assert_int_equal(twin->from_ns, MS / 10);
    assert_int_equal(twin->to_ns, 4 * MS);
    assert_int_equal(twin->op[1].ledger_us - twin->op[0].ledger_us, 543);
}

/* 9 was left; then another sale wrote 10 over it, so that the second may have read after the
 * first had written. */
static void test_a_twin_of_a_count_that_was_set_back_says_so(void **state) {
    ledger.initial = ledger.available = 11;
    sell(11);
    sell(10);
    sell(11);
    sell(10);
    for (int i = 0; i < 4; i++)
        at_time(i, (const char *[]){"10:00:01.000000", "10:00:02.000000", "10:00:03.000000",
                                    "10:00:03.500000"}[i]);
    ledger.available = 9;
    judge();
    assert_int_equal(verdict.found[ANOMALY_TWIN].count, 2);
    assert_string_equal(verdict.counterexample[0].line[2],
                        "B read 10 before A wrote 9, or after another sale had written 10 "
                        "over that, so both sold unit 10.");
    assert_string_equal(verdict.counterexample[1].line[2],
                        "B read 11 before A wrote 10, so both sold unit 11.");
    request(RECORD_UNKNOWN); /* its sale may have set the count back, and be gone */
    judged.is_keyless = true;
    judge();
    assert_non_null(strstr(verdict.counterexample[1].line[2], "or after another sale"));
}

static void test_the_tightest_twins_come_first(void **state) {
    sell(10);
    sell(10);
    sell(9);
    sell(9);
    at_time(1, "10:01:02.999999");
    ledger.available = 8;
    judge();
    assert_int_equal(verdict.counterexamples, 2);
    assert_string_equal(verdict.counterexample[0].order_id[0], ids[2]);
    assert_string_equal(verdict.counterexample[1].order_id[0], ids[0]);
}

static void test_a_count_that_was_higher_before_was_not_set_back(void **state) {
    ledger.initial = ledger.available = 11;
    sell(11);
    sell(10);
    sell(10);
    at_time(0, "10:00:01.000000");
    ledger.available = 9;
    assert_string_equal(counterexample_of(ANOMALY_TWIN)->line[2],
                        "B read 10 before A wrote 9, so both sold unit 10.");
}

/* Unless the two of one instance are tighter by more than a millisecond. */
static void test_twins_of_two_instances_come_before_those_of_one(void **state) {
    sell(10);
    sell(10);
    sell(9);
    sell(9);
    memcpy(sales[1].instance, sales[0].instance, LEDGER_INSTANCE);
    at_time(3, "10:01:02.124456");
    ledger.available = 8;
    judge();
    assert_string_equal(verdict.counterexample[0].order_id[0], ids[2]);
    at_time(3, "10:01:02.124457");
    judge();
    assert_string_equal(verdict.counterexample[0].order_id[0], ids[0]);
}

static void test_different_anomalies_come_before_more_twins(void **state) {
    for (int i = 0; i < 9; i++)
        sell(10)->sent_ns = 1;
    request(RECORD_SOLD)->unit = 3;
    ledger.available = 9;
    judge();
    assert_int_equal(verdict.counterexamples, VERDICT_COUNTEREXAMPLES);
    assert_int_equal(verdict.counterexample[0].anomaly, ANOMALY_TWIN);
    assert_int_equal(verdict.counterexample[1].anomaly, ANOMALY_GHOST);
    for (size_t i = 2; i < VERDICT_COUNTEREXAMPLES; i++)
        assert_int_equal(verdict.counterexample[i].anomaly, ANOMALY_TWIN);
}

static void test_an_oversell_names_the_unit_that_never_was(void **state) {
    sell(11);
    LINES(counterexample_of(ANOMALY_OVERSELL),
          "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 11, wrote 10 at "
          "10:01:02.123456, answered 0.003000 s",
          "A sold unit 11, and its stock row had units 1 to 10: a contradiction.");
}

static void test_a_sale_of_a_row_that_is_not_there_is_told_with_the_stock(void **state) {
    sell(11)->unit = 11;
    sales[0].shard = 7;
    assert_string_equal(counterexample_of(ANOMALY_OVERSELL)->line[1],
                        "A sold unit 11, and the stock had units 1 to 10: a contradiction.");
}

static void test_an_undersell_names_the_last_refusal(void **state) {
    sell(10);
    request(RECORD_SOLD_OUT);
    request(RECORD_SOLD_OUT);
    LINES(counterexample_of(ANOMALY_UNDERSELL),
          "A = request " ORDER "2: sent 0.002100 s, told: sold out at 0.005000 s",
          "At the end 9 units are left in the stock.",
          "They never were sold, so they were there when A was refused: a contradiction.");
}

static void test_an_early_refusal_is_told_with_the_next_buyer(void **state) {
    for (int64_t unit = 10; unit > 1; unit--)
        sell(unit);
    request(RECORD_SOLD_OUT);
    request(RECORD_SOLD_OUT)->received_ns = 15 * MS;
    sell(1)->sent_ns = 16 * MS;
    recorder->records[11].received_ns = 18 * MS;
    LINES(counterexample_of(ANOMALY_EARLY_SOLD_OUT),
          "A = request 01900000-0000-7000-8000-000000000010: sent 0.010100 "
          "s, told: sold out at 0.015000 s",
          "B = order 01900000-0000-7000-8000-000000000011 via inventory-2: sent 0.016000 s, read "
          "1, wrote 0 at 10:01:02.123456, answered 0.018000 s",
          "B was sent after A had been answered, and got unit 1.",
          "A count may only fall, so that unit was there when A was refused: a contradiction.");
}

static void test_a_stale_sale_is_told_with_the_one_that_passed_it(void **state) {
    sell(10);
    sell(8);
    sell(9)->sent_ns = 5 * MS;
    recorder->records[2].received_ns = 6 * MS;
    LINES(counterexample_of(ANOMALY_STALE),
          "A = order " ORDER "1 via inventory-2: sent 0.001100 s, read 8, wrote 7 at "
          "10:01:02.123456, answered 0.004000 s",
          "B = order " ORDER "2 via inventory-1: sent 0.005000 s, read 9, wrote 8 at "
          "10:01:02.123456, answered 0.006000 s",
          "B was sent after A had been answered, and read 9, where A had left 7.",
          "A count may only fall: a contradiction.");
}

static void test_a_ghost_says_what_the_ledger_lacks(void **state) {
    request(RECORD_SOLD)->unit = 10;
    LINES(counterexample_of(ANOMALY_GHOST),
          "A = request " ORDER "0: sent 0.000100 s, told: yours, unit 10, at 0.003000 s",
          "The ledger has no sale of that order: a contradiction.");
}

static void test_a_ghost_of_another_unit_names_both(void **state) {
    sell(10)->unit = 9;
    LINES(counterexample_of(ANOMALY_GHOST),
          "A = request " ORDER "0: sent 0.000100 s, told: yours, unit 9, at 0.003000 s",
          "The ledger says that A has unit 10: a contradiction.");
}

static void test_a_shared_order_names_the_other_customer(void **state) {
    struct record *second;

    sell(10);
    second = request(RECORD_SOLD);
    second->unit = 10;
    memcpy(second->order_id, ids[0], UUID_TEXT);
    assert_string_equal(counterexample_of(ANOMALY_GHOST)->line[1],
                        "Another customer, with the key " ORDER "0, has the same order: a "
                        "contradiction.");
    assert_non_null(strstr(counterexample_of(ANOMALY_GHOST)->line[0], "sent 0.001100 s"));
}

/* The first customer is told the order of the second, who was told nothing. */
static void test_a_shared_order_of_unknown_outcome_names_its_customer(void **state) {
    struct record *told;

    told = request(RECORD_SOLD);
    told->unit = 10;
    memcpy(told->order_id, ids[1], UUID_TEXT);
    sell(10)->outcome = RECORD_UNKNOWN;
    assert_string_equal(counterexample_of(ANOMALY_GHOST)->line[1],
                        "Another customer, with the key " ORDER "1, has the same order: a "
                        "contradiction.");
}

static void test_an_orphan_says_what_its_customer_was_told(void **state) {
    request(RECORD_BUSY);
    sell_for(0, 10);
    LINES(counterexample_of(ANOMALY_ORPHAN),
          "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at "
          "10:01:02.123456, told: too busy, nothing was sold",
          "The ledger has a sale, and its customer was told no: a contradiction.");
}

static void test_a_sale_of_unknown_outcome_is_open_at_its_end(void **state) {
    const struct counterexample *twin;
    struct record *record;

    sell(10);
    record = sell(10);
    untell(record, RECORD_UNKNOWN);
    ledger.available = 9;
    twin = counterexample_of(ANOMALY_TWIN);
    assert_non_null(strstr(twin->line[1], ", not told: the reply is missing"));
    assert_int_equal(twin->op[1].answered_ns, 0);
    assert_int_equal(twin->to_ns, 3 * MS);
}

static void test_a_duplicate_names_both_orders(void **state) {
    sell_for_one_key_twice();
    sales[0].remaining = 8;
    assert_int_equal(counterexample_of(ANOMALY_DUPLICATE)->ops, 2);
    assert_string_equal(counterexample_of(ANOMALY_DUPLICATE)->line[2],
                        "Both were sold for the key " ORDER "0, which may "
                        "buy one unit: a contradiction.");
}

static void test_a_duplicate_names_the_two_replies_that_differ(void **state) {
    const struct counterexample *duplicate;

    sell(10);
    for (int i = 1; i < 3; i++) {
        struct record *again = request(RECORD_SOLD);

        memcpy(again->key, ids[0], UUID_TEXT);
        memcpy(again->order_id, ids[0], UUID_TEXT);
        again->unit = i == 1 ? 10 : 9;
    }
    duplicate = counterexample_of(ANOMALY_DUPLICATE);
    assert_int_equal(duplicate->ops, 2);
    assert_non_null(strstr(duplicate->line[0], "yours, unit 10, at 0.003000 s"));
    assert_non_null(strstr(duplicate->line[1], "yours, unit 9, at 0.005000 s"));
}

/* A no to the one request does not close what the other may have bought. */
static void test_a_key_with_an_unknown_outcome_is_open_at_its_end(void **state) {
    struct record *second;

    sell(10);
    sell(10)->outcome = RECORD_BUSY;
    second = request(RECORD_UNKNOWN);
    memcpy(second->key, ids[1], UUID_TEXT);
    ledger.available = 9;
    assert_non_null(
        strstr(counterexample_of(ANOMALY_TWIN)->line[1], ", not told: the reply is missing"));
    assert_int_equal(counterexample_of(ANOMALY_TWIN)->op[1].answered_ns, 0);
}

static void test_a_twin_that_began_after_the_first_was_told_read_a_stale_count(void **state) {
    sell(10)->received_ns = 2 * MS;
    sell(10)->sent_ns = 2 * MS + 1;
    ledger.available = 9;
    assert_string_equal(counterexample_of(ANOMALY_TWIN)->line[2],
                        "B was sent after A had been answered, and read 10, where A had left 9, so "
                        "both sold unit 10.");
    at_time(0, "10:01:03.000000"); /* by the other clock it wrote last */
    assert_string_equal(counterexample_of(ANOMALY_TWIN)->order_id[0], ids[0]);
}

static void test_a_denial_after_a_yes_is_told_with_both(void **state) {
    struct record *again;

    sell(10);
    again = request(RECORD_REFUSED);
    memcpy(again->key, ids[0], UUID_TEXT);
    again->sent_ns = 4 * MS;
    LINES(counterexample_of(ANOMALY_ORPHAN),
          "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 10, wrote 9 at "
          "10:01:02.123456, answered 0.003000 s",
          "B = request " ORDER "0: sent 0.004000 s, told: a bad request at 0.004000 s",
          "A's customer was told yes, asked again as B with the same key, "
          "and was told no: a contradiction.");
}

static void test_a_duplicate_says_what_its_key_was_answered_with(void **state) {
    sell_for_one_key_twice();
    sales[0].remaining = 8;
    assert_string_equal(counterexample_of(ANOMALY_DUPLICATE)->line[0],
                        "A = order " ORDER "0 via inventory-1: sent 0.000100 s, read 9, wrote 8 at "
                        "10:01:02.123456, answered with order " ORDER "1");
}

static void test_an_order_that_is_not_its_key_names_the_key(void **state) {
    memcpy(sell(10)->order_id, ids[3], UUID_TEXT);
    memcpy(sales[0].order_id, ids[3], UUID_TEXT);
    memcpy(orders[0].order_id, ids[3], UUID_TEXT);
    assert_string_equal(counterexample_of(ANOMALY_GHOST)->line[1],
                        "It was the answer to the key " ORDER "0, which is to "
                        "be the order: a contradiction.");
}

static void test_a_shard_is_named_where_there_are_several(void **state) {
    static struct ledger_row rows[2] = {{0, 1, 5, 5, false}, {1, 6, 5, 5, false}};

    ledger.rows = rows;
    ledger.row_count = 2;
    sell(10);
    sell(10);
    sales[0].shard = sales[1].shard = 1;
    sales[0].remaining = sales[1].remaining = 4;
    ledger.available = 9;
    assert_int_equal(counterexample_of(ANOMALY_TWIN)->shard, 1);
    assert_non_null(strstr(verdict.counterexample[0].line[0], "read 5 in shard 1, wrote 4 at"));
    assert_string_equal(verdict.counterexample[0].line[2],
                        "B read 5 before A wrote 4, so both sold unit 10.");
}

static void test_a_valid_round_has_none(void **state) {
    sell(10);
    assert_kind(VERDICT_VALID);
    assert_int_equal(verdict.counterexamples, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        JUDGED(test_a_twin_names_what_each_read_and_wrote),
        JUDGED(test_a_twin_of_a_count_that_was_set_back_says_so),
        JUDGED(test_the_tightest_twins_come_first),
        JUDGED(test_a_count_that_was_higher_before_was_not_set_back),
        JUDGED(test_twins_of_two_instances_come_before_those_of_one),
        JUDGED(test_different_anomalies_come_before_more_twins),
        JUDGED(test_an_oversell_names_the_unit_that_never_was),
        JUDGED(test_a_sale_of_a_row_that_is_not_there_is_told_with_the_stock),
        JUDGED(test_an_undersell_names_the_last_refusal),
        JUDGED(test_an_early_refusal_is_told_with_the_next_buyer),
        JUDGED(test_a_stale_sale_is_told_with_the_one_that_passed_it),
        JUDGED(test_a_ghost_says_what_the_ledger_lacks),
        JUDGED(test_a_ghost_of_another_unit_names_both),
        JUDGED(test_a_shared_order_names_the_other_customer),
        JUDGED(test_a_shared_order_of_unknown_outcome_names_its_customer),
        JUDGED(test_an_orphan_says_what_its_customer_was_told),
        JUDGED(test_a_sale_of_unknown_outcome_is_open_at_its_end),
        JUDGED(test_a_duplicate_names_both_orders),
        JUDGED(test_a_duplicate_names_the_two_replies_that_differ),
        JUDGED(test_a_key_with_an_unknown_outcome_is_open_at_its_end),
        JUDGED(test_a_twin_that_began_after_the_first_was_told_read_a_stale_count),
        JUDGED(test_a_denial_after_a_yes_is_told_with_both),
        JUDGED(test_a_duplicate_says_what_its_key_was_answered_with),
        JUDGED(test_an_order_that_is_not_its_key_names_the_key),
        JUDGED(test_a_shard_is_named_where_there_are_several),
        JUDGED(test_a_valid_round_has_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
