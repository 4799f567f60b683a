/* Customers that overtake others. */
#include "overtaken.h"
#include "test.h"

#define MS INT64_C(1000000)

static struct recorder *recorder;

static int set_up(void **state) {
    recorder = recorder_make(100);
    return recorder != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    recorder_free(recorder);
    return 0;
}

static void served(int64_t sent_ms, int64_t received_ms, enum record_outcome outcome,
                   uint32_t item) {
    const struct record record = {.planned_ns = sent_ms * MS,
                                  .sent_ns = sent_ms * MS,
                                  .received_ns = received_ms * MS,
                                  .unit = -1,
                                  .number = (uint32_t)recorder->count,
                                  .item = item,
                                  .instance = -1,
                                  .outcome = outcome};

    recorder_add(recorder, &record);
}

static void sold(int64_t sent_ms, int64_t received_ms) {
    served(sent_ms, received_ms, RECORD_SOLD, 0);
}

static void test_nobody_is_overtaken_in_a_line(void **state) {
    assert_int_equal(overtaken_most(recorder), 0);
    for (int i = 0; i < 50; i++)
        sold(1 + 10 * i, 600 + 10 * i);
    assert_int_equal(overtaken_most(recorder), 0);
}

static void test_only_a_much_later_customer_overtakes(void **state) {
    sold(1, 1000);
    sold(250, 900); /* 249 ms later: it may have arrived first */
    assert_int_equal(overtaken_most(recorder), 0);
    sold(251, 950);
    assert_int_equal(overtaken_most(recorder), 1);
    sold(700, 999);
    sold(700, 1001);
    assert_int_equal(overtaken_most(recorder), 2);
}

static void test_the_customer_that_is_overtaken_most_counts(void **state) {
    sold(400, 2000); /* by 3 */
    sold(1, 1500);   /* by 2 */
    sold(700, 1100);
    sold(800, 1200);
    sold(900, 1600);
    assert_int_equal(overtaken_most(recorder), 3);
}

static void test_a_refused_customer_was_overtaken_and_overtakes_nobody(void **state) {
    served(1, 2000, RECORD_BUSY, 0);
    served(300, 310, RECORD_BUSY, 0);
    served(300, 310, RECORD_SOLD_OUT, 0);
    sold(300, 1000);
    assert_int_equal(overtaken_most(recorder), 1);
}

static void test_each_product_has_its_line(void **state) {
    served(1, 2000, RECORD_SOLD, 1);
    served(300, 310, RECORD_SOLD, 0);
    served(300, 310, RECORD_SOLD, 2);
    assert_int_equal(overtaken_most(recorder), 0);
    served(300, 310, RECORD_SOLD, 1);
    assert_int_equal(overtaken_most(recorder), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_nobody_is_overtaken_in_a_line),
        TEST(test_only_a_much_later_customer_overtakes),
        TEST(test_the_customer_that_is_overtaken_most_counts),
        TEST(test_a_refused_customer_was_overtaken_and_overtakes_nobody),
        TEST(test_each_product_has_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
