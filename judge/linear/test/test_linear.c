/* The linearizability check on hand-made histories. */
#include "linear.h"
#include "test.h"

#include "fault.h"

static struct linear_op ok(int32_t rank, int64_t from, int64_t to) {
    return (struct linear_op){.invoke_ns = from, .return_ns = to, .rank = rank, .kind = LINEAR_OK};
}

static struct linear_op sold_out(int64_t from, int64_t to) {
    return (struct linear_op){.invoke_ns = from, .return_ns = to, .kind = LINEAR_SOLD_OUT};
}

static struct linear_op again(int32_t rank, int64_t from, int64_t to) {
    return (struct linear_op){
        .invoke_ns = from, .return_ns = to, .rank = rank, .kind = LINEAR_AGAIN};
}

/* A row of which `left` are left, beside requests of unknown outcome that were sent at these times.
 */
static struct linear_answer answer_with(int64_t units, int64_t left, const struct linear_op *ops,
                                        size_t count, const int64_t *unknown, size_t unknowns) {
    const struct linear_row row = {units, left, ops, count, false};
    int64_t unknown_ns[8];
    struct linear_open open = {.unknown_ns = unknown_ns, .unknown_count = unknowns};
    struct linear_answer answer;

    for (size_t i = 0; i < unknowns; i++)
        unknown_ns[i] = unknown[i];
    assert_int_equal(linear_check(&row, 1, &open, &answer), 0);
    return answer;
}

static struct linear_answer answer_of(int64_t units, const struct linear_op *ops, size_t count) {
    return answer_with(units, LINEAR_UNREAD, ops, count, NULL, 0);
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
    assert_true(answer_of(10, NULL, 0).is_linearizable);
    assert_true(answer_of(0, NULL, 0).is_linearizable);
    assert_true(answer_of(0, (struct linear_op[]){sold_out(1, 2)}, 1).is_linearizable);
}

static void test_sales_that_overlap_may_take_effect_in_any_order(void **state) {
    assert_true(answer_of(2, (struct linear_op[]){ok(0, 1, 5), ok(1, 4, 9)}, 2).is_linearizable);
    assert_true(answer_of(2, (struct linear_op[]){ok(0, 1, 5), ok(1, 5, 9)}, 2).is_linearizable);
}

static void test_a_higher_rank_after_a_lower_one_returned_is_stale(void **state) {
    const struct linear_op ops[] = {ok(2, 0, 9), ok(0, 1, 4), ok(1, 5, 9)};
    struct linear_answer answer = answer_of(3, ops, 3);

    assert_found(&answer, LINEAR_STALE, 1, 1, 2);
}

static void test_a_twin_that_began_after_the_first_returned_is_stale(void **state) {
    const struct linear_op ops[] = {ok(0, 1, 4), ok(0, 5, 9)};
    struct linear_answer answer = answer_of(1, ops, 2);

    assert_int_equal(answer.found[LINEAR_TWIN].count, 1);
    assert_int_equal(answer.found[LINEAR_STALE].count, 1);
    assert_int_equal(answer.found[LINEAR_STALE].op[0], 0);
    assert_int_equal(answer.found[LINEAR_STALE].op[1], 1);
}

static void test_the_last_that_passed_before_a_stale_sale_is_named(void **state) {
    const struct linear_op ops[] = {ok(0, 1, 2), ok(1, 3, 4), ok(2, 5, 9)};
    struct linear_answer answer = answer_of(3, ops, 3);

    assert_int_equal(answer.found[LINEAR_STALE].count, 2);
    assert_int_equal(answer.found[LINEAR_STALE].op[0], 0);
    assert_int_equal(answer.found[LINEAR_STALE].op[1], 1);
}

static void test_of_many_twins_the_tightest_pair_is_named(void **state) {
    const struct linear_op ops[] = {ok(2, 0, 9), ok(2, 9, 20), ok(2, 18, 22), ok(1, 20, 30),
                                    ok(0, 21, 30)};
    struct linear_answer answer = answer_of(3, ops, 5);

    assert_int_equal(answer.found[LINEAR_TWIN].count, 2);
    assert_int_equal(answer.found[LINEAR_TWIN].op[0], 1);
    assert_int_equal(answer.found[LINEAR_TWIN].op[1], 2);
}

