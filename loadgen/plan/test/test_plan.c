/* The arrival schedule: the same for the same seed, at changing rates, for products of different
 * popularity, with repeated keys; and the words for it. Statistics use fixed seeds. */
#include "plan.h"
#include "test.h"

#include "fault.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct why why;
static struct plan plan, other; /* made by a test; its tear-down frees them */

static int tear_down(void **state) {
    plan_free(&plan);
    plan_free(&other);
    return 0;
}

static struct plan_shape shape_of(const char *stages) {
    struct plan_shape shape = {.arrival = PLAN_POISSON, .seed = 1, .items = 1};

    assert_int_equal(plan_parse_stages(stages, &shape, &why), 0);
    shape.count = (size_t)(plan_expected(&shape) + 0.5);
    return shape;
}

static void make(struct plan *made, const struct plan_shape *shape) {
    plan_free(made);
    assert_int_equal(plan_make(made, shape), 0);
    assert_true(shape->dup_rate > 0 ? made->count > shape->count : made->count == shape->count);
}

static void make_of(struct plan *made, const char *stages, enum plan_arrival arrival,
                    uint64_t seed) {
    struct plan_shape shape = shape_of(stages);

    shape.arrival = arrival;
    shape.seed = seed;
    make(made, &shape);
}

/* Each bit of `choice` chooses a part of the shape. */
static void make_choice(struct plan *made, unsigned choice) {
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

    make(made, &shape);
}

static void test_same_seed_gives_the_same_plan_of_any_shape(void **state) {
    for (unsigned choice = 0; choice < 32; choice++) {
        make_choice(&plan, choice);
        make_choice(&other, choice);
        assert_int_equal(plan.count, other.count);
        assert_memory_equal(plan.arrivals, other.arrivals, plan.count * sizeof *plan.arrivals);
    }
}

/* The mean gap before marked arrivals equals that of all arrivals, within 4 standard deviations. */
static void assert_unrelated(const bool *is_marked) {
    double sum = 0, mean = (double)plan.span_ns / (double)plan.count;
    size_t count = 0;

    for (size_t i = 1; i < plan.count; i++) {
        if (!is_marked[i])
            continue;
        sum += (double)(plan.arrivals[i].due_ns - plan.arrivals[i - 1].due_ns);
        count++;
    }
    assert_true(count > 1000);
    assert_true(fabs(sum / (double)count - mean) < 4 * mean / sqrt((double)count));
}

/* Items and repeats have streams of their own: per arrival two numbers for repeats, one for
 * items. */
static void test_items_and_repeats_are_unrelated_to_the_gaps(void **state) {
    static bool is_first_item[20000], is_repeated[40000], has_its_number[20000];
    struct plan_shape shape = shape_of("20s:1k");
    size_t number = 0;

    shape.seed = 3;
    shape.items = 2;
    make(&plan, &shape);
    shape.dup_rate = 0.5;
    make(&other, &shape);
    for (size_t i = 0; i < plan.count; i++)
        is_first_item[i] = plan.arrivals[i].item == 0;
    for (size_t i = 0; i < other.count; i++)
        if (other.arrivals[i].repeats != i)
            is_repeated[other.arrivals[i].repeats] = true;
    for (size_t i = 0; i < other.count && 2 * number < plan.count; i++)
        if (other.arrivals[i].repeats == i)
            has_its_number[2 * number++] = is_repeated[i];
    assert_unrelated(is_first_item);
    assert_unrelated(has_its_number);
}

static void test_another_seed_gives_another_plan(void **state) {
    make_of(&plan, "1s:800", PLAN_POISSON, 7);
    make_of(&other, "1s:800", PLAN_POISSON, 7);
    assert_memory_equal(plan.arrivals, other.arrivals, 800 * sizeof *plan.arrivals);
    make_of(&other, "1s:800", PLAN_POISSON, 8);
    assert_memory_not_equal(plan.arrivals, other.arrivals, 800 * sizeof *plan.arrivals);
}

static void assert_in_order(void) {
    for (size_t i = 1; i < plan.count; i++)
        assert_true(plan.arrivals[i].due_ns >= plan.arrivals[i - 1].due_ns);
}

static void test_poisson_arrivals_fill_their_span_in_order(void **state) {
    make_of(&plan, "20s:1k", PLAN_POISSON, 1);
    assert_int_equal(plan.span_ns, INT64_C(20000000000));
    assert_in_order();
    assert_true(plan.arrivals[0].due_ns >= 0);
    assert_true(plan.arrivals[plan.count - 1].due_ns <= plan.span_ns);
}

