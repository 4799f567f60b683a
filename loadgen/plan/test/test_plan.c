/* The arrival schedule: the same for the same seed, at the rate asked for. */
#include "plan.h"
#include "test.h"

#include "fault.h"

#include <math.h>
#include <string.h>

static struct plan make(size_t count, int64_t rate, enum plan_arrival arrival, uint64_t seed) {
    struct plan_shape shape = {
        .count = count,
        .stage_count = 1,
        .stages = {{(int64_t)((double)count / (double)rate * 1e9), (double)rate, (double)rate}},
        .arrival = arrival,
        .seed = seed,
        .items = 1};
    struct plan plan;

    assert_int_equal(plan_make(&plan, &shape), 0);
    assert_int_equal(plan.count, count);
    return plan;
}

static void test_same_seed_gives_the_same_plan(void **state) {
    struct plan a = make(800, 800, PLAN_POISSON, 7), b = make(800, 800, PLAN_POISSON, 7);

    assert_memory_equal(a.arrivals, b.arrivals, 800 * sizeof *a.arrivals);
    plan_free(&a);
    plan_free(&b);
}

/* Each bit of `choice` chooses a part of the shape. */
static struct plan make_choice(unsigned choice) {
    struct plan_shape shape = {.count = 900,
                               .stage_count = choice & 1 ? 4 : 1,
                               .stages = {{1000000000, 0, 600},
                                          {1000000000, 0, 0},
                                          {500000000, 1200, 1200},
                                          {1000000000, 0, 0}},
                               .arrival = choice & 2 ? PLAN_CONSTANT : PLAN_POISSON,
                               .seed = 42,
                               .items = choice & 4 ? 9 : 1,
                               .zipf = choice & 8 ? 1.1 : 0,
                               .dup_rate = choice & 16 ? 0.3 : 0};
    struct plan plan;

    assert_int_equal(plan_make(&plan, &shape), 0);
    return plan;
}

static void test_same_seed_gives_the_same_plan_of_any_shape(void **state) {
    for (unsigned choice = 0; choice < 32; choice++) {
        struct plan a = make_choice(choice), b = make_choice(choice);

        assert_int_equal(a.count, b.count);
        assert_true(choice & 16 ? a.count > 900 : a.count == 900);
        assert_memory_equal(a.arrivals, b.arrivals, a.count * sizeof *a.arrivals);
        plan_free(&a);
        plan_free(&b);
    }
}

/* The mean gap before the arrivals that are marked is that of all, within 4 standard deviations. */
static void assert_unrelated(const struct plan *plan, const bool *is_marked) {
    double sum = 0, mean = (double)plan->span_ns / (double)plan->count;
    size_t count = 0;

    for (size_t i = 1; i < plan->count; i++) {
        if (!is_marked[i])
            continue;
        sum += (double)(plan->arrivals[i].due_ns - plan->arrivals[i - 1].due_ns);
        count++;
    }
    assert_true(count > 1000);
    assert_true(fabs(sum / (double)count - mean) < 4 * mean / sqrt((double)count));
}

/* They have random numbers of their own: two are drawn for each repeat, one for all else. */
static void test_items_and_repeats_are_unrelated_to_the_gaps(void **state) {
    static bool is_first_item[20000], is_repeated[40000], has_its_number[20000];
    struct plan_shape shape = {.count = 20000,
                               .stage_count = 1,
                               .stages = {{20000000000, 1000, 1000}},
                               .arrival = PLAN_POISSON,
                               .seed = 3,
                               .items = 2};
    struct plan plan, repeating;
    size_t number = 0;

    assert_int_equal(plan_make(&plan, &shape), 0);
    shape.dup_rate = 0.5;
    assert_int_equal(plan_make(&repeating, &shape), 0);
    for (size_t i = 0; i < plan.count; i++)
        is_first_item[i] = plan.arrivals[i].item == 0;
    for (size_t i = 0; i < repeating.count; i++)
        if (repeating.arrivals[i].repeats != i)
            is_repeated[repeating.arrivals[i].repeats] = true;
    for (size_t i = 0; i < repeating.count && 2 * number < plan.count; i++)
        if (repeating.arrivals[i].repeats == i)
            has_its_number[2 * number++] = is_repeated[i];
    assert_unrelated(&plan, is_first_item);
    assert_unrelated(&plan, has_its_number);
    plan_free(&plan);
    plan_free(&repeating);
}

