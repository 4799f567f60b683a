/* The two lists of the command line: strategies with their options, and what is expected of them.
 */
#include "expect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct strategy_option no_options[] = {{NULL, NULL}};
static const struct strategy_option common[] = {
    {"work", "2ms"}, {"wait", ""}, {"ttl", "3s"}, {NULL, NULL}};

static struct strategy_list list;
static struct expectation expectations[STRATEGY_LIST_MAX];
static char why[256];

static int parse(const char *text, const struct strategy_option *options) {
    return strategy_list_parse(text, options, &list, why, sizeof why);
}

static int expect(const char *strategies, const char *text) {
    assert_int_equal(parse(strategies, no_options), 0);
    return expect_parse(text, &list, expectations, why, sizeof why);
}

static void test_options_belong_to_the_strategy_before_them(void **state) {
    (void)state;
    assert_int_equal(parse("redis,ttl=2s,work=1ms,none", no_options), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "redis");
    assert_string_equal(list.items[0].spec, "redis,ttl=2s,work=1ms");
    assert_string_equal(list.items[1].name, "none");
    assert_string_equal(list.items[1].spec, "none");
}

static void test_common_options_are_added_where_they_are_not_given(void **state) {
    (void)state;
    assert_int_equal(parse("redis,ttl=2s,none,work=0,atomic", common), 0);
    assert_string_equal(list.items[0].given, "redis,ttl=2s");
    assert_string_equal(list.items[0].spec, "redis,ttl=2s,work=2ms");
    assert_string_equal(list.items[1].spec, "none,work=0,ttl=3s");
    assert_string_equal(list.items[2].spec, "atomic,work=2ms,ttl=3s");
}

static void test_bad_lists_are_refused_with_a_reason(void **state) {
    static const char *const bad[] = {"",       ",", "none,",   ",none", "none,,redis",
                                      "ttl=2s", "=", "a=b,none"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why[0] = '\0';
        assert_int_equal(parse(bad[i], common), -1);
        assert_non_null(strstr(why, "--strategy"));
    }
}

static void test_lists_and_specs_that_are_too_long_are_refused(void **state) {
    char text[1000] = "a";

    (void)state;
    for (int i = 1; i < STRATEGY_LIST_MAX; i++)
        strcat(text, ",a");
    assert_int_equal(parse(text, common), 0);
    strcat(text, ",a");
    assert_int_equal(parse(text, common), -1);
    memset(text, 'x', 80);
    text[80] = '\0';
    assert_int_equal(parse(text, common), -1);
    snprintf(text, sizeof text, "none,fail=%0189d", 0); /* 199 bytes, before work=2ms is added */
    assert_int_equal(parse(text, no_options), 0);
    assert_int_equal(parse(text, common), -1);
}

static void test_strategies_are_expected_valid_unless_told(void **state) {
    (void)state;
    assert_int_equal(expect("none,mutex,redis", "none=TWIN,mutex=VIOLATED"), 0);
    assert_int_equal(expectations[0].kind, VERDICT_VIOLATED);
    assert_int_equal(expectations[0].anomaly, ANOMALY_TWIN);
    assert_false(expectations[0].is_any);
    assert_true(expectations[1].is_any);
    assert_int_equal(expectations[2].kind, VERDICT_VALID);
}

static void test_an_expectation_holds_for_every_spec_of_its_name(void **state) {
    (void)state;
    assert_int_equal(expect("redis,ttl=1s,redis,ttl=2s,none", "redis=EARLY-SOLD-OUT,none=VALID"),
                     0);
    assert_int_equal(expectations[0].anomaly, ANOMALY_EARLY_SOLD_OUT);
    assert_int_equal(expectations[1].anomaly, ANOMALY_EARLY_SOLD_OUT);
    assert_int_equal(expectations[2].kind, VERDICT_VALID);
}

static void test_bad_expectations_are_refused_with_a_reason(void **state) {
    static const char *const bad[] = {"none",  "none=",      "none=twin",   "none=SAFE",
                                      "=TWIN", "mutex=TWIN", "none=TWIN,,", "none=TWIN=TWIN"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why[0] = '\0';
        assert_int_equal(expect("none", bad[i]), -1);
        assert_non_null(strstr(why, "--expect"));
    }
}

static enum expect_result check(const char *text, enum verdict_kind kind, enum anomaly anomaly) {
    struct verdict verdict = {.kind = kind};

    if (kind == VERDICT_VIOLATED)
        verdict.found[anomaly].count = 1;
    assert_int_equal(expect("none", text), 0);
    return expect_hold(&expectations[0], &verdict);
}

static void test_a_verdict_meets_its_expectation_or_fails_it(void **state) {
    (void)state;
    assert_int_equal(check("", VERDICT_VALID, 0), EXPECT_MET);
    assert_int_equal(check("", VERDICT_VIOLATED, ANOMALY_TWIN), EXPECT_FAILED);
    assert_int_equal(check("none=TWIN", VERDICT_VIOLATED, ANOMALY_TWIN), EXPECT_MET);
    assert_int_equal(check("none=TWIN", VERDICT_VIOLATED, ANOMALY_LEAK), EXPECT_FAILED);
    assert_int_equal(check("none=TWIN", VERDICT_VALID, 0), EXPECT_FAILED);
    assert_int_equal(check("none=VIOLATED", VERDICT_VIOLATED, ANOMALY_LEAK), EXPECT_MET);
    assert_int_equal(check("none=VIOLATED", VERDICT_INCONCLUSIVE, 0), EXPECT_OPEN);
    assert_int_equal(check("", VERDICT_INCONCLUSIVE, 0), EXPECT_OPEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_belong_to_the_strategy_before_them),
        cmocka_unit_test(test_common_options_are_added_where_they_are_not_given),
        cmocka_unit_test(test_bad_lists_are_refused_with_a_reason),
        cmocka_unit_test(test_lists_and_specs_that_are_too_long_are_refused),
        cmocka_unit_test(test_strategies_are_expected_valid_unless_told),
        cmocka_unit_test(test_an_expectation_holds_for_every_spec_of_its_name),
        cmocka_unit_test(test_bad_expectations_are_refused_with_a_reason),
        cmocka_unit_test(test_a_verdict_meets_its_expectation_or_fails_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