/* In a Poisson process the standard deviation of the gaps is their mean, and e^-1 of the gaps are
 * longer than the mean. */
static void test_poisson_gaps_are_exponential(void **state) {
    double mean = 1e6, squares = 0;
    size_t longer = 0;

    make_of(&plan, "20s:1k", PLAN_POISSON, 3);
    for (size_t i = 1; i < plan.count; i++) {
        double gap = (double)(plan.arrivals[i].due_ns - plan.arrivals[i - 1].due_ns);

        squares += (gap - mean) * (gap - mean);
        longer += gap > mean;
    }
    assert_in_range((uintmax_t)(squares / 20000 / mean / mean * 1000), 930, 1070);
    assert_in_range(longer * 1000 / plan.count, 358, 378);
}

static void test_constant_arrivals_are_evenly_spaced(void **state) {
    make_of(&plan, "1250ms:800", PLAN_CONSTANT, 1);
    for (size_t i = 0; i < plan.count; i++)
        assert_in_range(plan.arrivals[i].due_ns, i * 1250000, i * 1250000 + 1);
}

/* Recorded from this implementation. A change of the generator would change every seeded run. */
static void test_the_first_arrivals_of_seed_one_never_change(void **state) {
    static const int64_t due_us[] = {123278, 351673, 545745, 873852};

    make_of(&plan, "1s:4", PLAN_POISSON, 1);
    for (size_t i = 0; i < plan.count; i++)
        assert_int_equal(plan.arrivals[i].due_ns / 1000, due_us[i]);
}

static void test_an_empty_plan_is_a_plan(void **state) {
    struct plan_shape shape = {.stage_count = 1, .stages = {{0, 800, 800}}, .items = 1};

    make(&plan, &shape);
    assert_int_equal(plan.count, 0);
}

/* ---- stages */

static size_t arrivals_within(int64_t from_ms, int64_t to_ms) {
    size_t count = 0;

    for (size_t i = 0; i < plan.count; i++)
        count += plan.arrivals[i].due_ns >= from_ms * 1000000 &&
                 plan.arrivals[i].due_ns < to_ms * 1000000;
    return count;
}

static void test_stages_are_read(void **state) {
    struct plan_shape shape = shape_of("5s:0..800,1.5s:20k,500ms:800..0");

    assert_int_equal(shape.stage_count, 3);
    assert_int_equal(shape.stages[0].span_ns, INT64_C(5000000000));
    assert_true(shape.stages[0].from == 0 && shape.stages[0].to == 800);
    assert_true(shape.stages[1].from == 20000 && shape.stages[1].to == 20000);
    assert_true(shape.stages[2].from == 800 && shape.stages[2].to == 0);
    assert_int_equal(plan_span_ns(&shape), INT64_C(7000000000));
    assert_int_equal(shape.count, 2000 + 30000 + 200);
}

static void test_bad_stages_are_refused_with_a_reason(void **state) {
    static const struct {
        const char *part, *texts[8];
    } bad[] = {
        {"a colon is missing", {"", "5s"}},
        {"stage 2", {"5s:1,", "5s:1,,5s:2"}},
        {"duration", {"5:800", "x:800"}},
        {"1ms to 24h", {"0:800", "25h:1"}},
        {"rate", {"5s:", "5s:-1", "5s:1..", "5s:..1", "5s:1..2..3", "5s:2m", "5s:1.5"}},
        {"longer than 24h", {"13h:1,13h:1"}},
        {"less than one request", {"1s:0"}},
        {"long", {"1s:0000000000000000000000000000000000000000000000000000000000000000001"}}};
    struct plan_shape shape = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (const char *const *text = bad[i].texts; *text != NULL; text++) {
            why.text[0] = '\0';
            if (plan_parse_stages(*text, &shape, &why) != -1 ||
                strstr(why.text, bad[i].part) == NULL)
                fail_msg("%s: %s", *text, why.text);
        }
}

static void test_no_more_stages_than_there_is_room_for(void **state) {
    struct plan_shape shape;
    char text[33 * 5 + 1] = "";

    for (int i = 0; i < 33; i++)
        strcat(text, i == 0 ? "1s:5" : ",1s:5");
    assert_int_equal(plan_parse_stages(text, &shape, &why), -1);
    assert_non_null(strstr(why.text, "more than 32"));
    text[strlen(text) - strlen(",1s:5")] = '\0';
    assert_int_equal(plan_parse_stages(text, &shape, &why), 0);
    assert_int_equal(shape.stage_count, 32);
}

