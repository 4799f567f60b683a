/* A plan is decided by its seed alone; the register keeps the promises of both its sides. */
#include "plan.h"
#include "resource.h"
#include "test.h"

static void test_one_seed_gives_one_plan(void **state) {
    unsigned victims = 0, grants = 0, second = 0, least_pct = 100, most_pct = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        const struct plan plan = plan_make(seed, 3), again = plan_make(seed, 3);

        assert_int_equal(plan.victim, again.victim);
        assert_int_equal(plan.grant, again.grant);
        assert_int_equal(plan.second_pct, again.second_pct);
        assert_int_equal(plan.is_second_on_victim, again.is_second_on_victim);
        assert_int_equal(plan.kill_ms, again.kill_ms);
        assert_true(plan.victim < 3 && plan.grant >= 1);
        assert_int_equal(plan_hold_ms(&plan, 1, 5), plan_hold_ms(&again, 1, 5));
        assert_int_equal(plan_think_ms(&plan, 2, 7), plan_think_ms(&again, 2, 7));
        assert_true(plan_hold_ms(&plan, 1, 5) > 0 && plan_think_ms(&plan, 1, 5) >= 0);
        victims |= 1U << plan.victim;
        grants |= 1U << plan.grant;
        second |= plan.is_second_on_victim ? 1U : 2U;
        least_pct = plan.second_pct < least_pct ? plan.second_pct : least_pct;
        most_pct = plan.second_pct > most_pct ? plan.second_pct : most_pct;
    }
    assert_int_equal(second, 3);
    assert_true(least_pct >= 10 && least_pct < 20 && most_pct > 80 && most_pct <= 90);
    assert_int_equal(victims, 7); /* each worker is hit by some seed */
    assert_true(grants > 2);      /* and not always at the first grant */
}

static void test_trials_and_rows_of_one_seed_have_plans_of_their_own(void **state) {
    assert_int_equal(plan_seed(1, 0), plan_seed(1, 0));
    assert_int_not_equal(plan_seed(1, 0), plan_seed(1, 1));
    assert_int_not_equal(plan_seed(1, 0), plan_seed(2, 0));
    assert_int_equal(plan_seed_of(1, "stop-held"), plan_seed_of(1, "stop-held"));
    assert_int_not_equal(plan_seed_of(1, "stop-held"), plan_seed_of(1, "stop-write"));
    assert_int_not_equal(plan_seed_of(1, "stop-held"), plan_seed_of(2, "stop-held"));
}

static void test_the_fenced_register_refuses_a_lower_fence(void **state) {
    struct resource resource = {0};

    assert_true(resource_write(&resource, 0)); /* no fence: nothing to compare */
    assert_true(resource_write(&resource, 5));
    assert_true(resource_write(&resource, 5));
    assert_false(resource_write(&resource, 4));
    assert_true(resource_write(&resource, 0));
    assert_true(resource_write(&resource, 6));
    assert_false(resource_write(&resource, 5));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_seed_gives_one_plan),
        cmocka_unit_test(test_trials_and_rows_of_one_seed_have_plans_of_their_own),
        cmocka_unit_test(test_the_fenced_register_refuses_a_lower_fence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
