/* Thresholds of retries, for each unit sold, and of who was overtaken. */
#include "record.h"
#include "test.h"
#include "threshold.h"
#include "verdict.h"

static struct recorder *recorder;

static int set_up(void **state) {
    recorder = recorder_make(100);
    return recorder != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    recorder_free(recorder);
    return 0;
}

static bool holds(const char *text, const struct verdict *verdict) {
    struct threshold_list list;
    struct why why;
    double measured;

    if (threshold_parse(text, &list, &why) != 0)
        fail_msg("%s", why.text);
    return threshold_holds(&list.items[0], recorder, verdict, &measured);
}

static void test_retries_are_counted_for_each_unit_sold(void **state) {
    const struct verdict verdict = {.kind = VERDICT_VALID};

    recorder->retries = 30;
    recorder->by_outcome[RECORD_SOLD] = 20;
    assert_true(holds("retries>1.4", &verdict));
    assert_false(holds("retries>1.5", &verdict));
    assert_true(holds("retries<1", NULL)); /* in flight: more may be sold */
}

static void test_without_a_sale_no_limit_of_retries_is_kept(void **state) {
    const struct verdict verdict = {.kind = VERDICT_VALID};

    recorder->retries = 30;
    assert_false(holds("retries>=0", &verdict));
    assert_false(holds("retries<100", &verdict));
}

static void test_retries_are_told_with_a_decimal(void **state) {
    struct threshold_list list;
    char text[THRESHOLD_VALUE];
    struct why why;

    assert_int_equal(threshold_parse("retries<2", &list, &why), 0);
    assert_string_equal(threshold_value(&list.items[0], 1.5, text), "1.5");
}

static void test_the_most_overtaken_is_held_against_the_whole_round(void **state) {
    const struct verdict verdict = {.kind = VERDICT_VALID};

    recorder->overtaken = 3;
    assert_true(holds("overtaken<=3", &verdict));
    assert_false(holds("overtaken==0", &verdict));
    assert_true(holds("overtaken==0", NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_retries_are_counted_for_each_unit_sold, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_without_a_sale_no_limit_of_retries_is_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_most_overtaken_is_held_against_the_whole_round,
                                        set_up, tear_down),
        cmocka_unit_test(test_retries_are_told_with_a_decimal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
