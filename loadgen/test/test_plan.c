/* The arrival schedule: the same for the same seed, at the rate asked for. */
#include "plan.h"

#include "fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct plan make(size_t count, int64_t rate, enum plan_arrival arrival, uint64_t seed) {
    struct plan plan;

    assert_int_equal(plan_make(&plan, count, rate, arrival, seed), 0);
    assert_int_equal(plan.count, count);
    return plan;
}

static void test_same_seed_gives_the_same_plan(void **state) {
    struct plan a = make(800, 800, PLAN_POISSON, 7), b = make(800, 800, PLAN_POISSON, 7);

    (void)state;
    assert_memory_equal(a.due_ns, b.due_ns, 800 * sizeof *a.due_ns);
    plan_free(&a);
    plan_free(&b);
}

static void test_another_seed_gives_another_plan(void **state) {
    struct plan a = make(800, 800, PLAN_POISSON, 7), b = make(800, 800, PLAN_POISSON, 8);

    (void)state;
    assert_memory_not_equal(a.due_ns, b.due_ns, 800 * sizeof *a.due_ns);
    plan_free(&a);
    plan_free(&b);
}

static void test_poisson_arrivals_fill_their_span_in_order(void **state) {
    struct plan plan = make(20000, 1000, PLAN_POISSON, 1);

    (void)state;
    assert_int_equal(plan.span_ns, INT64_C(20000000000));
    for (size_t i = 0; i < plan.count; i++) {
        assert_true(plan.due_ns[i] >= 0 && plan.due_ns[i] <= plan.span_ns);
        assert_true(i == 0 || plan.due_ns[i] >= plan.due_ns[i - 1]);
    }
    plan_free(&plan);
}

/* In a Poisson process the gaps' standard deviation is their mean, and e^-1 of them are longer. */
static void test_poisson_gaps_are_exponential(void **state) {
    struct plan plan = make(20000, 1000, PLAN_POISSON, 3);
    double mean = 1e6, squares = 0;
    size_t longer = 0;

    (void)state;
    for (size_t i = 1; i < plan.count; i++) {
        double gap = (double)(plan.due_ns[i] - plan.due_ns[i - 1]);

        squares += (gap - mean) * (gap - mean);
        longer += gap > mean;
    }
    assert_in_range((uintmax_t)(squares / 20000 / mean / mean * 1000), 930, 1070);
    assert_in_range(longer * 1000 / plan.count, 358, 378);
    plan_free(&plan);
}

static void test_constant_arrivals_are_evenly_spaced(void **state) {
    struct plan plan = make(1000, 800, PLAN_CONSTANT, 1);

    (void)state;
    for (size_t i = 0; i < plan.count; i++)
        assert_in_range(plan.due_ns[i], i * 1250000, i * 1250000 + 1);
    plan_free(&plan);
}

/* Recorded from this implementation: a change of the generator would change every seeded run. */
static void test_the_first_arrivals_of_seed_one_never_change(void **state) {
    static const int64_t due_us[] = {123278, 351673, 545745, 873852};
    struct plan plan = make(4, 4, PLAN_POISSON, 1);

    (void)state;
    for (size_t i = 0; i < plan.count; i++)
        assert_int_equal(plan.due_ns[i] / 1000, due_us[i]);
    plan_free(&plan);
}

static void test_an_empty_plan_is_a_plan(void **state) {
    struct plan plan = make(0, 800, PLAN_POISSON, 1);

    (void)state;
    plan_free(&plan);
}

static void test_arrival_words_are_read(void **state) {
    enum plan_arrival arrival;

    (void)state;
    assert_int_equal(plan_parse_arrival("poisson", &arrival), 0);
    assert_int_equal(arrival, PLAN_POISSON);
    assert_int_equal(plan_parse_arrival("constant", &arrival), 0);
    assert_int_equal(arrival, PLAN_CONSTANT);
    assert_int_equal(plan_parse_arrival("burst", &arrival), -1);
    assert_int_equal(plan_parse_arrival("", &arrival), -1);
}

static void make_and_free(void *arg) {
    struct plan plan;

    (void)arg;
    if (plan_make(&plan, 10, 10, PLAN_POISSON, 1) == 0)
        plan_free(&plan);
}

static void test_no_memory_for_a_plan_is_told(void **state) {
    (void)state;
    fault_each_allocation(make_and_free, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_gives_the_same_plan),
        cmocka_unit_test(test_another_seed_gives_another_plan),
        cmocka_unit_test(test_poisson_arrivals_fill_their_span_in_order),
        cmocka_unit_test(test_poisson_gaps_are_exponential),
        cmocka_unit_test(test_constant_arrivals_are_evenly_spaced),
        cmocka_unit_test(test_the_first_arrivals_of_seed_one_never_change),
        cmocka_unit_test(test_an_empty_plan_is_a_plan),
        cmocka_unit_test(test_arrival_words_are_read),
        cmocka_unit_test(test_no_memory_for_a_plan_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
