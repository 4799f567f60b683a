/* The rules for a shop of other people, one by one: what an innocent shop may do, what the verdict
 * says that it did not ask, and how it tells an order that holds nothing. */
#include "verdict_fixture.h"

static struct ledger told;

/* The shop has these orders, and so many of its 10 units are left. */
static void tell(int64_t left, const struct ledger_told *rows, size_t count, bool can_return) {
    struct why why;

    ledger_free(&told);
    if (ledger_tell(&told, 10, left, rows, count, can_return, &why) != 0)
        fail_msg("%s", why.text);
    judged.ledgers = &told;
    judged.is_shop_named = true;
}

static struct ledger_told order(const char *id) {
    return (struct ledger_told){.id = id,
                                .quantity = 1,
                                .unit = LEDGER_UNTOLD,
                                .remaining = LEDGER_UNTOLD,
                                .reserved = LEDGER_UNTOLD};
}

static struct record *ask(enum record_outcome outcome, const char *id) {
    struct record *record = request(outcome);

    record->order_id = id;
    return record;
}

static void assert_innocent(void) {
    judge();
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict.found[i].count > 0)
            fail_msg("%s", verdict.found[i].example[0]);
}

static void assert_not_asked(enum anomaly anomaly, const char *reason) {
    if (reason == NULL)
        assert_null(verdict.not_asked[anomaly]);
    else
        assert_string_equal(verdict.not_asked[anomaly], reason);
}

/* ---- innocent shops */

/* SQLite gives the number of a deleted row to the next one. */
static void test_an_id_that_a_shop_gives_again_belongs_to_the_customer_that_was_told_yes(
    void **state) {
    static const enum record_outcome outcomes[] = {RECORD_SOLD_OUT, RECORD_REFUSED, RECORD_BUSY,
                                                   RECORD_UNKNOWN};
    const struct ledger_told rows[] = {order("17")};

    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        (void)ask(outcomes[i], "17");
        (void)ask(RECORD_SOLD, "17");
        tell(9, rows, 1, true);
        assert_innocent();
        assert_int_equal(verdict.unknown_sold, 0);
        verdict_tear_down(state);
        verdict_set_up(state);
    }
}

static void test_an_order_of_a_customer_that_was_told_no_is_an_orphan_all_the_same(void **state) {
    const struct ledger_told rows[] = {order("17")};

    (void)ask(RECORD_REFUSED, "17");
    (void)ask(RECORD_SOLD_OUT, "17");
    tell(9, rows, 1, true);
    assert_only(ANOMALY_ORPHAN, 1);
}

/* The first customer's order got a new id after its draft was deleted. */
static void test_a_customer_with_the_id_of_another_order_may_have_an_unnamed_one(void **state) {
    const struct ledger_told rows[] = {order("17"), order("18")};

    (void)ask(RECORD_UNKNOWN, "17");
    (void)ask(RECORD_SOLD, "17");
    tell(8, rows, 2, true);
    assert_innocent();
}

static void test_two_customers_with_one_order_are_a_ghost(void **state) {
    const struct ledger_told rows[] = {order("17")};

    (void)ask(RECORD_SOLD, "17");
    (void)ask(RECORD_SOLD, "17");
    tell(9, rows, 1, false);
    assert_only(ANOMALY_GHOST, 1);
}

static void test_an_order_is_joined_by_its_key_if_the_reply_names_none(void **state) {
    struct ledger_told rows[] = {order("A")};

    (void)request(RECORD_SOLD);
    rows[0].key = ids[0];
    tell(9, rows, 1, false);
    judged.are_keys_ids = true; /* as in the file of a load */
    assert_innocent();
    judged.are_keys_ids = false;
    assert_innocent();
}

static void test_units_may_be_held_for_customers_without_an_order(void **state) {
    static const char held[] =
        "units are missing, and customers without an order may still hold them";
    const struct ledger_told rows[] = {order("A")};

    (void)ask(RECORD_SOLD, "A");
    (void)ask(RECORD_REFUSED, "");
    (void)ask(RECORD_UNKNOWN, "");
    (void)ask(RECORD_SOLD_OUT, "");
    tell(9, rows, 1, true);
    assert_innocent();
    assert_not_asked(ANOMALY_LEAK, NULL);
    tell(7, rows, 1, true);
    assert_innocent();
    assert_not_asked(ANOMALY_LEAK, held);
    tell(5, rows, 1, true);
    assert_only(ANOMALY_LEAK, 2);
    assert_not_asked(ANOMALY_LEAK, NULL);
    tell(10, rows, 1, true);
    assert_only(ANOMALY_LEAK, 1);
    tell(8, rows, 1, false);
    judge();
    assert_int_equal(verdict.found[ANOMALY_LEAK].count, 1);
}

