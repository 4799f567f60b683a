/* Two lists of the command line: strategies with their options, and the expected verdicts. */
#include "expect.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const struct strategy_option no_options[] = {{.name = NULL}};
static const struct strategy_option common[] = {{.name = "work", .value = "2ms"},
                                                {.name = "wait", .value = ""},
                                                {.name = "ttl", .value = "3s"},
                                                {.name = NULL}};

static struct strategy_list list;
static struct expectation expectations[STRATEGY_LIST_MAX];
static struct why why;

static int parse(const char *text, const struct strategy_option *options) {
    return strategy_list_parse(text, options, &list, &why);
}

static int expect(const char *strategies, const char *text) {
    assert_int_equal(parse(strategies, no_options), 0);
    return expect_parse(text, &list, expectations, &why);
}

static void test_options_belong_to_the_strategy_before_them(void **state) {
    assert_int_equal(parse("redis,ttl=2s,work=1ms,none", no_options), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "redis");
    assert_string_equal(list.items[0].spec, "redis,ttl=2s,work=1ms");
    assert_string_equal(list.items[1].name, "none");
    assert_string_equal(list.items[1].spec, "none");
}

static void test_common_options_are_added_where_they_are_not_given(void **state) {
    assert_int_equal(parse("redis,ttl=2s,none,work=0,atomic", common), 0);
    assert_string_equal(list.items[0].given, "redis,ttl=2s");
    assert_string_equal(list.items[0].spec, "redis,ttl=2s,work=2ms");
    assert_string_equal(list.items[1].spec, "none,work=0,ttl=3s");
    assert_string_equal(list.items[2].spec, "atomic,work=2ms,ttl=3s");
}

static void test_bad_lists_are_refused_with_a_reason(void **state) {
    static const char *const bad[] = {"",       ",", "none,",   ",none", "none,,redis",
                                      "ttl=2s", "=", "a=b,none"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why.text[0] = '\0';
        assert_int_equal(parse(bad[i], common), -1);
        assert_non_null(strstr(why.text, "--strategy"));
    }
}

static void test_lists_and_specs_that_are_too_long_are_refused(void **state) {
    char text[1000] = "a";

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

static const char *name_of(size_t i) {
    static char text[EXPECT_TEXT];

    return expect_name(&expectations[i], text);
}

static void test_strategies_are_expected_valid_unless_told(void **state) {
    assert_int_equal(expect("none,mutex,redis", "none=TWIN+OVERSELL+STALE?,mutex=VIOLATED"), 0);
    assert_string_equal(name_of(0), "OVERSELL+TWIN+STALE?");
    assert_string_equal(name_of(1), "VIOLATED");
    assert_string_equal(name_of(2), "VALID");
}

static void test_an_expectation_holds_for_every_spec_of_its_name(void **state) {
    assert_int_equal(expect("redis,ttl=1s,redis,ttl=2s,none", "redis=EARLY-SOLD-OUT,none=VALID"),
                     0);
    assert_string_equal(name_of(0), "EARLY-SOLD-OUT");
    assert_string_equal(name_of(1), "EARLY-SOLD-OUT");
    assert_string_equal(name_of(2), "VALID");
}

static void test_all_anomalies_can_be_expected_at_once(void **state) {
#define X(id, name, text) name "?+"
    static const char all[] = ANOMALIES(X);
#undef X
    char text[256];

    snprintf(text, sizeof text, "none=%.*s", (int)sizeof all - 2, all);
    assert_int_equal(expect("none", text), 0);
    assert_string_equal(name_of(0), text + strlen("none="));
}

static void test_bad_expectations_are_refused_with_a_reason(void **state) {
    static const struct {
        const char *text, *why;
    } bad[] = {{"none", "a = is missing"},
               {"none=", "no anomaly \"\""},
               {"none=twin", "no anomaly \"twin\""},
               {"none=TWIN+SAFE", "no anomaly \"SAFE\""},
               {"none=TWIN+", "no anomaly \"\""},
               {"none=TWIN??", "no anomaly \"TWIN??\""},
               {"none=?", "no anomaly \"?\""},
               {"none=VALID+TWIN", "no anomaly \"VALID\""},
               {"none=TWIN+LEAK+TWIN?", "\"TWIN?\" is named twice"},
               {"=TWIN", "names \"\""},
               {"mutex=TWIN", "names \"mutex\", which is not in --strategy"},
               {"none=TWIN,,", "a = is missing"},
               {"none=TWIN=TWIN", "no anomaly \"TWIN=TWIN\""}};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(expect("none", bad[i].text), -1);
        if (strncmp(why.text, "--expect", 8) != 0 || strstr(why.text, bad[i].why) == NULL)
            fail_msg("%s: %s", bad[i].text, why.text);
    }
    assert_int_equal(expect("none", "none=BAD"), -1);
    assert_non_null(strstr(why.text, "EARLY-SOLD-OUT")); /* lists the anomalies */
    assert_non_null(strstr(why.text, "STALE"));
}

