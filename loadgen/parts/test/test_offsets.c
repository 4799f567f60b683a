/* The offset of a clock at each moment: the interval contains the true one, for all drifts and round
 * trips within their bounds; and a step is seen. */
#include "offsets.h"
#include "test.h"

#include <stdlib.h>

#define US      INT64_C(1000)
#define MS      INT64_C(1000000)
#define SAMPLES 40
#define EPOCH   INT64_C(1795248957000000) /* us */

static struct clock_sample samples[SAMPLES];
static struct offsets offsets;

/* The true offset at each moment: it drifts at a rate that changes, and may step. */
struct clock {
    int64_t off_ns, step_at_ns, step_ns;
    int64_t ppm[4]; /* in each quarter of 4 s */
};

static int64_t offset_of(const struct clock *clock, int64_t at_ns) {
    int64_t offset_ns = clock->off_ns + (at_ns >= clock->step_at_ns ? clock->step_ns : 0);

    for (int i = 0; i < 4; i++) {
        const int64_t from_ns = i * 1000 * MS, until_ns = from_ns + 1000 * MS;
        const int64_t in_ns = at_ns < from_ns ? 0 : at_ns < until_ns ? at_ns - from_ns : 1000 * MS;

        offset_ns += in_ns * clock->ppm[i] / 1000000;
    }
    return offset_ns;
}

static int64_t between(int64_t low, int64_t high) {
    return low + random() % (high - low + 1);
}

/* Each 100 ms, with round trips of up to `most_ns`. */
static void ask(const struct clock *clock, int64_t most_ns) {
    for (int64_t i = 0; i < SAMPLES; i++) {
        const int64_t asked_ns = i * 100 * MS, took_ns = between(20 * US, most_ns);
        const int64_t read_ns = asked_ns + between(0, took_ns);
        const int64_t told_ns = EPOCH * 1000 + read_ns + offset_of(clock, read_ns);

        samples[i] = (struct clock_sample){asked_ns, asked_ns + took_ns, told_ns / 1000};
    }
    offsets_free(&offsets);
    assert_int_equal(offsets_make(&offsets, samples, SAMPLES), 0);
}

/* Returns the widest interval. */
static int64_t assert_certain(const struct clock *clock) {
    int64_t widest_ns = 0;

    for (int64_t at_ns = -50 * MS; at_ns < 4050 * MS; at_ns += 777 * US) {
        const struct offset known = offsets_at(&offsets, at_ns);
        const int64_t offset_ns = EPOCH * 1000 + offset_of(clock, at_ns);

        assert_true(known.low_ns <= offset_ns && offset_ns <= known.high_ns);
        if (known.high_ns - known.low_ns > widest_ns)
            widest_ns = known.high_ns - known.low_ns;
    }
    return widest_ns;
}

static void test_the_interval_contains_the_offset(void **state) {
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct clock clock = {.step_at_ns = INT64_MAX};

        srandom(seed);
        clock.off_ns = between(-50 * MS, 50 * MS);
        for (int i = 0; i < 4; i++)
            clock.ppm[i] = between(-1000, 1000);
        ask(&clock, between(100 * US, 5 * MS));
        (void)assert_certain(&clock);
        assert_int_equal(offsets.steps, 0);
    }
}

/* The fastest round trips bound the moments of the slow ones, too. */
static void test_fast_round_trips_make_slow_ones_sharp(void **state) {
    const struct clock clock = {
        .off_ns = 3 * MS, .step_at_ns = INT64_MAX, .ppm = {200, 200, 200, 200}};

    ask(&clock, 200 * US);
    assert_in_range(assert_certain(&clock), 20 * US, 500 * US);
    samples[20].answered_ns += 80 * MS;
    assert_int_equal((offsets_free(&offsets), offsets_make(&offsets, samples, SAMPLES)), 0);
    assert_in_range(assert_certain(&clock), 20 * US, 700 * US);
}

static void test_a_step_is_seen_and_its_moment_is_open(void **state) {
    for (unsigned seed = 1; seed <= 100; seed++) {
        struct clock clock = {.off_ns = 0};

        srandom(seed);
        clock.step_at_ns = between(200, 3500) * MS;
        clock.step_ns = (seed % 2 == 0 ? 1 : -1) * between(2 * MS, 5000 * MS);
        ask(&clock, 300 * US);
        (void)assert_certain(&clock);
        assert_int_equal(offsets.steps, 1);
        assert_true(llabs(offsets.step_ns - clock.step_ns) < MS);
        assert_true(llabs(offsets.step_at_ns - clock.step_at_ns) <= 101 * MS);
    }
}

static void test_one_sample_bounds_all_moments(void **state) {
    const struct clock_sample one = {10 * MS, 11 * MS, EPOCH};
    struct offset known;

    offsets_free(&offsets);
    assert_int_equal(offsets_make(&offsets, &one, 1), 0);
    known = offsets_at(&offsets, 1010 * MS);
    assert_true(known.low_ns <= EPOCH * 1000 - 11 * MS - MS);
    assert_true(known.high_ns >= EPOCH * 1000 - 10 * MS + MS);
    known = offsets_at(&offsets, -990 * MS);
    assert_true(known.low_ns <= EPOCH * 1000 - 11 * MS - MS);
    offsets_free(&offsets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_interval_contains_the_offset),
        cmocka_unit_test(test_fast_round_trips_make_slow_ones_sharp),
        cmocka_unit_test(test_a_step_is_seen_and_its_moment_is_open),
        cmocka_unit_test(test_one_sample_bounds_all_moments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
