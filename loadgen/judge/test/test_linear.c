/* The linearizability check on hand-made histories. */
#include "linear.h"

#include "fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct linear_op ok(int32_t rank, int64_t from, int64_t to) {
    return (struct linear_op){from, to, rank, LINEAR_OK};
}

static struct linear_op sold_out(int64_t from, int64_t to) {
    return (struct linear_op){from, to, 0, LINEAR_SOLD_OUT};
}

static struct linear_op unknown(int64_t from) {
    return (struct linear_op){from, LINEAR_NEVER, 0, LINEAR_UNKNOWN};
}

static struct linear_answer answer_of(int64_t units, const struct linear_op *ops, size_t count) {
    struct linear_answer answer;

    assert_int_equal(linear_check(units, ops, count, NULL, 0, &answer), 0);
    return answer;
}

/* This contradiction so many times, and no other; of these operations. */
static void assert_found(const struct linear_answer *answer, enum linear_contradiction kind,
                         int64_t count, uint32_t first, uint32_t second) {
    assert_false(answer->is_linearizable);
    for (int i = 0; i < LINEAR_CONTRADICTION_COUNT; i++)
        assert_int_equal(answer->found[i].count, i == (int)kind ? count : 0);
    assert_int_equal(answer->found[kind].op[0], first);
    if (answer->found[kind].ops > 1)
        assert_int_equal(answer->found[kind].op[1], second);
}

static void test_an_empty_history_is_linearizable(void **state) {
    (void)state;
    assert_true(answer_of(10, NULL, 0).is_linearizable);
    assert_true(answer_of(0, NULL, 0).is_linearizable);
    assert_true(answer_of(0, (struct linear_op[]){sold_out(1, 2)}, 1).is_linearizable);
}

static void test_sales_that_overlap_may_take_effect_in_any_order(void **state) {
    (void)state;
    assert_true(answer_of(2, (struct linear_op[]){ok(0, 1, 5), ok(1, 4, 9)}, 2).is_linearizable);
    assert_true(answer_of(2, (struct linear_op[]){ok(0, 1, 5), ok(1, 5, 9)}, 2).is_linearizable);
}

static void test_a_higher_rank_after_a_lower_one_returned_is_stale(void **state) {
    const struct linear_op ops[] = {ok(2, 0, 9), ok(0, 1, 4), ok(1, 5, 9)};
    struct linear_answer answer = answer_of(3, ops, 3);

    (void)state;
    assert_found(&answer, LINEAR_STALE, 1, 1, 2);
}

static void test_the_last_that_passed_before_a_stale_sale_is_named(void **state) {
    const struct linear_op ops[] = {ok(0, 1, 2), ok(1, 3, 4), ok(2, 5, 9)};
    struct linear_answer answer = answer_of(3, ops, 3);

    (void)state;
    assert_int_equal(answer.found[LINEAR_STALE].count, 2);
    assert_int_equal(answer.found[LINEAR_STALE].op[0], 0);
    assert_int_equal(answer.found[LINEAR_STALE].op[1], 1);
}

static void test_of_many_twins_the_tightest_pair_is_named(void **state) {
    const struct linear_op ops[] = {ok(2, 0, 9), ok(2, 9, 20), ok(2, 18, 22), ok(1, 20, 30),
                                    ok(0, 21, 30)};
    struct linear_answer answer = answer_of(3, ops, 5);

    (void)state;
    assert_found(&answer, LINEAR_TWIN, 2, 1, 2);
}

static void test_a_rank_beyond_the_stock_is_out_of_range(void **state) {
    const struct linear_op ops[] = {ok(0, 0, 1), ok(-1, 2, 3), ok(1, 1, 4)};
    struct linear_answer answer = answer_of(1, ops, 3);

    (void)state;
    assert_found(&answer, LINEAR_RANGE, 2, 2, 0);
}

static void test_a_refusal_before_a_later_sale_is_early(void **state) {
    const struct linear_op ops[] = {sold_out(0, 1), sold_out(2, 3), ok(0, 4, 9), sold_out(3, 4)};
    struct linear_answer answer = answer_of(1, ops, 4);

    (void)state;
    assert_found(&answer, LINEAR_EARLY, 2, 1, 2);
}