static void test_a_rank_beyond_the_stock_is_out_of_range(void **state) {
    const struct linear_op ops[] = {ok(0, 0, 1), ok(-1, 2, 3), ok(1, 1, 4)};
    struct linear_answer answer = answer_of(1, ops, 3);

    assert_found(&answer, LINEAR_RANGE, 2, 2, 0);
}

static void test_a_refusal_before_a_later_sale_is_early(void **state) {
    const struct linear_op ops[] = {sold_out(0, 1), sold_out(2, 3), ok(0, 4, 9), sold_out(3, 4)};
    struct linear_answer answer = answer_of(1, ops, 4);

    assert_found(&answer, LINEAR_EARLY, 2, 1, 2);
}

static void test_a_rank_that_was_passed_is_missing(void **state) {
    const struct linear_op ops[] = {ok(4, 0, 1), ok(1, 2, 3), ok(0, 2, 4)};
    struct linear_answer answer = answer_of(5, ops, 3);

    assert_found(&answer, LINEAR_MISSING, 2, 1, 0);
    assert_int_equal(answer.found[LINEAR_MISSING].rank, 2);
}

static void test_units_left_at_the_end_are_not_missing(void **state) {
    assert_true(answer_of(9, (struct linear_op[]){ok(8, 0, 1)}, 1).is_linearizable);
    assert_false(
        answer_of(9, (struct linear_op[]){ok(8, 0, 1), sold_out(0, 1)}, 2).is_linearizable);
}

static void test_an_unknown_operation_fills_a_gap_if_it_began_in_time(void **state) {
    const struct linear_op ops[] = {ok(0, 3, 4)};

    assert_true(answer_with(2, LINEAR_UNREAD, ops, 1, (int64_t[]){4}, 1).is_linearizable);
    assert_false(answer_with(2, LINEAR_UNREAD, ops, 1, (int64_t[]){5}, 1).is_linearizable);
}

static void test_one_unknown_operation_fills_one_gap_alone(void **state) {
    const struct linear_op ops[] = {ok(0, 3, 4), ok(2, 3, 4)};

    assert_true(answer_with(4, LINEAR_UNREAD, ops, 2, (int64_t[]){2, 1}, 2).is_linearizable);
    assert_false(answer_with(4, LINEAR_UNREAD, ops, 2, (int64_t[]){1}, 1).is_linearizable);
}

static void test_one_unknown_operation_fills_no_gaps_of_two_rows(void **state) {
    const struct linear_op ops[] = {ok(0, 3, 4)};
    const struct linear_row rows[] = {{2, 0, ops, 1, false}, {1, 0, NULL, 0, false}};
    int64_t unknown_ns[] = {1, 2};
    struct linear_open open = {.unknown_ns = unknown_ns, .unknown_count = 2};
    struct linear_answer answers[2];

    assert_int_equal(linear_check(rows, 2, &open, answers), 0);
    assert_true(answers[0].is_linearizable && answers[1].is_linearizable);
    open.unknown_count = 1;
    assert_int_equal(linear_check(rows, 2, &open, answers), 0);
    assert_true(answers[0].is_linearizable);
    assert_found(&answers[1], LINEAR_MISSING, 1, LINEAR_END, 0);
}

static void test_the_count_at_the_end_is_that_of_the_sales(void **state) {
    const struct linear_op ops[] = {ok(2, 0, 1), ok(1, 0, 1)};
    struct linear_answer answer;

    assert_true(answer_with(3, 1, ops, 2, NULL, 0).is_linearizable);
    answer = answer_with(3, 0, ops, 2, NULL, 0);
    assert_found(&answer, LINEAR_MISSING, 1, LINEAR_END, 1);
    assert_int_equal(answer.found[LINEAR_MISSING].rank, 0);
    answer = answer_with(3, 2, ops, 2, NULL, 0);
    assert_found(&answer, LINEAR_SURPLUS, 1, 1, 0);
}

static void test_units_left_after_a_refusal_are_unsold(void **state) {
    const struct linear_op ops[] = {ok(1, 0, 1), sold_out(2, 3)};
    struct linear_answer answer = answer_with(2, 1, ops, 2, NULL, 0);

    assert_found(&answer, LINEAR_UNSOLD, 1, 1, 0);
}

