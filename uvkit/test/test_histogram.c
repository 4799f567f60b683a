/* Histograms: percentiles against an exact sort, the edges of buckets, and merging. */
#include "histogram.h"
#include "test.h"

#define VALUES 20000

static struct histogram *one, *other;
static int64_t values[VALUES];

static int set_up(void **state) {
    one = calloc(1, sizeof *one);
    other = calloc(1, sizeof *other);
    srandom(7);
    return one != NULL && other != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    free(one);
    free(other);
    return 0;
}

static int by_value(const void *a, const void *b) {
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Spread over all magnitudes up to HISTOGRAM_MAX, like latencies. */
static int64_t random_value(void) {
    int64_t wide = (int64_t)random() << 20 ^ random();

    return (wide & HISTOGRAM_MAX) >> (random() % 42);
}

static void assert_close(int64_t got, int64_t exact) {
    assert_true(got >= exact);
    assert_true((got - exact) * 1000 <= exact);
}

static void test_percentiles_are_within_a_thousandth_of_the_exact_ones(void **state) {
    static const double percents[] = {0, 0.01, 1, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100};

    for (size_t i = 0; i < VALUES; i++) {
        values[i] = random_value();
        histogram_record(one, values[i]);
    }
    qsort(values, VALUES, sizeof *values, by_value);
    assert_int_equal(one->count, VALUES);
    assert_int_equal(one->min, values[0]);
    assert_int_equal(one->max, values[VALUES - 1]);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        size_t rank = (size_t)(percents[i] * VALUES / 100 + 0.5);

        assert_close(histogram_percentile(one, percents[i]), values[rank > 0 ? rank - 1 : 0]);
    }
}

static void test_a_percent_asks_for_no_value_more_than_it_means(void **state) {
    for (int64_t i = 1; i <= 1000; i++)
        histogram_record(one, i);
    assert_int_equal(histogram_percentile(one, 99.9), 999);
    assert_int_equal(histogram_percentile(one, 50), 500);
    assert_int_equal(histogram_percentile(one, 0), 1);
    assert_int_equal(histogram_percentile(one, 100), 1000);
    assert_true(histogram_mean(one) > 500.499 && histogram_mean(one) < 500.501);
}

static void test_buckets_follow_each_other_without_gap(void **state) {
    assert_int_equal(histogram_bucket_low(0), 0);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        int64_t low = histogram_bucket_low(i), high = histogram_bucket_low(i + 1) - 1;

        assert_int_equal(histogram_bucket(low), i);
        assert_int_equal(histogram_bucket(high), i);
        assert_int_equal(histogram_bucket(high + 1), i + 1 < HISTOGRAM_BUCKETS ? i + 1 : i);
        assert_true((high - low) * 1000 <= low);
    }
    assert_int_equal(histogram_bucket_low(HISTOGRAM_BUCKETS), HISTOGRAM_MAX + 1);
}

static void test_the_first_wide_bucket_begins_at_2048(void **state) {
    assert_int_equal(histogram_bucket(2047), 2047);
    assert_int_equal(histogram_bucket(2048), 2048);
    assert_int_equal(histogram_bucket(2049), 2048);
    assert_int_equal(histogram_bucket(2050), 2049);
}

static void test_values_out_of_range_count_as_the_nearest(void **state) {
    histogram_record(one, -5);
    histogram_record(one, INT64_MIN);
    assert_int_equal(one->buckets[0], 2);
    assert_int_equal(one->min, 0);
    histogram_record(one, HISTOGRAM_MAX + 1);
    histogram_record(one, INT64_MAX);
    assert_int_equal(one->buckets[HISTOGRAM_BUCKETS - 1], 2);
    assert_int_equal(one->max, HISTOGRAM_MAX);
    assert_int_equal(histogram_percentile(one, 100), HISTOGRAM_MAX);
}

static void test_an_empty_histogram_says_0(void **state) {
    assert_int_equal(histogram_percentile(one, 50), 0);
    assert_true(histogram_mean(one) <= 0);
    assert_int_equal(histogram_percentile(one, 100), 0);
}

static void test_a_sum_of_two_is_as_if_recorded_in_one(void **state) {
    struct histogram *both = calloc(1, sizeof *both);

    assert_non_null(both);
    histogram_add(one, other);
    assert_int_equal(one->count, 0);
    for (size_t i = 0; i < VALUES; i++) {
        int64_t value = random_value() + 1;

        histogram_record(i % 3 ? one : other, value);
        histogram_record(both, value);
    }
    histogram_add(one, other);
    memset(other, 0, sizeof *other);
    histogram_add(one, other);
    assert_int_equal(one->count, both->count);
    assert_int_equal(one->min, both->min);
    assert_int_equal(one->max, both->max);
    assert_memory_equal(one->buckets, both->buckets, sizeof one->buckets);
    free(both);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_percentiles_are_within_a_thousandth_of_the_exact_ones),
        TEST(test_a_percent_asks_for_no_value_more_than_it_means),
        TEST(test_buckets_follow_each_other_without_gap),
        TEST(test_the_first_wide_bucket_begins_at_2048),
        TEST(test_values_out_of_range_count_as_the_nearest),
        TEST(test_an_empty_histogram_says_0),
        TEST(test_a_sum_of_two_is_as_if_recorded_in_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