#define BIT(anomaly) (1U << ANOMALY_##anomaly)

/* Makes a verdict with these anomalies; none: VALID. */
static struct verdict found(unsigned anomalies) {
    struct verdict verdict = {.kind = anomalies != 0 ? VERDICT_VIOLATED : VERDICT_VALID};

    for (int i = 0; i < ANOMALY_COUNT; i++)
        verdict.found[i].count = (anomalies >> i & 1) * 7;
    return verdict;
}

/* The expectation for `none`, the found anomalies, and the sentence about a failed expectation. */
static void test_a_verdict_meets_its_expectation_or_it_is_told_what_was_missed(void **state) {
    static const char wanted[] = "none=OVERSELL+TWIN+STALE?+LEAK?";
    static const struct {
        const char *text;
        unsigned found;
        const char *told; /* NULL: the expectation is met */
    } cases[] = {
        {"", 0, NULL},
        {"", BIT(TWIN), "VALID was expected"},
        {"none=TWIN", BIT(TWIN), NULL},
        {"none=TWIN", BIT(LEAK), "TWIN was expected, and LEAK was not"},
        {"none=TWIN", BIT(GHOST), "TWIN was expected, and GHOST was not"},
        {"none=TWIN", 0, "TWIN was expected"},
        {"none=VIOLATED", BIT(LEAK), NULL},
        {"none=VIOLATED", 0, "VIOLATED was expected"},
        {"none=TWIN", BIT(TWIN) | BIT(GHOST), "GHOST was not expected"},
        {wanted, BIT(OVERSELL) | BIT(TWIN), NULL},
        {wanted, BIT(OVERSELL) | BIT(TWIN) | BIT(STALE) | BIT(LEAK), NULL},
        {wanted, BIT(OVERSELL) | BIT(TWIN) | BIT(GHOST), "GHOST was not expected"},
        {wanted, BIT(OVERSELL) | BIT(LEAK), "TWIN was expected"},
        {"none=LEAK?", 0, NULL},
        {"none=LEAK?", BIT(LEAK), NULL},
        {"none=LEAK?", BIT(STALE), "STALE was not expected"},
        {"none=OVERSELL+TWIN+LEAK?", BIT(TWIN), "OVERSELL was expected"},
        {"none=OVERSELL+TWIN", 0, "OVERSELL+TWIN was expected"},
    };
    char told[EXPECT_MISS];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct verdict verdict = found(cases[i].found);

        assert_int_equal(expect("none", cases[i].text), 0);
        if (expect_hold(&expectations[0], &verdict) != (cases[i].told ? EXPECT_FAILED : EXPECT_MET))
            fail_msg("%s, case %zu", cases[i].text, i);
        if (cases[i].told != NULL)
            assert_string_equal(expect_tell(&expectations[0], &verdict, told), cases[i].told);
    }
}

static void test_an_open_verdict_leaves_its_expectation_open(void **state) {
    static const struct verdict open = {.kind = VERDICT_INCONCLUSIVE};

    assert_int_equal(expect("none", "none=VIOLATED"), 0);
    assert_int_equal(expect_hold(&expectations[0], &open), EXPECT_OPEN);
    assert_int_equal(expect("none", ""), 0);
    assert_int_equal(expect_hold(&expectations[0], &open), EXPECT_OPEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_belong_to_the_strategy_before_them),
        cmocka_unit_test(test_common_options_are_added_where_they_are_not_given),
        cmocka_unit_test(test_bad_lists_are_refused_with_a_reason),
        cmocka_unit_test(test_lists_and_specs_that_are_too_long_are_refused),
        cmocka_unit_test(test_strategies_are_expected_valid_unless_told),
        cmocka_unit_test(test_an_expectation_holds_for_every_spec_of_its_name),
        cmocka_unit_test(test_all_anomalies_can_be_expected_at_once),
        cmocka_unit_test(test_bad_expectations_are_refused_with_a_reason),
        cmocka_unit_test(test_a_verdict_meets_its_expectation_or_it_is_told_what_was_missed),
        cmocka_unit_test(test_an_open_verdict_leaves_its_expectation_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
