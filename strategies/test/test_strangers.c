/* Strategies of strangers: how the seam refuses their mistakes. */
#include "by_hand.h"

static enum outcome answer;

static enum outcome answers(struct sale *sale) {
    return answer;
}

static enum outcome ends_with_it(struct sale *sale) {
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    return outcome == OUTCOME_OK ? store_end(sale, answer) : outcome;
}

static enum outcome writes_below_zero(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    return outcome == OUTCOME_OK ? store_write_stock(sale, &seen, GUARD_ANY, NULL) : outcome;
}

static enum outcome notes_below_zero(struct sale *sale) {
    return store_write_pending(sale, &(struct stock_row){.available = -1}, true);
}

/* In a sale that follows a sold-out one. */
static void assert_fails(enum outcome (*sell)(struct sale *), const char *message) {
    struct strategy stranger = {.name = "stranger", .default_shards = 1, .sell = sell};
    const struct model_sale *sale;

    (void)hand_set_up(NULL);
    hand_set_stock(0);
    assert_int_equal(hand_sell("atomic", 0, &sale), OUTCOME_SOLD_OUT);
    sale = hand_begin_by(&stranger);
    assert_int_equal(hand_outcome(sale), OUTCOME_FAILED);
    assert_int_equal(hand.world.state.txns[sale->index].state, TXN_NONE);
    assert_string_equal(sale->sale.message, message);
    assert_int_equal(hand.world.state.rows[0].available, 0);
}

static void test_an_answer_that_is_no_outcome_of_a_sale_is_failed(void **state) {
    answer = OUTCOME_OK;
    assert_fails(answers, "the strategy answered OK");
    answer = OUTCOME_UNKNOWN_PRODUCT;
    assert_fails(answers, "the strategy answered UNKNOWN_PRODUCT");
    answer = (enum outcome)99;
    assert_fails(answers, "the strategy answered 99, which is not an outcome");
}

static void test_a_transaction_that_ends_with_none_is_rolled_back(void **state) {
    answer = OUTCOME_OK;
    assert_fails(ends_with_it, "the strategy ended a transaction with OK");
    answer = OUTCOME_KEY_REUSED;
    assert_fails(ends_with_it, "the strategy ended a transaction with KEY_REUSED");
    answer = (enum outcome) - 1;
    assert_fails(ends_with_it,
                 "the strategy ended a transaction with 4294967295, which is not an outcome");
}

static enum outcome begins_twice(struct sale *sale) {
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    if (outcome == OUTCOME_OK)
        outcome = store_begin(sale, SERIALIZABLE);
    return store_end(sale, outcome);
}

static enum outcome takes_inside(struct sale *sale) {
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    if (outcome == OUTCOME_OK)
        outcome = store_take_stock(sale, 0);
    return store_end(sale, outcome);
}

static enum outcome ends_what_was_not_begun(struct sale *sale) {
    return store_end(sale, OUTCOME_SOLD_OUT);
}

static enum outcome reads_for_update_outside(struct sale *sale) {
    struct stock_row seen;

    return store_read_for_update(sale, 0, ROW_WAIT, &seen);
}

static enum outcome leaves_it_open(struct sale *sale) {
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    return outcome == OUTCOME_OK ? OUTCOME_SOLD : outcome;
}

static void test_a_step_of_a_transaction_out_of_place_is_failed(void **state) {
    assert_fails(begins_twice, "the strategy began a transaction inside a transaction");
    assert_fails(takes_inside, "the strategy sold by one statement inside a transaction");
    assert_fails(ends_what_was_not_begun, "the strategy ended a transaction that it did not begin");
    assert_fails(reads_for_update_outside, "the strategy read for update outside a transaction");
    assert_fails(leaves_it_open, "the strategy left its transaction open");
}

static enum outcome locks_twice(struct sale *sale) {
    struct store_lock *one, *two;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &one);

    if (outcome == OUTCOME_OK)
        outcome = store_lock(sale, LOCK_REDIS, 1, &two);
    store_unlock(sale, one, outcome);
    store_unlock(sale, one, outcome);
    return outcome;
}