static void test_another_seed_gives_another_plan(void **state) {
    struct plan a = make(800, 800, PLAN_POISSON, 7), b = make(800, 800, PLAN_POISSON, 8);

    assert_memory_not_equal(a.arrivals, b.arrivals, 800 * sizeof *a.arrivals);
    plan_free(&a);
    plan_free(&b);
}

static void test_poisson_arrivals_fill_their_span_in_order(void **state) {
    struct plan plan = make(20000, 1000, PLAN_POISSON, 1);

    assert_int_equal(plan.span_ns, INT64_C(20000000000));
    for (size_t i = 0; i < plan.count; i++) {
        assert_true(plan.arrivals[i].due_ns >= 0 && plan.arrivals[i].due_ns <= plan.span_ns);
        assert_true(i == 0 || plan.arrivals[i].due_ns >= plan.arrivals[i - 1].due_ns);
    }
    plan_free(&plan);
}

/* In a Poisson process the gaps' standard deviation is their mean, and e^-1 of them are longer. */
static void test_poisson_gaps_are_exponential(void **state) {
    struct plan plan = make(20000, 1000, PLAN_POISSON, 3);
    double mean = 1e6, squares = 0;
    size_t longer = 0;

    for (size_t i = 1; i < plan.count; i++) {
        double gap = (double)(plan.arrivals[i].due_ns - plan.arrivals[i - 1].due_ns);

        squares += (gap - mean) * (gap - mean);
        longer += gap > mean;
    }
    assert_in_range((uintmax_t)(squares / 20000 / mean / mean * 1000), 930, 1070);
    assert_in_range(longer * 1000 / plan.count, 358, 378);
    plan_free(&plan);
}

static void test_constant_arrivals_are_evenly_spaced(void **state) {
    struct plan plan = make(1000, 800, PLAN_CONSTANT, 1);

    for (size_t i = 0; i < plan.count; i++)
        assert_in_range(plan.arrivals[i].due_ns, i * 1250000, i * 1250000 + 1);
    plan_free(&plan);
}

/* Recorded from this implementation: a change of the generator would change every seeded run. */
static void test_the_first_arrivals_of_seed_one_never_change(void **state) {
    static const int64_t due_us[] = {123278, 351673, 545745, 873852};
    struct plan plan = make(4, 4, PLAN_POISSON, 1);

    for (size_t i = 0; i < plan.count; i++)
        assert_int_equal(plan.arrivals[i].due_ns / 1000, due_us[i]);
    plan_free(&plan);
}

static void test_an_empty_plan_is_a_plan(void **state) {
    struct plan plan = make(0, 800, PLAN_POISSON, 1);

    plan_free(&plan);
}

static void test_arrival_words_are_read(void **state) {
    enum plan_arrival arrival;

    assert_int_equal(plan_parse_arrival("poisson", &arrival), 0);
    assert_int_equal(arrival, PLAN_POISSON);
    assert_int_equal(plan_parse_arrival("constant", &arrival), 0);
    assert_int_equal(arrival, PLAN_CONSTANT);
    assert_int_equal(plan_parse_arrival("burst", &arrival), -1);
    assert_int_equal(plan_parse_arrival("", &arrival), -1);
}

static void make_and_free(void *arg) {
    struct plan_shape shape = {.count = 10,
                               .stage_count = 1,
                               .stages = {{1000000000, 10, 10}},
                               .arrival = PLAN_POISSON,
                               .seed = 1,
                               .items = 1};
    struct plan plan;

    (void)arg;
    if (plan_make(&plan, &shape) == 0)
        plan_free(&plan);
}

static void test_no_memory_for_a_plan_is_told(void **state) {
    fault_each_allocation(make_and_free, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_gives_the_same_plan),
        cmocka_unit_test(test_same_seed_gives_the_same_plan_of_any_shape),
        cmocka_unit_test(test_items_and_repeats_are_unrelated_to_the_gaps),
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
