/* The locks of one process over the model of the store: nested, shared (one across processes, too),
 * optimistic, in segments. */
#include "by_hand.h"

static void test_a_nested_lock_is_given_back_by_both(void **state) {
    const struct model_sale *one, *two;

    one = hand_begin("reentrant", 0);
    assert_int_equal(hand.world.state.orders[0].lock.times, 2);
    two = hand_begin("reentrant", 0);
    assert_int_equal(hand_outcome(two), OUTCOME_BUSY);
    hand_go_on(one);
    assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
    assert_int_equal(hand_locks(), 0);
}

static const struct {
    const char *name;
    enum lock_kind kind;
} shared[] = {{"rwlock", LOCK_RWLOCK}, {"rw", LOCK_REDIS_RW}};

static void test_sold_out_is_told_to_those_who_share_the_lock(void **state) {
    const struct model_sale *sale;

    for (size_t i = 0; i < 2; i++) {
        (void)hand_set_up(state);
        hand.world.state.rows[0].available = 0;
        hand_lock(shared[i].kind, true);
        assert_int_equal(hand_sell(shared[i].name, 0, &sale), OUTCOME_SOLD_OUT);
        assert_int_equal(hand_locks(), 1);
        assert_int_equal(hand.locks_taken, 1);
    }
}

static void test_who_shares_gives_back_before_it_wants_the_lock_alone(void **state) {
    const struct model_sale *sale;

    for (size_t i = 0; i < 2; i++) {
        (void)hand_set_up(state);
        hand_lock(shared[i].kind, true);
        assert_int_equal(hand_sell(shared[i].name, 0, &sale), OUTCOME_BUSY);
        assert_int_equal(hand_locks(), 1);
        hand_free_locks();
        assert_int_equal(hand_sell(shared[i].name, 0, &sale), OUTCOME_SOLD);
        assert_int_equal(hand_locks(), 0);
    }
}

/* Both read one count; the first to write wins, and the other reads again. */
static void test_a_stamp_that_is_out_of_date_is_tried_again(void **state) {
    const struct model_sale *one, *two;

    hand_let_wait();
    one = hand_begin("stamped", 0);
    two = hand_begin("stamped", 0);
    assert_int_equal(hand.locks_taken, 0);
    hand_go_on(two);
    assert_int_equal(hand_outcome(two), OUTCOME_SOLD);
    hand_go_on(one); /* to its pause, */
    hand_go_on(one); /* to its work, */
    hand_go_on(one); /* and to its end */
    assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
    assert_int_equal(one->sale.pauses, 1);
    assert_int_equal(two->sale.unit, 10);
    assert_int_equal(one->sale.unit, 9);
    assert_int_equal(hand_locks(), 0);
}

static void test_without_a_stamp_nothing_is_read_and_the_sale_is_busy_in_the_end(void **state) {
    const struct model_sale *sale;

    hand_lock(LOCK_STAMPED, false);
    hand.read_outcome = OUTCOME_FAILED;
    assert_int_equal(hand_sell("stamped", 0, &sale), OUTCOME_BUSY);
}

static void test_segments_are_sold_to_the_last_unit_of_all(void **state) {
    const struct model_sale *sale;
    int sold[SHARDS * 10 + 1] = {0};

    hand_set_stock(1);
    for (int i = 0; i < SHARDS; i++) {
        assert_int_equal(hand_sell("segment", 2, &sale), OUTCOME_SOLD);
        assert_int_equal(sold[sale->sale.unit]++, 0);
    }
    hand.locks_taken = 0;
    assert_int_equal(hand_sell("segment", 2, &sale), OUTCOME_SOLD_OUT);
    assert_int_equal(hand.locks_taken, SHARDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, hand_set_up, hand_tear_down)
        TEST(test_a_nested_lock_is_given_back_by_both),
        TEST(test_sold_out_is_told_to_those_who_share_the_lock),
        TEST(test_who_shares_gives_back_before_it_wants_the_lock_alone),
        TEST(test_a_stamp_that_is_out_of_date_is_tried_again),
        TEST(test_without_a_stamp_nothing_is_read_and_the_sale_is_busy_in_the_end),
        TEST(test_segments_are_sold_to_the_last_unit_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