static void get_stuck(int16_t status) {
    for (int i = 0; i < 400; i++)
        request(RECORD_BUSY)->status = status;
    tell(10, NULL, 0, false);
    judged.stuck_ns = 100 * MS;
    judge();
}

static void test_a_limit_of_the_rate_is_no_lock(void **state) {
    get_stuck(429);
    assert_int_equal(verdict.found[ANOMALY_STUCK].count, 0);
    verdict_tear_down(state);
    verdict_set_up(state);
    get_stuck(503);
    assert_true(verdict.found[ANOMALY_STUCK].count > 0);
}

/* ---- promises without an id */

static void test_more_promises_than_orders_are_ghosts_also_without_ids(void **state) {
    const struct ledger_told rows[] = {order("A"), order("B")};

    (void)request(RECORD_SOLD);
    (void)request(RECORD_SOLD);
    (void)request(RECORD_SOLD);
    (void)request(RECORD_UNKNOWN);
    tell(8, rows, 2, false);
    assert_only(ANOMALY_GHOST, 1);
    assert_string_equal(verdict.found[ANOMALY_GHOST].example[0],
                        "1 more customers were told yes than the ledger has orders for");
    assert_string_equal(
        counterexample_of(ANOMALY_GHOST)->line[0],
        "1 more customers were told yes than the ledger has orders for: a contradiction.");
    tell(10, NULL, 0, false);
    assert_only(ANOMALY_GHOST, 3);
}

static void test_a_promise_without_an_id_may_have_each_order_that_nobody_claims(void **state) {
    const struct ledger_told rows[] = {order("A"), order("B"), order("C")};

    (void)ask(RECORD_SOLD, "B");
    (void)request(RECORD_SOLD);
    (void)request(RECORD_UNKNOWN);
    tell(7, rows, 3, false);
    assert_innocent();
    (void)request(RECORD_SOLD);
    judge();
    assert_int_equal(verdict.found[ANOMALY_GHOST].count, 0);
    (void)request(RECORD_SOLD);
    assert_only(ANOMALY_GHOST, 1);
}

/* The article's paths name no order. */
static void test_a_yes_without_an_id_shows_that_a_refusal_was_early(void **state) {
    const struct ledger_told rows[] = {order("A"), order("B")};
    const struct record *late;
    char text[VERDICT_TEXT];

    (void)at(request(RECORD_SOLD), 1, 4);
    (void)at(request(RECORD_SOLD_OUT), 2, 5);
    late = at(request(RECORD_SOLD), 6, 9);
    tell(8, rows, 2, false);
    told.initial = 2;
    told.available = 0;
    assert_only(ANOMALY_EARLY_SOLD_OUT, 1);
    (void)snprintf(text, sizeof text,
                   "request %s was told sold out at 0.005 s, and request %s, sent at 0.006 s, was "
                   "told: yours",
                   ids[1], record_key(late));
    assert_string_equal(verdict.found[ANOMALY_EARLY_SOLD_OUT].example[0], text);
    assert_string_equal(counterexample_of(ANOMALY_EARLY_SOLD_OUT)->line[2],
                        "B was sent after A had been answered, and was told yes: the units were "
                        "not sold out: a contradiction.");
    told.can_return = true;
    assert_innocent();
    told.can_return = false;
    ((struct record *)(uintptr_t)late)->sent_ns = 5 * MS;
    assert_innocent();
}

/* ---- anomalies that are not asked */

static void test_anomalies_with_one_reason_are_told_together(void **state) {
    const struct ledger_told rows[] = {order("A")};
    char text[VERDICT_NOT_ASKED];

    (void)request(RECORD_SOLD);
    (void)request(RECORD_SOLD_OUT);
    tell(9, rows, 1, false);
    judge();
    assert_string_equal(
        verdict_not_asked(&verdict, text),
        "TWIN and STALE, because the sales do not tell how many units they left; GHOST and "
        "ORPHAN, because the replies name no orders, and the orders have no key; "
        "DUPLICATE, because the orders have no key, and no request was repeated; UNBACKED, because "
        "the orders do not tell how many units are held for them");
}