static void test_a_rank_that_was_passed_is_missing(void **state) {
    const struct linear_op ops[] = {ok(4, 0, 1), ok(1, 2, 3), ok(0, 2, 4)};
    struct linear_answer answer = answer_of(5, ops, 3);

    (void)state;
    assert_found(&answer, LINEAR_MISSING, 2, 1, 0);
    assert_int_equal(answer.found[LINEAR_MISSING].rank, 2);
}

static void test_units_left_at_the_end_are_not_missing(void **state) {
    (void)state;
    assert_true(answer_of(9, (struct linear_op[]){ok(8, 0, 1)}, 1).is_linearizable);
    assert_false(
        answer_of(9, (struct linear_op[]){ok(8, 0, 1), sold_out(0, 1)}, 2).is_linearizable);
}

static void test_an_unknown_operation_fills_a_gap_if_it_began_in_time(void **state) {
    struct linear_op ops[] = {ok(0, 3, 4), unknown(4)};

    (void)state;
    assert_true(answer_of(2, ops, 2).is_linearizable);
    ops[1].invoke_ns = 5;
    assert_false(answer_of(2, ops, 2).is_linearizable);
}

static void test_one_unknown_operation_fills_one_gap_alone(void **state) {
    const struct linear_op ops[] = {ok(0, 3, 4), ok(2, 3, 4), unknown(1), unknown(2)};

    (void)state;
    assert_true(answer_of(4, ops, 4).is_linearizable);
    assert_false(answer_of(4, ops, 3).is_linearizable);
}

static void test_a_unit_that_came_back_excuses_its_rank(void **state) {
    const struct linear_op ops[] = {ok(3, 0, 1), ok(1, 2, 3), sold_out(4, 5)};
    const int32_t excused[] = {2, 0, 7, -1, 0};
    struct linear_answer answer;

    (void)state;
    assert_int_equal(linear_check(4, ops, 3, excused, 5, &answer), 0);
    assert_true(answer.is_linearizable);
    assert_int_equal(linear_check(4, ops, 3, excused, 1, &answer), 0);
    assert_found(&answer, LINEAR_MISSING, 1, 2, 1);
    assert_int_equal(answer.found[LINEAR_MISSING].rank, 0);
}

static void test_the_largest_stock_is_checked_like_a_small_one(void **state) {
    const struct linear_op ops[] = {ok(INT32_MAX - 1, 0, 9), ok(INT32_MAX - 3, 1, 2)};
    struct linear_answer answer = answer_of(INT32_MAX, ops, 2);

    (void)state;
    assert_found(&answer, LINEAR_MISSING, 1, 1, 0);
    assert_int_equal(answer.found[LINEAR_MISSING].rank, INT32_MAX - 2);
}

static void check_whatever(void *arg) {
    const struct linear_op ops[] = {ok(2, 0, 9), ok(0, 1, 4), unknown(5)};
    struct linear_answer answer;

    (void)arg;
    (void)!linear_check(3, ops, 3, NULL, 0, &answer);
}

static void test_no_memory_is_told(void **state) {
    (void)state;
    fault_each_allocation(check_whatever, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_history_is_linearizable),
        cmocka_unit_test(test_sales_that_overlap_may_take_effect_in_any_order),
        cmocka_unit_test(test_a_higher_rank_after_a_lower_one_returned_is_stale),
        cmocka_unit_test(test_the_last_that_passed_before_a_stale_sale_is_named),
        cmocka_unit_test(test_of_many_twins_the_tightest_pair_is_named),
        cmocka_unit_test(test_a_rank_beyond_the_stock_is_out_of_range),
        cmocka_unit_test(test_a_refusal_before_a_later_sale_is_early),
        cmocka_unit_test(test_a_rank_that_was_passed_is_missing),
        cmocka_unit_test(test_units_left_at_the_end_are_not_missing),
        cmocka_unit_test(test_an_unknown_operation_fills_a_gap_if_it_began_in_time),
        cmocka_unit_test(test_one_unknown_operation_fills_one_gap_alone),
        cmocka_unit_test(test_a_unit_that_came_back_excuses_its_rank),
        cmocka_unit_test(test_the_largest_stock_is_checked_like_a_small_one),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
