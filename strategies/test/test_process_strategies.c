/* The locks of one process over a model store: nested, shared (one across processes, too),
 * optimistic, in segments. */
#include "model_store.h"

static void test_a_nested_lock_is_given_back_by_both(void **state) {
    struct model_sale one, two;

    (void)state;
    model_begin(&one, "reentrant", 0);
    assert_int_equal(model.times[0], 2);
    model_begin(&two, "reentrant", 0);
    assert_int_equal(two.outcome, OUTCOME_BUSY);
    model_go_on(&one);
    assert_int_equal(one.outcome, OUTCOME_SOLD);
    assert_int_equal(model.times[0], 0);
    assert_false(model.is_locked[0]);
}

static const char *const shared[] = {"rwlock", "rw"};

static void test_sold_out_is_told_to_those_who_share_the_lock(void **state) {
    struct model_sale sale;

    for (size_t i = 0; i < 2; i++) {
        (void)model_set_up(state);
        model.rows[0].available = 0;
        model.readers = 1;
        assert_int_equal(model_sell(shared[i], 0, &sale), OUTCOME_SOLD_OUT);
        assert_int_equal(model.readers, 1);
        assert_int_equal(model.locks_taken, 0);
    }
}

static void test_who_shares_gives_back_before_it_wants_the_lock_alone(void **state) {
    struct model_sale sale;

    for (size_t i = 0; i < 2; i++) {
        (void)model_set_up(state);
        model.readers = 1;
        assert_int_equal(model_sell(shared[i], 0, &sale), OUTCOME_BUSY);
        assert_int_equal(model.readers, 1);
        model.readers = 0;
        assert_int_equal(model_sell(shared[i], 0, &sale), OUTCOME_SOLD);
        assert_false(model.is_locked[0]);
    }
}

/* Both read one count; the first to write wins, and the other reads again. */
static void test_a_stamp_that_is_out_of_date_is_tried_again(void **state) {
    struct model_sale one, two;

    (void)state;
    model.may_pause = true;
    model_begin(&one, "stamped", 0);
    model_begin(&two, "stamped", 0);
    assert_int_equal(model.locks_taken, 0);
    model_go_on(&two);
    assert_int_equal(two.outcome, OUTCOME_SOLD);
    model_go_on(&one); /* to its pause, */
    model_go_on(&one); /* to its work, */
    model_go_on(&one); /* and to its end */
    assert_int_equal(one.outcome, OUTCOME_SOLD);
    assert_int_equal(one.sale.pauses, 1);
    assert_int_equal(two.sale.unit, 10);
    assert_int_equal(one.sale.unit, 9);
    assert_false(model.is_locked[0]);
}

static void test_without_a_stamp_nothing_is_read_and_the_sale_is_busy_in_the_end(void **state) {
    struct model_sale sale;

    (void)state;
    model.is_locked[0] = true;
    model.read_outcome = OUTCOME_FAILED;
    assert_int_equal(model_sell("stamped", 0, &sale), OUTCOME_BUSY);
}

static void test_segments_are_sold_to_the_last_unit_of_all(void **state) {
    struct model_sale sale;
    int sold[SHARDS * 10 + 1] = {0};

    (void)state;
    for (int i = 0; i < SHARDS * 10; i++) {
        assert_int_equal(model_sell("segment", 2, &sale), OUTCOME_SOLD);
        assert_int_equal(sold[sale.sale.unit]++, 0);
    }
    model.locks_taken = 0;
    assert_int_equal(model_sell("segment", 2, &sale), OUTCOME_SOLD_OUT);
    assert_int_equal(model.locks_taken, SHARDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_set_up, model_tear_down)
        TEST(test_a_nested_lock_is_given_back_by_both),
        TEST(test_sold_out_is_told_to_those_who_share_the_lock),
        TEST(test_who_shares_gives_back_before_it_wants_the_lock_alone),
        TEST(test_a_stamp_that_is_out_of_date_is_tried_again),
        TEST(test_without_a_stamp_nothing_is_read_and_the_sale_is_busy_in_the_end),
        TEST(test_segments_are_sold_to_the_last_unit_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
