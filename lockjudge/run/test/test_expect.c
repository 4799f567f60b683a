/* Expectations: read, held against rows, and told; and the model without them. */
#include "expect.h"
#include "line.h"
#include "test.h"

#include <string.h>

#define BIT(verdict) (1U << ORACLE_##verdict)

static struct why why;

static bool holds(const char *line, enum oracle_verdict verdict, int word) {
    struct report_row row = {.verdict = verdict};
    struct expectation expectation;

    if (word >= 0)
        row.oracle.findings[word].count = 1;
    assert_int_equal(expect_read(line, "stop-held", &expectation, &why), 1);
    return expect_hold(&expectation, &row);
}

static void test_a_line_names_verdicts_and_words(void **state) {
    assert_true(holds("stop-held=safe", ORACLE_SAFE, -1));
    assert_true(holds("stop-held=safe", ORACLE_SAFE, ORACLE_STUCK));
    assert_false(holds("stop-held=safe", ORACLE_UNTOLD, -1));
    assert_true(holds("stop-held=told|untold", ORACLE_UNTOLD, -1));
    assert_false(holds("stop-held=safe+STUCK", ORACLE_SAFE, -1));
    assert_true(holds("stop-held=safe|fenced+STUCK", ORACLE_FENCED, ORACLE_STUCK));
    assert_true(holds("all=untold", ORACLE_UNTOLD, -1));
    assert_true(holds("all=untold", ORACLE_UNJUDGED, -1)); /* the exit code tells it */
}

static void test_a_line_of_another_row_is_none(void **state) {
    struct expectation expectation;

    assert_int_equal(expect_read("stop-write=safe", "stop-held", &expectation, &why), 0);
    assert_int_equal(expect_read("stop-hel=safe", "stop-held", &expectation, &why), 0);
}

static void test_a_mistake_is_told_with_what_there_is(void **state) {
    static const struct {
        const char *line, *reason;
    } rows[] = {
        {"stop-held", "--expect takes ROW=VERDICT"},
        {"stop-held=", "no verdict \"\"; these are: safe|fenced|told|untold|not-judged|not-asked"},
        {"stop-held=safe|", "no verdict \"\""},
        {"stop-held=good+STUCK", "no verdict \"good\""},
        {"stop-held=safe+", "no word \"\""},
        {"stop-held=safe+STUCK+X", "no word \"X\"; these are: TWIN-UNAWARE|STALE-WRITE"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct expectation expectation;

        assert_int_equal(expect_read(rows[i].line, "stop-held", &expectation, &why), -1);
        assert_non_null(strstr(why.text, rows[i].reason));
    }
}

static void test_the_model_depends_on_what_the_worker_says(void **state) {
    const struct fault *stop = fault_at(0);

    for (size_t i = 0; stop != NULL && strcmp(stop->name, "stop") != 0; i++)
        stop = fault_at(i);
    assert_non_null(stop);
    assert_true(expect_model(stop, FAULT_AT_WRITE, 0) & BIT(TOLD));
    assert_false(expect_model(stop, FAULT_AT_WRITE, LINE_CAP_FENCE) & BIT(TOLD));
    assert_false(expect_model(stop, FAULT_AT_HELD, 0) & BIT(TOLD));
    assert_false(expect_model(stop, FAULT_AT_WRITE, 0) & BIT(UNTOLD));
    assert_false(expect_model_words(0) & BIT(STUCK));
    assert_true(expect_model_words(LINE_CAP_TTL) & BIT(STUCK));
    assert_true(expect_model_words(LINE_CAP_RENEW) & BIT(NO_RENEWAL));
}

static void test_an_expectation_has_a_text(void **state) {
    const struct expectation expectation = {.verdicts = BIT(SAFE) | BIT(FENCED),
                                            .must = BIT(STARVED),
                                            .never = BIT(STUCK) | BIT(FENCE_FALLS)};
    char text[200];

    expect_text(&expectation, text, sizeof text);
    assert_string_equal(text, "safe|fenced+STARVED, not FENCE-FALLS, STUCK");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_names_verdicts_and_words),
        cmocka_unit_test(test_a_line_of_another_row_is_none),
        cmocka_unit_test(test_a_mistake_is_told_with_what_there_is),
        cmocka_unit_test(test_the_model_depends_on_what_the_worker_says),
        cmocka_unit_test(test_an_expectation_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