static enum outcome locks_by_key(struct sale *sale) {
    struct store_lock *lock;

    return store_lock(sale, LOCK_KEY, 0, &lock);
}

static enum outcome shares_a_lease(struct sale *sale) {
    struct store_lock *lock;

    return store_lock_shared(sale, LOCK_REDIS, 0, &lock);
}

static enum outcome writes_after_the_unlock(struct sale *sale) {
    struct stock_row seen = {.available = 1};
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    store_unlock(sale, lock, outcome);
    return store_write_stock(sale, &seen, GUARD_ANY, lock);
}

static void test_a_lock_that_is_none_is_failed(void **state) {
    assert_fails(locks_twice, "the strategy took a second lock while it held one");
    assert_int_equal(hand_locks(), 0);
    assert_fails(locks_by_key, "the strategy asked for a kind of lock that does not exist");
    assert_fails(shares_a_lease, "the strategy shared a lock of a kind that cannot be shared");
    assert_fails(writes_after_the_unlock, "the strategy wrote under a lock that it does not hold");
}

static enum outcome sets_nothing(struct sale *sale) {
    bool was_set;

    return store_kv_set_absent(sale, "key", NULL, 0, &was_set);
}

static enum outcome sets_what_has_expired(struct sale *sale) {
    bool was_set;

    return store_kv_set_absent(sale, "key", "value", -1, &was_set);
}

static enum outcome deletes_no_key(struct sale *sale) {
    return store_kv_delete(sale, NULL);
}

static enum outcome deletes_if_nothing(struct sale *sale) {
    return store_kv_delete_if_equal(sale, "key", NULL);
}

static void test_a_command_without_its_words_is_failed(void **state) {
    assert_fails(sets_nothing, "the strategy passed NULL as value");
    assert_fails(sets_what_has_expired, "the strategy set a key with a negative TTL");
    assert_fails(deletes_no_key, "the strategy passed NULL as key");
    assert_fails(deletes_if_nothing, "the strategy passed NULL as value");
}

static enum outcome loads_no_data_set(struct sale *sale) {
    return store_load_row(sale, &(struct data_set){.last = -1}, &(struct stock_row){.shard = 0});
}

static enum outcome loads_nothing(struct sale *sale) {
    return store_load_row(sale, NULL, &(struct stock_row){.shard = 0});
}

static enum outcome loads_before_the_first(struct sale *sale) {
    struct stock_row row;

    return store_hand_out(sale, &(struct data_set){"set", -9}, &row);
}

static enum outcome loads_no_row(struct sale *sale) {
    return store_load_row(sale, &(struct data_set){"set", -1},
                          &(struct stock_row){.shard = 99, .first_unit = 1, .available = 1});
}

static enum outcome notes_of_no_row(struct sale *sale) {
    return store_write_pending(sale, &(struct stock_row){.shard = 99, .available = 1}, true);
}

static void test_a_row_that_there_is_not_is_failed(void **state) {
    assert_fails(loads_nothing, "the strategy passed NULL as data set");
    assert_fails(loads_no_data_set, "the strategy passed a data set that it did not open");
    assert_fails(loads_no_row, "the strategy loaded a row that does not exist");
    assert_fails(loads_before_the_first,
                 "the strategy passed a data set with a last row that does not exist");
    assert_fails(notes_of_no_row, "the strategy wrote to a row that does not exist");
}

static void test_a_write_below_zero_is_failed(void **state) {
    assert_fails(writes_below_zero, "the strategy sold from a row that has no unit left");
    assert_fails(notes_below_zero, "the strategy sold from a row that has no unit left");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, hand_set_up, hand_tear_down)
        TEST(test_an_answer_that_is_no_outcome_of_a_sale_is_failed),
        TEST(test_a_transaction_that_ends_with_none_is_rolled_back),
        TEST(test_a_step_of_a_transaction_out_of_place_is_failed),
        TEST(test_a_lock_that_is_none_is_failed),
        TEST(test_a_command_without_its_words_is_failed),
        TEST(test_a_row_that_there_is_not_is_failed),
        TEST(test_a_write_below_zero_is_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