static void test_a_unit_that_came_back_was_taken_by_one_that_began_in_time(void **state) {
    const struct linear_op ops[] = {ok(3, 0, 1), ok(1, 2, 3), again(2, 4, 9)};
    const struct linear_row row = {4, LINEAR_UNREAD, ops, 3, false};
    int64_t undone_ns[] = {3};
    struct linear_open open = {.undone_ns = undone_ns, .undone_count = 1};
    struct linear_answer answer;

    assert_int_equal(linear_check(&row, 1, &open, &answer), 0);
    assert_true(answer.is_linearizable);
    undone_ns[0] = 4;
    assert_int_equal(linear_check(&row, 1, &open, &answer), 0);
    assert_found(&answer, LINEAR_UNTAKEN, 1, 2, 0);
    assert_true(answer_with(4, LINEAR_UNREAD, ops, 3, (int64_t[]){3}, 1).is_linearizable);
}

/* It has given back what it took. */
static void test_an_operation_that_was_undone_fills_no_other_gap(void **state) {
    const struct linear_op ops[] = {ok(0, 2, 3)};
    const struct linear_row row = {2, 0, ops, 1, false};
    int64_t undone_ns[] = {1};
    struct linear_open open = {.undone_ns = undone_ns, .undone_count = 1};
    struct linear_answer answer;

    assert_int_equal(linear_check(&row, 1, &open, &answer), 0);
    assert_found(&answer, LINEAR_MISSING, 1, 0, 0);
}

static void test_the_largest_stock_is_checked_like_a_small_one(void **state) {
    const struct linear_op ops[] = {ok(INT32_MAX - 1, 0, 9), ok(INT32_MAX - 3, 1, 2)};
    struct linear_answer answer = answer_of(INT32_MAX, ops, 2);

    assert_found(&answer, LINEAR_MISSING, 1, 1, 0);
    assert_int_equal(answer.found[LINEAR_MISSING].rank, INT32_MAX - 2);
}

static void check_whatever(void *arg) {
    const struct linear_op ops[] = {ok(2, 0, 9), ok(0, 1, 4)};
    const struct linear_row row = {3, 0, ops, 2, false};
    int64_t unknown_ns[] = {5};
    const struct linear_open open = {.unknown_ns = unknown_ns, .unknown_count = 1};
    struct linear_answer answer;

    (void)!linear_check(&row, 1, &open, &answer);
}

static void test_no_memory_is_told(void **state) {
    fault_each_allocation(check_whatever, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_history_is_linearizable),
        cmocka_unit_test(test_sales_that_overlap_may_take_effect_in_any_order),
        cmocka_unit_test(test_a_higher_rank_after_a_lower_one_returned_is_stale),
        cmocka_unit_test(test_a_twin_that_began_after_the_first_returned_is_stale),
        cmocka_unit_test(test_the_last_that_passed_before_a_stale_sale_is_named),
        cmocka_unit_test(test_of_many_twins_the_tightest_pair_is_named),
        cmocka_unit_test(test_a_rank_beyond_the_stock_is_out_of_range),
        cmocka_unit_test(test_a_refusal_before_a_later_sale_is_early),
        cmocka_unit_test(test_a_rank_that_was_passed_is_missing),
        cmocka_unit_test(test_units_left_at_the_end_are_not_missing),
        cmocka_unit_test(test_an_unknown_operation_fills_a_gap_if_it_began_in_time),
        cmocka_unit_test(test_one_unknown_operation_fills_one_gap_alone),
        cmocka_unit_test(test_one_unknown_operation_fills_no_gaps_of_two_rows),
        cmocka_unit_test(test_the_count_at_the_end_is_that_of_the_sales),
        cmocka_unit_test(test_units_left_after_a_refusal_are_unsold),
        cmocka_unit_test(test_a_unit_that_came_back_was_taken_by_one_that_began_in_time),
        cmocka_unit_test(test_an_operation_that_was_undone_fills_no_other_gap),
        cmocka_unit_test(test_the_largest_stock_is_checked_like_a_small_one),
        cmocka_unit_test(test_no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
