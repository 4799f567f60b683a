/* A part tells its times. Its run has the same percentiles then, and never a higher value. */
#include "tally.h"
#include "test.h"

#include <stdlib.h>

static struct recorder *part, *run;
static struct tally *told;

static int set_up(void **state) {
    part = recorder_make(0);
    run = recorder_make(0);
    told = calloc(1, sizeof *told);
    return part != NULL && run != NULL && told != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    recorder_free(part);
    recorder_free(run);
    free(told);
    return 0;
}

static void tell(void) {
    json_t *json = tally_json(told, part);

    assert_non_null(json);
    tally_add(json, run);
    json_decref(json);
}

static void test_the_run_has_the_buckets_of_its_part(void **state) {
    for (int line = 0; line < 3; line++) {
        for (int64_t i = 0; i < 1000; i++) {
            histogram_record(&part->latency, 50000 + i * i * 977 * line);
            histogram_record(&part->service, i);
            histogram_record(&part->lateness, i * 20000);
        }
        tell();
    }
    tell(); /* nothing is new */
    assert_int_equal(run->latency.count, 3000);
    assert_memory_equal(run->latency.buckets, part->latency.buckets, sizeof part->latency.buckets);
    assert_memory_equal(run->service.buckets, part->service.buckets, sizeof part->service.buckets);
    assert_in_range(run->latency.max, part->latency.max - part->latency.max / 1000,
                    part->latency.max);
    assert_true(run->latency.sum <= part->latency.sum);
    for (size_t i = histogram_bucket(TALLY_LATE_NS); i < HISTOGRAM_BUCKETS; i++)
        assert_int_equal(run->lateness.buckets[i], part->lateness.buckets[i]);
    assert_true(run->lateness.count < part->lateness.count);
}

static void test_what_is_no_tally_is_ignored(void **state) {
    static const char *const texts[] = {
        "", "x", "5", "5 ", "5 1", "-1 1 ", "99999 1 ", "5 1 99999 1 ", "18446744073709551615 1 "};

    tally_add(NULL, run);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *json = json_pack("{s:s, s:i}", "latency", texts[i], "service", 5);

        tally_add(json, run);
        json_decref(json);
    }
    assert_int_equal(run->latency.count, 1);
    assert_int_equal(run->service.count, 0);
}

#define TALLIED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TALLIED(test_the_run_has_the_buckets_of_its_part),
        TALLIED(test_what_is_no_tally_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