/* While the rate rises, its integral is 80 t^2: the i-th of equal steps comes at sqrt(i / 80). */
static void test_constant_arrivals_on_a_ramp_are_at_equal_steps_of_the_count(void **state) {
    make_of(&plan, "5s:0..800,1s:800,5s:800..0", PLAN_CONSTANT, 1);
    assert_int_equal(plan.count, 4800);
    for (size_t i = 0; i < 2000; i++)
        assert_true(fabs((double)plan.arrivals[i].due_ns - sqrt((double)i / 80) * 1e9) < 10);
    for (size_t i = 2000; i < 2800; i++)
        assert_true(fabs((double)plan.arrivals[i].due_ns - 5e9 - (double)(i - 2000) * 1.25e6) < 10);
    for (size_t i = 2801; i < 4800; i++) /* the falling part mirrors the rising part */
        assert_true(fabs(11e9 - (double)plan.arrivals[i].due_ns -
                         (double)plan.arrivals[4800 - i].due_ns) < 100);
}

/* The expected arrivals of a second equal the rate in its middle. */
static double expected_in_second(int64_t second) {
    int64_t from_an_end = second < 15 ? second : 29 - second;

    return from_an_end < 5 ? 160 * ((double)from_an_end + 0.5) : 800;
}

/* Each second's count lies within 4 standard deviations of the integrated rate. */
static void test_poisson_arrivals_follow_the_stages(void **state) {
    make_of(&plan, "5s:0..800,20s:800,5s:800..0", PLAN_POISSON, 1);
    assert_int_equal(plan.count, 20000);
    assert_in_order();
    for (int64_t second = 0; second < 30; second++) {
        double expected = expected_in_second(second);
        double counted = (double)arrivals_within(second * 1000, second * 1000 + 1000);

        assert_true(fabs(counted - expected) < 4 * sqrt(expected));
    }
}

static void test_nothing_comes_in_a_stage_of_rate_zero(void **state) {
    static const enum plan_arrival arrivals[] = {PLAN_POISSON, PLAN_CONSTANT};

    for (size_t i = 0; i < 2; i++) {
        make_of(&plan, "1s:0,1s:1k,2s:0,1s:500..0,1s:0", arrivals[i], 1);
        assert_in_order();
        assert_in_range(arrivals_within(1000, 2000), 960, 1040);
        assert_int_equal(arrivals_within(1000, 2000) + arrivals_within(4000, 5000), 1250);
    }
}

static void test_two_stages_of_one_rate_are_as_one(void **state) {
    make_of(&plan, "10s:800", PLAN_POISSON, 1);
    make_of(&other, "5s:800,5s:800", PLAN_POISSON, 1);
    assert_int_equal(plan.count, other.count);
    for (size_t i = 0; i < plan.count; i++)
        assert_in_range(plan.arrivals[i].due_ns - other.arrivals[i].due_ns + 10, 0, 20);
}

/* ---- items */

static void test_items_move_no_arrival(void **state) {
    struct plan_shape shape = shape_of("10s:800");

    make(&plan, &shape);
    shape.items = 50;
    shape.zipf = 1.1;
    make(&other, &shape);
    assert_int_equal(plan.count, other.count);
    for (size_t i = 0; i < plan.count; i++) {
        assert_int_equal(plan.arrivals[i].due_ns, other.arrivals[i].due_ns);
        assert_int_equal(plan.arrivals[i].item, 0);
        assert_true(other.arrivals[i].item < 50);
    }
}

/* Compares the counts of `items` with the law 1 / rank^zipf by chi-squared. Its 99.9 % points are
 * 27.9 for 10 items and 49.7 for 24 (9 and 23 degrees of freedom). */
