/* Strategies over the model of the store: how two sales under each can disturb each other. */
#include "by_hand.h"
#include "strategies.h"

static void test_two_sales_without_a_guard_sell_the_same_unit(void **state) {
    const struct model_sale *one, *two;

    one = hand_begin("none", 0);
    two = hand_begin("none", 0);
    hand_go_on(one);
    hand_go_on(two);
    assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
    assert_int_equal(hand_outcome(two), OUTCOME_SOLD);
    assert_int_equal(one->sale.unit, two->sale.unit);
    assert_int_equal(hand.world.state.rows[0].available, 9);
}

static void test_two_sales_one_after_the_other_sell_two_units(void **state) {
    const struct model_sale *one, *two;

    assert_int_equal(hand_sell("none", 0, &one), OUTCOME_SOLD);
    assert_int_equal(hand_sell("none", 0, &two), OUTCOME_SOLD);
    assert_int_equal(one->sale.unit, 10);
    assert_int_equal(two->sale.unit, 9);
}

static void test_a_conditional_update_never_sells_a_unit_twice(void **state) {
    const struct model_sale *one, *two;

    one = hand_begin("atomic", 0);
    two = hand_begin("atomic", 0);
    hand_go_on(two);
    hand_go_on(one);
    assert_int_equal(two->sale.unit, 10);
    assert_int_equal(one->sale.unit, 9);
}

static void test_a_lock_keeps_the_second_sale_out(void **state) {
    static const char *const names[] = {
        "mutex",   "redis",     "redis-fenced",     "sharded",    "spin",        "segment",
        "mkdir",   "flock",     "pg-table",         "redis-fair", "redis-wait",  "rw",
        "redlock", "zookeeper", "zookeeper-unfair", "etcd",       "pg-advisory", "redis-cohort"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct model_sale *one, *two;

        (void)hand_set_up(state);
        one = hand_begin(names[i], 0);
        two = hand_begin(names[i], 0);
        assert_int_equal(hand_outcome(two), OUTCOME_BUSY);
        hand_go_on(one);
        assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
        assert_int_equal(hand.unlocked_with, OUTCOME_SOLD);
        assert_int_equal(hand_locks(), 0);
    }
}

static void test_a_lost_lease_stops_the_write(void **state) {
    const struct model_sale *sale;

    sale = hand_begin("redis", 0);
    hand.check_outcome = OUTCOME_BUSY;
    hand_go_on(sale);
    assert_int_equal(hand_outcome(sale), OUTCOME_BUSY);
    assert_int_equal(hand.world.state.rows[0].available, 10);
}

static void test_the_lock_learns_that_the_outcome_is_unknown(void **state) {
    const struct model_sale *sale;

    hand.write_outcome = OUTCOME_UNKNOWN;
    assert_int_equal(hand_sell("redis", 0, &sale), OUTCOME_UNKNOWN);
    assert_int_equal(hand.unlocked_with, OUTCOME_UNKNOWN);
}

/* For each strategy that reads. */
static void test_a_failed_read_is_the_outcome(void **state) {
    const struct model_sale *sale;

    for (size_t i = 0; strategies[i] != NULL; i++) {
        (void)hand_set_up(state);
        hand.read_outcome = OUTCOME_BUSY;
        if (strstr("atomic batched prewarm", strategies[i]->name) == NULL)
            assert_int_equal(hand_sell(strategies[i]->name, 0, &sale), OUTCOME_BUSY);
    }
}

static void test_a_row_that_is_held_keeps_the_second_sale_out(void **state) {
    static const char *const names[] = {"pg-row", "pg-nowait"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct model_sale *one, *two;

        (void)hand_set_up(state);
        one = hand_begin(names[i], 0);
        two = hand_begin(names[i], 0);
        assert_int_equal(hand_outcome(two), OUTCOME_BUSY);
        hand_go_on(one);
        assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
        assert_int_equal(one->sale.unit, 10);
        assert_int_equal(hand_sell(names[i], 0, &two), OUTCOME_SOLD);
        assert_int_equal(two->sale.unit, 9);
    }
}

static void test_a_row_that_is_held_is_passed_over(void **state) {
    const struct model_sale *one, *two;

    one = hand_begin("sharded-skip", 0);
    assert_int_equal(hand_sell("sharded-skip", 0, &two), OUTCOME_SOLD);
    assert_int_equal(two->sale.shard, 1);
    hand_go_on(one);
    assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
    assert_int_equal(one->sale.shard, 0);
}

static void test_who_was_overtaken_begins_again_or_gives_up(void **state) {
    static const char *const names[] = {"pg-version", "pg-value", "pg-serializable"};

    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        const struct model_sale *one, *two;
        const bool may_pause = i % 2 == 0;

        (void)hand_set_up(state);
        if (may_pause)
            hand_let_wait();
        one = hand_begin(names[i / 2], 0);
        assert_int_equal(hand_sell(names[i / 2], 0, &two), OUTCOME_SOLD);
        hand_go_on(one); /* to the pause, or to its end */
        if (may_pause) {
            hand_go_on(one);
            hand_go_on(one);
            assert_int_equal(one->sale.unit, 9);
        }
        assert_int_equal(hand_outcome(one), may_pause ? OUTCOME_SOLD : OUTCOME_BUSY);
        assert_int_equal(hand.world.state.rows[0].available, may_pause ? 8 : 9);
    }
}

