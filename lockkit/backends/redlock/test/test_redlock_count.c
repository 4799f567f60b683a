/* The votes that decide each command. */
#include "redlock_nodes.h"
#include "test.h"

#define COUNT(...) (&(struct redlock_count){.nodes = 5, __VA_ARGS__})

static const int undecided = -1;

static int decided(enum lk_verb verb, const struct redlock_count *count) {
    enum lk_status status;

    return redlock_count_decide(count, verb, &status) ? (int)status : undecided;
}

static void test_attempt_is_decided_when_it_is_won_or_cannot_be(void **state) {
    const enum lk_verb by = LK_ACQUIRE;

    assert_int_equal(decided(by, COUNT(.yes = 3, .pending = 2, .hopeful = 2)), LK_OK);
    assert_int_equal(decided(by, COUNT(.yes = 2, .no = 2, .pending = 1, .hopeful = 1)), undecided);
    assert_int_equal(decided(by, COUNT(.yes = 2, .no = 3)), LK_BUSY);
    assert_int_equal(decided(by, COUNT(.no = 3, .pending = 2, .hopeful = 2)), LK_BUSY);
    assert_int_equal(decided(by, COUNT(.yes = 2, .no = 1, .unsent = 2)), LK_BUSY);
    assert_int_equal(decided(by, COUNT(.yes = 2, .unsent = 3)), LK_UNAVAILABLE);
    assert_int_equal(decided(by, COUNT(.no = 2, .unsent = 3)), LK_UNAVAILABLE);
    assert_int_equal(decided(by, COUNT(.yes = 2, .refused = 3)), LK_REFUSED);
    assert_int_equal(decided(by, COUNT(.yes = 2, .refused = 2, .unsent = 1)), LK_UNAVAILABLE);
}

static void test_attempt_that_may_have_a_majority_is_unknown(void **state) {
    const enum lk_verb by = LK_ACQUIRE;

    assert_int_equal(decided(by, COUNT(.yes = 2, .unknown = 1, .no = 2)), LK_UNKNOWN);
    assert_int_equal(decided(by, COUNT(.unknown = 3, .unsent = 2)), LK_UNKNOWN);
    assert_int_equal(decided(by, COUNT(.yes = 1, .unknown = 1, .no = 3)), LK_BUSY);
    /* The pending nodes have no vote. */
    assert_int_equal(decided(by, COUNT(.yes = 2, .no = 2, .pending = 1)), LK_BUSY);
    assert_int_equal(decided(by, COUNT(.yes = 2, .pending = 3)), LK_UNAVAILABLE);
}

static void test_four_nodes_need_three(void **state) {
    assert_int_equal(decided(LK_ACQUIRE, &(struct redlock_count){.nodes = 4, .yes = 2, .no = 2}),
                     LK_BUSY);
    assert_int_equal(decided(LK_RENEW, &(struct redlock_count){.nodes = 4, .yes = 2, .no = 2}),
                     LK_LOST);
    assert_int_equal(decided(LK_ACQUIRE, &(struct redlock_count){.nodes = 4, .yes = 3, .no = 1}),
                     LK_OK);
}

static void test_renewal_is_lost_only_when_a_majority_cannot_be_ours(void **state) {
    const enum lk_verb by = LK_RENEW;

    assert_int_equal(decided(by, COUNT(.yes = 3, .no = 2)), LK_OK);
    assert_int_equal(decided(by, COUNT(.no = 3, .yes = 2)), LK_LOST);
    assert_int_equal(decided(by, COUNT(.no = 2, .yes = 2, .pending = 1)), undecided);
    assert_int_equal(decided(by, COUNT(.no = 2, .yes = 2, .unknown = 1)), LK_UNKNOWN);
    assert_int_equal(decided(by, COUNT(.yes = 2, .unsent = 3)), LK_UNAVAILABLE);
    assert_int_equal(decided(by, COUNT(.yes = 2)), LK_UNAVAILABLE); /* three without a vote */
}

static void test_release_is_told_by_a_majority(void **state) {
    const enum lk_verb by = LK_RELEASE;

    assert_int_equal(decided(by, COUNT(.yes = 3, .pending = 2)), LK_OK);
    assert_int_equal(decided(by, COUNT(.no = 3, .yes = 2)), LK_LOST);
    assert_int_equal(decided(by, COUNT(.yes = 2, .unsent = 3)), LK_UNKNOWN);
    assert_int_equal(decided(by, COUNT(.yes = 2, .no = 1, .unknown = 2)), LK_UNKNOWN);
    assert_int_equal(decided(by, COUNT(.unsent = 5)), LK_UNAVAILABLE);
    assert_int_equal(decided(by, COUNT(.refused = 5)), LK_REFUSED);
}

static void test_broken_when_no_majority_can_be_left(void **state) {
    const enum lk_verb by = LK_BREAK;

    assert_int_equal(decided(by, COUNT(.yes = 2, .pending = 3)), undecided);
    assert_int_equal(decided(by, COUNT(.yes = 1, .no = 2, .unknown = 2)), LK_OK);
    assert_int_equal(decided(by, COUNT(.no = 3, .unknown = 2)), LK_LOST);
    assert_int_equal(decided(by, COUNT(.yes = 2, .unknown = 3)), LK_UNKNOWN);
    assert_int_equal(decided(by, COUNT(.unsent = 5)), LK_UNAVAILABLE);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempt_is_decided_when_it_is_won_or_cannot_be),
        cmocka_unit_test(test_attempt_that_may_have_a_majority_is_unknown),
        cmocka_unit_test(test_four_nodes_need_three),
        cmocka_unit_test(test_renewal_is_lost_only_when_a_majority_cannot_be_ours),
        cmocka_unit_test(test_release_is_told_by_a_majority),
        cmocka_unit_test(test_broken_when_no_majority_can_be_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
