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

static unsigned rank(const char *line, enum oracle_verdict verdict, uint32_t words) {
    struct expectation expectation = {.never = 1U << ORACLE_STUCK};
    struct oracle oracle = {.verdict = verdict};

    if (line != NULL)
        assert_int_equal(expect_read(line, "stop-held", &expectation, &why), 1);
    else
        expectation.verdicts = BIT(SAFE) | BIT(FENCED) | BIT(UNASKED);
    for (int i = 0; i < ORACLE_WORD_COUNT; i++)
        oracle.findings[i].count = words >> i & 1;
    return expect_rank(&expectation, &oracle);
}

static void test_the_worst_trial_is_the_one_that_is_not_allowed(void **state) {
    const uint32_t stuck = 1U << ORACLE_STUCK, late = 1U << ORACLE_LATE_TOLD;

    assert_true(rank(NULL, ORACLE_SAFE, stuck) > rank(NULL, ORACLE_SAFE, 0));
    assert_true(rank(NULL, ORACLE_SAFE, stuck) > rank(NULL, ORACLE_FENCED, late));
    assert_true(rank(NULL, ORACLE_TOLD, 0) > rank(NULL, ORACLE_SAFE, stuck));
    assert_true(rank(NULL, ORACLE_SAFE, late) > rank(NULL, ORACLE_SAFE, 0));
    assert_true(rank(NULL, ORACLE_FENCED, 0) > rank(NULL, ORACLE_SAFE, late));
    /* A fault that is expected need not show in each trial. */
    assert_true(rank("all=untold", ORACLE_UNTOLD, 0) > rank("all=untold", ORACLE_SAFE, stuck));
    assert_true(rank("all=told", ORACLE_UNTOLD, 0) > rank("all=told", ORACLE_TOLD, late));
    assert_true(rank("all=not-asked", ORACLE_UNTOLD, 0) > rank("all=not-asked", ORACLE_SAFE, 0));
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

static struct fault_case find(const char *name, enum fault_moment moment) {
    for (size_t i = 0; fault_at(i) != NULL; i++)
        if (strcmp(fault_at(i)->name, name) == 0)
            return (struct fault_case){fault_at(i), moment};
    fail();
    return (struct fault_case){NULL, moment};
}

static struct expectation model(const char *name, enum fault_moment moment, unsigned caps) {
    const struct fault_case cases[FAULT_PAIR] = {find(name, moment)};

    return expect_model(cases, caps);
}

static void test_the_model_depends_on_what_the_worker_says(void **state) {
    assert_true(model("stop", FAULT_AT_WRITE, 0).verdicts & BIT(TOLD));
    assert_false(model("stop", FAULT_AT_WRITE, LINE_CAP_FENCE).verdicts & BIT(TOLD));
    assert_false(model("stop", FAULT_AT_HELD, 0).verdicts & BIT(TOLD));
    assert_false(model("stop", FAULT_AT_WRITE, 0).verdicts & BIT(UNTOLD));
    assert_false(model("stop", FAULT_AT_HELD, 0).never & BIT(STUCK));
    assert_true(model("stop", FAULT_AT_HELD, LINE_CAP_TTL).never & BIT(STUCK));
    assert_true(model("work", FAULT_AT_HELD, LINE_CAP_RENEW).never & BIT(NO_RENEWAL));
}

static void test_a_pair_may_be_all_that_one_of_its_faults_may_be(void **state) {
    const struct fault_case held = find("stop", FAULT_AT_HELD),
                            write = find("stop", FAULT_AT_WRITE);
    const struct fault_case kill = find("kill", FAULT_AT_WAIT),
                            flush = find("flush", FAULT_AT_HELD);
    const struct fault_case work = find("work", FAULT_AT_HELD);
    const unsigned caps = LINE_CAP_FENCE | LINE_CAP_RENEW | LINE_CAP_TTL;
    const struct {
        struct fault_case cases[FAULT_PAIR];
        unsigned caps;
        bool may_be_told;
    } rows[] = {{{held, kill}, 0, false},    {{held, flush}, caps, true},
                {{flush, held}, caps, true}, {{kill, write}, caps, false},
                {{kill, write}, 0, true},    {{work, kill}, caps, false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct expectation pair = expect_model(rows[i].cases, rows[i].caps);

        assert_int_equal((pair.verdicts & BIT(TOLD)) != 0, rows[i].may_be_told);
        assert_false(pair.verdicts & BIT(UNTOLD));
        assert_int_equal((pair.never & BIT(NO_RENEWAL)) != 0, rows[i].caps != 0);
        assert_int_equal((pair.never & BIT(STUCK)) != 0, rows[i].caps != 0);
    }
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
        cmocka_unit_test(test_the_worst_trial_is_the_one_that_is_not_allowed),
        cmocka_unit_test(test_a_line_of_another_row_is_none),
        cmocka_unit_test(test_a_mistake_is_told_with_what_there_is),
        cmocka_unit_test(test_the_model_depends_on_what_the_worker_says),
        cmocka_unit_test(test_a_pair_may_be_all_that_one_of_its_faults_may_be),
        cmocka_unit_test(test_an_expectation_has_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