static void test_numbers_that_are_not_used_are_told(void **state) {
    struct ledger_told rows[] = {order("A"), order("B")};

    (void)ask(RECORD_SOLD, "A");
    (void)ask(RECORD_SOLD, "B");
    rows[0].remaining = 9;
    rows[1].remaining = 8;
    tell(8, rows, 2, true);
    judge();
    assert_not_asked(ANOMALY_STALE, "units can come back");
    assert_not_asked(ANOMALY_TWIN, "units can come back");
    tell(8, rows, 2, false);
    judge();
    assert_not_asked(ANOMALY_STALE, NULL);
    assert_not_asked(ANOMALY_TWIN, NULL);
    rows[0].quantity = LEDGER_QUANTITY_MAX;
    tell(8, rows, 2, false);
    judge();
    assert_not_asked(ANOMALY_STALE, "the numbers that the sales left are too many to compare");
}

/* Without ids no sale has a moment. */
static void test_moments_are_not_asked_without_ids(void **state) {
    static const char reason[] = "the replies name no orders, and the orders have no key";
    struct ledger_told rows[] = {order("A")};

    (void)request(RECORD_SOLD);
    rows[0].remaining = 9;
    tell(9, rows, 1, false);
    judge();
    assert_not_asked(ANOMALY_STALE, reason);
    assert_not_asked(ANOMALY_EARLY_SOLD_OUT, NULL);
    assert_not_asked(ANOMALY_TWIN, NULL);
    assert_not_asked(ANOMALY_UNDERSELL, NULL);
}

/* ---- UNBACKED */

static const char *unbacked_line(int64_t left, const int64_t *held, size_t count, size_t line) {
    static const char *const names[] = {"A", "B", "C"};
    struct ledger_told rows[3];

    for (size_t i = 0; i < count; i++) {
        rows[i] = order(names[i]);
        rows[i].quantity = 2;
        rows[i].reserved = held[i];
    }
    tell(left, rows, count, false);
    return counterexample_of(ANOMALY_UNBACKED)->line[line];
}

static void test_an_order_that_holds_too_few_units_is_told(void **state) {
    (void)ask(RECORD_SOLD, "A");
    (void)ask(RECORD_SOLD, "B");
    (void)ask(RECORD_SOLD, "C");
    assert_string_equal(unbacked_line(8, (const int64_t[]){2, 0, 0}, 3, 1),
                        "A bought 2 units, and the shop holds 0 for it.");
    assert_string_equal(unbacked_line(8, (const int64_t[]){2, 0, 0}, 3, 2),
                        "8 left and 2 held are the stock of 10.");
    assert_string_equal(
        unbacked_line(8, (const int64_t[]){2, 0, 0}, 3, 3),
        "The stock row is right, and 2 paid orders have nothing in it: a contradiction.");
    assert_string_equal(unbacked_line(8, (const int64_t[]){2, 2, 0}, 3, 2),
                        "1 paid order has nothing in it: a contradiction.");
    assert_string_equal(unbacked_line(4, (const int64_t[]){2, 1, 0}, 3, 2),
                        "2 paid orders have less in it than they bought: a contradiction.");
    assert_string_equal(unbacked_line(4, (const int64_t[]){2, 1, 2}, 3, 2),
                        "1 paid order has less in it than it bought: a contradiction.");
    assert_string_equal(verdict.found[ANOMALY_UNBACKED].example[0],
                        "order B bought 2 units, and the shop holds 1 for it");
}

static int tear_down(void **state) {
    ledger_free(&told);
    return verdict_tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, verdict_set_up, tear_down)
        TEST(test_an_id_that_a_shop_gives_again_belongs_to_the_customer_that_was_told_yes),
        TEST(test_an_order_of_a_customer_that_was_told_no_is_an_orphan_all_the_same),
        TEST(test_a_customer_with_the_id_of_another_order_may_have_an_unnamed_one),
        TEST(test_two_customers_with_one_order_are_a_ghost),
        TEST(test_an_order_is_joined_by_its_key_if_the_reply_names_none),
        TEST(test_units_may_be_held_for_customers_without_an_order),
        TEST(test_a_limit_of_the_rate_is_no_lock),
        TEST(test_more_promises_than_orders_are_ghosts_also_without_ids),
        TEST(test_a_promise_without_an_id_may_have_each_order_that_nobody_claims),
        TEST(test_a_yes_without_an_id_shows_that_a_refusal_was_early),
        TEST(test_anomalies_with_one_reason_are_told_together),
        TEST(test_numbers_that_are_not_used_are_told),
        TEST(test_moments_are_not_asked_without_ids),
        TEST(test_an_order_that_holds_too_few_units_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