/* The count is the same again, the version is not. */
static void test_a_value_that_came_back_deceives_and_a_version_does_not(void **state) {
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "pg-value" : "pg-version";
        const struct model_sale *one = hand_begin(name, 0), *two;

        assert_int_equal(hand_sell(name, 0, &two), OUTCOME_SOLD);
        hand.world.state.rows[0].available++;
        hand.world.state.rows[0].version++;
        hand_go_on(one);
        assert_int_equal(hand_outcome(one), i == 0 ? OUTCOME_SOLD : OUTCOME_BUSY);
    }
}

static void test_a_lock_that_ends_before_the_commit_sells_one_unit_twice(void **state) {
    const struct model_sale *one, *two;

    hand.does_stop = true;
    hand.stop = FAIL_BEFORE_COMMIT;
    one = hand_begin("early-unlock", 0);
    hand_go_on(one);
    assert_int_equal(hand_locks(), 0);
    two = hand_begin("early-unlock", 0);
    hand_go_on(one);
    hand_go_on(two);
    hand_go_on(two);
    assert_int_equal(hand_outcome(one), OUTCOME_SOLD);
    assert_int_equal(hand_outcome(two), OUTCOME_SOLD);
    assert_int_equal(one->sale.unit, two->sale.unit);
}

static void test_shards_lend_to_each_other_until_all_are_empty(void **state) {
    const struct model_sale *sale;
    int64_t sold[SHARDS * 10 + 1] = {0};

    hand_set_stock(1);
    for (int i = 0; i < SHARDS; i++) {
        assert_int_equal(hand_sell("sharded", 2, &sale), OUTCOME_SOLD);
        assert_int_equal(sold[sale->sale.unit]++, 0);
    }
    for (int i = 0; i < 2; i++) { /* a sale that does not know yet that a row is empty locks it */
        hand.locks_taken = 0;
        assert_int_equal(hand_sell("sharded", 2, &sale), OUTCOME_SOLD_OUT);
        assert_int_equal(hand.locks_taken > 0, i == 0);
    }
}

static void test_every_outcome_has_a_name_and_a_text(void **state) {
    assert_string_equal(outcome_name(OUTCOME_SOLD_OUT), "SOLD_OUT");
    assert_string_equal(outcome_text(OUTCOME_SOLD_OUT), "no unit left");
    assert_string_equal(outcome_name(OUTCOME_FAILED), "FAILED");
}

/* Then a list in the table's order is also a list by family. */
static void test_strategies_of_a_family_stand_together(void **state) {
    for (size_t i = 1; strategies[i] != NULL; i++)
        for (size_t j = 0; strcmp(strategies[i]->family, strategies[i - 1]->family) != 0 && j < i;
             j++)
            assert_string_not_equal(strategies[i]->family, strategies[j]->family);
}

/* ---- Locks of one process (and one across processes): nested, shared, optimistic, in segments */

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

static void test_sharers_of_the_lock_hear_sold_out(void **state) {
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

/* Both read the same count. The first to write wins, and the other reads again. */
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
        cmocka_unit_test(test_strategies_of_a_family_stand_together),
        cmocka_unit_test(test_every_outcome_has_a_name_and_a_text),
#define TEST(name) cmocka_unit_test_setup_teardown(name, hand_set_up, hand_tear_down)
        TEST(test_two_sales_without_a_guard_sell_the_same_unit),
        TEST(test_two_sales_one_after_the_other_sell_two_units),
        TEST(test_a_conditional_update_never_sells_a_unit_twice),
        TEST(test_a_lock_keeps_the_second_sale_out),
        TEST(test_a_lost_lease_stops_the_write),
        TEST(test_the_lock_learns_that_the_outcome_is_unknown),
        TEST(test_a_failed_read_is_the_outcome),
        TEST(test_a_row_that_is_held_keeps_the_second_sale_out),
        TEST(test_a_row_that_is_held_is_passed_over),
        TEST(test_who_was_overtaken_begins_again_or_gives_up),
        TEST(test_a_value_that_came_back_deceives_and_a_version_does_not),
        TEST(test_a_lock_that_ends_before_the_commit_sells_one_unit_twice),
        TEST(test_shards_lend_to_each_other_until_all_are_empty),
        TEST(test_a_nested_lock_is_given_back_by_both),
        TEST(test_sharers_of_the_lock_hear_sold_out),
        TEST(test_who_shares_gives_back_before_it_wants_the_lock_alone),
        TEST(test_a_stamp_that_is_out_of_date_is_tried_again),
        TEST(test_without_a_stamp_nothing_is_read_and_the_sale_is_busy_in_the_end),
        TEST(test_segments_are_sold_to_the_last_unit_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
