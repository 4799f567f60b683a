/* Validity is a pure function of moments. */
#include "client.h"
#include "test.h"

#define MS NS_PER_MS

static void test_validity_is_the_ttl_minus_drift(void **state) {
    assert_int_equal(validity_until(0, 10000), (10000 - 102) * (int64_t)MS);
    assert_int_equal(validity_until(5 * MS, 10), (5 + 10 - 2) * (int64_t)MS);
    assert_int_equal(validity_until(0, 86400000), (86400000 - 864002) * (int64_t)MS);
}

static void test_state_goes_from_held_to_suspect_to_lost(void **state) {
    int64_t until_ns = 100 * MS;

    assert_int_equal(validity_state(until_ns, 30, 0), LK_HELD);
    assert_int_equal(validity_state(until_ns, 30, 70 * MS), LK_HELD);
    assert_int_equal(validity_state(until_ns, 30, 70 * MS + 1), LK_SUSPECT);
    assert_int_equal(validity_state(until_ns, 30, 100 * MS - 1), LK_SUSPECT);
    assert_int_equal(validity_state(until_ns, 30, 100 * MS), LK_LOST_STATE);
    assert_int_equal(validity_state(until_ns, 30, INT64_MAX), LK_LOST_STATE);
}

static void test_left_is_rounded_down(void **state) {
    assert_int_equal(validity_left_ms(100 * MS, 1), 99);
    assert_int_equal(validity_left_ms(100 * MS, 100 * MS), 0);
    assert_int_equal(validity_left_ms(100 * MS, 200 * MS), 0);
}

static void test_without_ttl_it_never_ends(void **state) {
    assert_int_equal(validity_state(VALIDITY_FOREVER, 30, INT64_MAX), LK_HELD);
    assert_int_equal(validity_left_ms(VALIDITY_FOREVER, 0), INT64_MAX);
}

static void test_none_is_lost_at_any_time(void **state) {
    assert_int_equal(validity_state(VALIDITY_NONE, 30, 0), LK_LOST_STATE);
    assert_int_equal(validity_left_ms(VALIDITY_NONE, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validity_is_the_ttl_minus_drift),
        cmocka_unit_test(test_state_goes_from_held_to_suspect_to_lost),
        cmocka_unit_test(test_left_is_rounded_down),
        cmocka_unit_test(test_without_ttl_it_never_ends),
        cmocka_unit_test(test_none_is_lost_at_any_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
