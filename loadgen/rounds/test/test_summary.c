/* What the exit code of a run is that ended since its servers were down. */
#include "options_fixture.h"
#include "test.h"

#include "exit_code.h"
#include "summary.h"

static struct options options;
static struct round one;
static struct summary summary;

static int set_up(void **state) {
    options_fill(&options, "atomic", "");
    one = (struct round){.item = &options.list.items[0], .is_left_down = true};
    one.recorder = recorder_make(0);
    return one.recorder != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    round_free(&one);
    return 0;
}

static int exit_code_of(enum verdict_kind kind) {
    int exit_code;

    one.verdict.kind = kind;
    one.verdict.found[ANOMALY_TWIN].count = kind == VERDICT_VIOLATED;
    assert_int_equal(summary_make(&summary, &options, &one, 1), 0);
    exit_code = summary.exit_code;
    assert_true(summary.is_left_down == one.is_left_down);
    summary_free(&summary);
    return exit_code;
}

static void test_a_run_that_lacks_rounds_is_not_as_expected(void **state) {
    assert_int_equal(exit_code_of(VERDICT_VALID), EXIT_INCONCLUSIVE);
    assert_int_equal(exit_code_of(VERDICT_INCONCLUSIVE), EXIT_INCONCLUSIVE);
    one.is_left_down = false;
    assert_int_equal(exit_code_of(VERDICT_VALID), EXIT_AS_EXPECTED);
}

static void test_what_was_found_before_counts(void **state) {
    assert_int_equal(exit_code_of(VERDICT_VIOLATED), EXIT_UNEXPECTED);
    one.is_interrupted = true;
    assert_int_equal(exit_code_of(VERDICT_VALID), EXIT_INTERRUPTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_that_lacks_rounds_is_not_as_expected, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_found_before_counts, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