static void assert_popularity(uint32_t items, double zipf, double chi_squared_most) {
    struct plan_shape shape = shape_of("10s:10k");
    double counts[32] = {0}, norm = 0, chi_squared = 0;

    shape.items = items;
    shape.zipf = zipf;
    make(&plan, &shape);
    for (size_t i = 0; i < plan.count; i++)
        counts[plan.arrivals[i].item]++;
    for (uint32_t i = 0; i < items; i++)
        norm += pow((double)i + 1, -zipf);
    for (uint32_t i = 0; i < items; i++) {
        double expected = pow((double)i + 1, -zipf) / norm * (double)plan.count;

        chi_squared += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    assert_true(chi_squared < chi_squared_most);
}

static void test_items_follow_zipf_and_without_it_are_all_alike(void **state) {
    assert_popularity(10, 1.1, 27.9);
    assert_popularity(24, 2, 49.7);
    assert_popularity(10, 0, 27.9);
}

/* ---- repeats */

static void test_repeats_come_soon_after_with_the_same_item(void **state) {
    struct plan_shape shape = shape_of("10s:2k");
    size_t repeats = 0;
    double delay_ns = 0;

    shape.items = 20;
    shape.dup_rate = 0.05;
    make(&plan, &shape);
    assert_in_order();
    for (size_t i = 0; i < plan.count; i++) {
        const struct arrival *arrival = &plan.arrivals[i], *first;

        if (arrival->repeats == i)
            continue;
        repeats++;
        assert_true(arrival->repeats < i);
        first = &plan.arrivals[arrival->repeats];
        assert_int_equal(first->repeats, arrival->repeats);
        assert_int_equal(arrival->item, first->item);
        assert_in_range(arrival->due_ns - first->due_ns, 0, 100000000);
        delay_ns += (double)(arrival->due_ns - first->due_ns);
    }
    assert_int_equal(plan.count, 20000 + repeats);
    assert_in_range(repeats, 877, 1123); /* 4 standard deviations of 20,000 x 5 % */
    assert_true(fabs(delay_ns / (double)repeats - 50e6) < 4 * 29e6 / sqrt((double)repeats));
}

static void test_repeats_move_no_first_sending(void **state) {
    struct plan_shape shape = shape_of("5s:800");
    size_t first = 0;

    shape.items = 7;
    make(&plan, &shape);
    shape.dup_rate = 0.5;
    make(&other, &shape);
    for (size_t i = 0; i < other.count; i++) {
        if (other.arrivals[i].repeats != i)
            continue;
        assert_int_equal(other.arrivals[i].due_ns, plan.arrivals[first].due_ns);
        assert_int_equal(other.arrivals[i].item, plan.arrivals[first].item);
        first++;
    }
    assert_int_equal(first, plan.count);
}

static void test_all_may_be_repeated(void **state) {
    struct plan_shape shape = shape_of("1s:800");

    shape.dup_rate = 1;
    make(&plan, &shape);
    assert_int_equal(plan.count, 1600);
}

/* ---- words */

static void test_skew_words_are_read(void **state) {
    static const char *const bad[] = {"",        "zipf",      "zipf:",    "zipf:x",
                                      "zipf:-1", "zipf:1.1x", "zipf:nan", "zipf:1e1",
                                      "zipf:11", "zipf:1.",   "Zipf:1"};
    double zipf;

    assert_int_equal(plan_parse_skew("uniform", &zipf), 0);
    assert_true(zipf == 0);
    assert_int_equal(plan_parse_skew("zipf:1.1", &zipf), 0);
    assert_true(zipf == 1.1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(plan_parse_skew(bad[i], &zipf), -1);
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

static void make_and_free(void *shape) {
    if (plan_make(&plan, shape) == 0)
        plan_free(&plan);
}

static void test_no_memory_for_a_plan_is_told(void **state) {
    struct plan_shape shape = shape_of("1s:100");

    fault_each_allocation(make_and_free, &shape);
    shape.items = 3;
    shape.dup_rate = 0.5;
    fault_each_allocation(make_and_free, &shape);
}

#define PLANNED(test) cmocka_unit_test_teardown(test, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        PLANNED(test_same_seed_gives_the_same_plan_of_any_shape),
        PLANNED(test_items_and_repeats_are_unrelated_to_the_gaps),
        PLANNED(test_another_seed_gives_another_plan),
        PLANNED(test_poisson_arrivals_fill_their_span_in_order),
        PLANNED(test_poisson_gaps_are_exponential),
        PLANNED(test_constant_arrivals_are_evenly_spaced),
        PLANNED(test_the_first_arrivals_of_seed_one_never_change),
        PLANNED(test_an_empty_plan_is_a_plan),
        PLANNED(test_stages_are_read),
        PLANNED(test_bad_stages_are_refused_with_a_reason),
        PLANNED(test_no_more_stages_than_there_is_room_for),
        PLANNED(test_constant_arrivals_on_a_ramp_are_at_equal_steps_of_the_count),
        PLANNED(test_poisson_arrivals_follow_the_stages),
        PLANNED(test_nothing_comes_in_a_stage_of_rate_zero),
        PLANNED(test_two_stages_of_one_rate_are_as_one),
        PLANNED(test_items_move_no_arrival),
        PLANNED(test_items_follow_zipf_and_without_it_are_all_alike),
        PLANNED(test_repeats_come_soon_after_with_the_same_item),
        PLANNED(test_repeats_move_no_first_sending),
        PLANNED(test_all_may_be_repeated),
        PLANNED(test_skew_words_are_read),
        PLANNED(test_arrival_words_are_read),
        PLANNED(test_no_memory_for_a_plan_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
