/* Carts: each order is judged in both of its products. */
#include "cart.h"
#include "round.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define MS INT64_C(1000000)

static const struct strategy_item carts = {.spec = "exercise,cart=on"};
static struct round at;

/* Three units of product 0, and two of product 1: units 4 and 5. */
static int set_up(void **state) {
    at = (struct round){.item = &carts, .items = 1};
    at.recorder = recorder_make(4);
    at.ledgers = calloc(1, sizeof *at.ledgers);
    assert_non_null(at.recorder);
    assert_non_null(at.ledgers);
    *at.ledgers = (struct ledger){.initial = 5, .row_count = 2};
    at.ledgers->sales = calloc(8, sizeof *at.ledgers->sales);
    at.ledgers->orders = calloc(8, sizeof *at.ledgers->orders);
    at.ledgers->rows = calloc(2, sizeof *at.ledgers->rows);
    assert_true(at.ledgers->sales != NULL && at.ledgers->orders != NULL &&
                at.ledgers->rows != NULL);
    at.ledgers->rows[0] = (struct ledger_row){.shard = 0, .first_unit = 1, .available = 3};
    at.ledgers->rows[1] = (struct ledger_row){.shard = 1, .first_unit = 4, .available = 2};
    return 0;
}

static int tear_down(void **state) {
    round_free(&at);
    return 0;
}

static const char *id_of(int number) {
    static char id[40];

    (void)snprintf(id, sizeof id, "01900000-0000-7000-8000-%012d", number);
    return id;
}

static void sell_product(int number, int product) {
    struct ledger *ledger = at.ledgers;
    struct ledger_sale *sale = &ledger->sales[ledger->sale_count++];
    struct ledger_row *row = &ledger->rows[product];

    row->available--;
    *sale = (struct ledger_sale){.order_id = ledger_keep_id(ledger, id_of(number)),
                                 .unit = row->first_unit + row->available,
                                 .remaining = row->available,
                                 .shard = product,
                                 .quantity = 1};
    sale->at_us = ledger_time_us("2026-01-01T00:00:00.000000Z") + (int64_t)ledger->sale_count;
    ledger->counted++;
}

/* Each request is sent after the answer to the one before. */
static void answer(int number, enum record_outcome outcome, int64_t unit) {
    struct record record = {.planned_ns = number * 10 * MS,
                            .sent_ns = number * 10 * MS,
                            .received_ns = number * 10 * MS + MS,
                            .outcome = outcome,
                            .status = 200,
                            .unit = unit,
                            .instance = -1};
    struct ledger *ledger = at.ledgers;

    assert_int_equal(record_set_id(&record.key, NULL, id_of(number)), 0);
    if (outcome == RECORD_SOLD) {
        record.order_id = record_same;
        ledger->orders[ledger->order_count++] =
            (struct ledger_order){.order_id = ledger_keep_id(ledger, id_of(number)), .unit = unit};
    }
    recorder_add(at.recorder, &record);
    at.recorder->planned = at.recorder->count;
}

static void judge(void) {
    ledger_sort(at.ledgers);
    assert_int_equal(round_judge(&at, NULL), 0);
}

static unsigned found(void) {
    unsigned anomalies = 0;

    judge();
    for (int i = 0; i < ANOMALY_COUNT; i++)
        anomalies |= (unsigned)(at.verdict.found[i].count > 0) << i;
    return anomalies;
}

static void test_carts_are_sold_out_with_their_first_product(void **state) {
    sell_product(1, 0);
    sell_product(1, 1);
    answer(1, RECORD_SOLD, 3);
    sell_product(2, 1);
    sell_product(2, 0);
    answer(2, RECORD_SOLD, 4);
    answer(3, RECORD_SOLD_OUT, -1);
    assert_int_equal(found(), 0);
    assert_int_equal(at.verdict.sold, 4);
}

static void test_a_cart_that_is_left_was_not_sold_out(void **state) {
    sell_product(1, 0);
    sell_product(1, 1);
    answer(1, RECORD_SOLD, 3);
    answer(2, RECORD_SOLD_OUT, -1);
    assert_int_equal(found(), 1U << ANOMALY_UNDERSELL);
}

static void test_half_a_cart_of_a_customer_with_an_order_is_a_ghost(void **state) {
    sell_product(1, 0);
    answer(1, RECORD_SOLD, 3);
    answer(2, RECORD_BUSY, -1);
    assert_int_equal(found(), 1U << ANOMALY_GHOST);
    assert_int_equal(at.verdict.counterexample[0].item, 0); /* the database has one product */
}

static void test_half_a_cart_of_a_customer_that_heard_no_is_an_orphan(void **state) {
    sell_product(1, 1);
    answer(1, RECORD_BUSY, -1);
    assert_int_equal(found(), 1U << ANOMALY_ORPHAN);
}

static void test_a_surplus_unit_without_its_cart_is_a_ghost(void **state) {
    for (int number = 1; number <= 2; number++) {
        sell_product(number, 0);
        sell_product(number, 1);
        answer(number, RECORD_SOLD, 4 - number);
    }
    sell_product(3, 0);
    answer(3, RECORD_SOLD, 1);
    assert_int_equal(found(), 1U << ANOMALY_GHOST);
}

static void test_a_unit_of_either_product_is_sold_once(void **state) {
    for (int number = 1; number <= 2; number++) {
        sell_product(number, 0);
        sell_product(number, 1);
        answer(number, RECORD_SOLD, 4 - number);
        at.ledgers->rows[1].available = 3 - number; /* the second sale saw the first one's count */
    }
    assert_true((found() & 1U << ANOMALY_TWIN) != 0);
}

static void test_only_carts_are_split(void **state) {
    assert_true(cart_is_sold("exercise,cart=on"));
    assert_true(cart_is_sold("exercise,cart=on,work=2ms"));
    assert_false(cart_is_sold("exercise,cart=off"));
    assert_false(cart_is_sold("exercise,cart=only"));
    assert_false(cart_is_sold("exercise"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_carts_are_sold_out_with_their_first_product),
        TEST(test_a_cart_that_is_left_was_not_sold_out),
        TEST(test_half_a_cart_of_a_customer_with_an_order_is_a_ghost),
        TEST(test_half_a_cart_of_a_customer_that_heard_no_is_an_orphan),
        TEST(test_a_surplus_unit_without_its_cart_is_a_ghost),
        TEST(test_a_unit_of_either_product_is_sold_once),
        TEST(test_only_carts_are_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
