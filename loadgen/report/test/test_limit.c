/* Limits of `diff`: each metric of a summary, the check of a limit, and missing metrics. */
#include "limit.h"
#include "test.h"

#include <math.h>
#include <string.h>

static json_t *a, *b;
static struct threshold_list list;
static struct limit_outcomes outcomes;
static struct why why;

static int tear_down(void **state) {
    limit_outcomes_free(&outcomes);
    json_decref(a);
    json_decref(b);
    a = b = NULL;
    return 0;
}

/* A run of one strategy with these members; ' stands for ". */
static json_t *run_of(const char *members) {
    char text[2048];
    json_error_t error;
    json_t *json;

    snprintf(text, sizeof text, "{'strategies': [{'strategy': 'x'%s%s}]}",
             members[0] != '\0' ? ", " : "", members);
    for (char *at = text; *at != '\0'; at++)
        *at = (char)(*at == '\'' ? '"' : *at);
    json = json_loads(text, 0, &error);
    if (json == NULL)
        fail_msg("%s: %s", error.text, text);
    return json;
}

static int hold(const char *limit, const char *members_a, const char *members_b) {
    (void)tear_down(NULL);
    a = run_of(members_a);
    b = run_of(members_b);
    if (threshold_parse_limits(limit, &list, &why) != 0)
        fail_msg("%s", why.text);
    return limit_outcomes_make(&outcomes, &list, a, b, &why);
}

static void assert_held(const char *limit, const char *members_a, const char *members_b,
                        bool is_kept) {
    if (hold(limit, members_a, members_b) != 0)
        fail_msg("%s", why.text);
    assert_int_equal(outcomes.count, 1);
    if (outcomes.items[0].holds != is_kept)
        fail_msg("%s, %s, %s: %s", limit, members_a, members_b, is_kept ? "missed" : "kept");
}

#define P50(ms)    "'latency_ms': {'count': 9, 'p50': " ms "}"
#define BUSY(many) "'offered': 200, 'outcomes': {'busy': " many ", 'sold_out': 7}"
#define TWIN(many) "'verdict': 'VIOLATED', 'anomalies': [{'name': 'TWIN', 'count': " many "}]"
#define CLEAN      "'verdict': 'VALID', 'anomalies': []"
#define OPEN       "'verdict': 'INCONCLUSIVE', 'offered': 9, 'anomalies': []"

static void test_a_part_of_a_is_the_limit(void **state) {
    assert_held("p(50)<+20%", P50("10"), P50("11.9"), true);
    assert_held("p(50)<+20%", P50("10"), P50("12.1"), false);
    assert_held("p(50)<+20%", P50("10"), P50("1"), true);
    assert_held("p(50)<-20%", P50("10"), P50("9"), false);
    assert_held("p(50)<-20%", P50("10"), P50("7"), true);
    assert_held("rate>-10%", "'achieved_rate': 800", "'achieved_rate': 721", true);
    assert_held("rate>-10%", "'achieved_rate': 800", "'achieved_rate': 719", false);
    assert_held("p(50)<+20%", P50("4"), P50("164"), false); /* × 41 */
    assert_true(fabs(outcomes.items[0].allowed - 4.8e6) < 1);
}

static void test_from_nothing_any_rise_is_endless(void **state) {
    assert_held("busy<+20%", BUSY("0"), BUSY("0"), true);
    assert_held("busy<+20%", BUSY("0"), BUSY("1"), false);
    assert_held("busy>-20%", BUSY("0"), BUSY("1"), true);
}

static void test_a_difference_to_a_is_in_the_metrics_unit(void **state) {
    assert_held("p(50)<=+50ms", P50("10"), P50("60"), true);
    assert_held("p(50)<=+50ms", P50("10"), P50("61"), false);
    assert_held("twin<=+0", TWIN("3"), TWIN("3"), true);
    assert_held("twin<=+0", TWIN("3"), TWIN("4"), false);
    assert_held("sold_out>=-2", BUSY("0"), "'outcomes': {'sold_out': 4}", false);
}

static void test_without_a_sign_b_counts_alone(void **state) {
    assert_held("twin==0", "", CLEAN, true);
    assert_held("anomalies<=2", "", TWIN("3"), false);
    assert_held("busy<1%", "", BUSY("1"), true);
    assert_held("busy<1%", "", BUSY("2"), false);
    assert_held("offered==200", "", BUSY("0"), true);
    assert_true(isnan(outcomes.items[0].a));
}

static void test_a_run_that_proves_nothing_keeps_no_limit_of_anomalies(void **state) {
    assert_held("twin==0", "", OPEN, false);
    assert_held("anomalies<=+0", TWIN("3"), OPEN, false);
    assert_held("anomalies<=+0", OPEN, CLEAN, true);
    assert_held("offered==9", "", OPEN, true);
}

static void test_each_metric_is_found(void **state) {
    static const char summary[] =
        "'latency_ms': {'count': 9, 'p50': 1, 'p99_9': 5, 'mean': 2, 'max': 6}, 'service_ms': "
        "{'count': 9, 'p99': 4}, 'spread': {'p50_ms': {'median': 3}, 'achieved_rate': {'median': "
        "700}}, 'achieved_rate': 9, 'work': {'retries_per_success': 0.5}, 'schedule': "
        "{'within_10ms_percent': 99}, 'percentiles': {'response_ms': [[70, 7]], 'service_ms': "
        "[[70, 8]]}";
    static const char *const kept[] = {
        "p(50)==3ms",   "p(99.9)==5ms",       "mean==2ms",  "max==6ms",           "rate==700",
        "retries==0.5", "service_p(99)==4ms", "p(70)==7ms", "service_p(70)==8ms", "late<1.1%"};

    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        assert_held(kept[i], "", summary, true);
}

static void test_a_metric_that_a_run_lacks_is_an_error(void **state) {
    static const struct {
        const char *limit, *a, *b, *why;
    } cases[] = {
        {"p(50)<+20%", "", P50("1"), "the summary.json of A has no p(50) of x"},
        {"p(50)<+20%", P50("1"), "", "the summary.json of B has no p(50) of x"},
        {"p(97)<1s", "", P50("1"), "the summary.json of B has no p(97) of x"},
        {"p(50)<1s", "", "'latency_ms': {'count': 0, 'p50': 0}", "B has no p(50) of x"},
        {"max<1s", "", "'latency_ms': {'count': 0, 'max': 0}", "B has no max of x"},
        {"retries<+5%", "'work': null", "'work': null", "A has no retries of x"},
        {"oversell==0", "", "'verdict': 'not judged', 'anomalies': []", "B has no oversell of x"},
        {"oversell==0", "", "'verdict': 'VALID'", "B has no oversell of x"},
        {"busy<1%", "", "'outcomes': {'busy': 1}", "B has no busy of x"},
        {"rate>1", "", "'achieved_rate': 'many'", "B has no rate of x"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(hold(cases[i].limit, cases[i].a, cases[i].b), -1);
        if (strstr(why.text, cases[i].why) == NULL)
            fail_msg("%s", why.text);
    }
}

static void test_odd_summaries_lack_the_metric_or_have_odd_values(void **state) {
    static const char *const limits[] = {
        "p(50)<+20%", "p(70)<1s", "service_p(99)<+5ms", "max<1s",   "rate>-10%",   "busy<1%",
        "busy<+5",    "late<1%",  "retries<2",          "twin<=+0", "anomalies==0"};
    static const char *const odd[] = {
        "'latency_ms': 3, 'spread': [], 'work': 'x', 'outcomes': [], 'schedule': null, "
        "'anomalies': {}",
        "'latency_ms': {'p50': 'x', 'max': []}, 'percentiles': {'response_ms': [1, [], [70], [70, "
        "'x']], 'service_ms': 7}, 'outcomes': {'busy': 'x'}, 'offered': 'x'",
        "'latency_ms': {'p50': 1e300, 'max': -1e300}, 'service_ms': {'p99': -5}, 'outcomes': "
        "{'busy': -1}, 'offered': 0, 'achieved_rate': 1e300, 'verdict': 'VIOLATED', 'anomalies': "
        "[3, {}, {'name': 'TWIN', 'count': -5}]"};
    const size_t count = sizeof odd / sizeof odd[0];
    char text[LIMIT_TEXT];

    for (size_t i = 0; i < sizeof limits / sizeof limits[0] * count * count; i++)
        if (hold(limits[i / count / count], odd[i / count % count], odd[i % count]) == 0)
            (void)limit_outcome_text(&outcomes.items[0], text);
}

static void test_each_limit_is_held_against_each_strategy_of_both(void **state) {
    (void)tear_down(NULL);
    a = json_pack("{s:[{s:s}, {s:s}, {s:s}]}", "strategies", "strategy", "x", "strategy", "y",
                  "strategy", "only");
    b = json_pack("{s:[{s:s, s:i}, {s:s, s:i}]}", "strategies", "strategy", "y", "offered", 1,
                  "strategy", "x", "offered", 2);
    assert_int_equal(threshold_parse_limits("offered==2\noffered==1", &list, &why), 0);
    assert_int_equal(limit_outcomes_make(&outcomes, &list, a, b, &why), 0);
    assert_int_equal(outcomes.count, 4);
    assert_string_equal(outcomes.items[0].strategy, "x");
    assert_true(outcomes.items[0].holds && !outcomes.items[1].holds);
    assert_string_equal(outcomes.items[2].strategy, "y");
    assert_true(!outcomes.items[2].holds && outcomes.items[3].holds);
}

static void assert_told(const char *limit, const char *members_a, const char *members_b,
                        const char *expected) {
    char text[LIMIT_TEXT];

    assert_int_equal(hold(limit, members_a, members_b), 0);
    assert_string_equal(limit_outcome_text(&outcomes.items[0], text), expected);
}

static void test_by_how_much_is_told(void **state) {
    assert_told("p(50)<+20%", P50("4"), P50("164"),
                "A 4 ms, B 164 ms; limit 4.8 ms, missed by 159.2 ms");
    assert_told("p(50)<+20%", P50("4"), P50("4"), "A 4 ms, B 4 ms; limit 4.8 ms");
    assert_told("busy<1%", "", BUSY("3"), "B 1.5 %; limit 1 %, missed by 0.5 %");
    assert_told("busy<+20%", BUSY("4"), BUSY("5"), "A 4, B 5; limit 4.8, missed by 0.2");
    assert_told("p(50)<-20ms", P50("4"), P50("4"), "A 4 ms, B 4 ms; limit -16 ms, missed by 20 ms");
    assert_told("p(50)<1h", "", P50("1e300"), "B 9e+09 s; limit 3600 s, missed by 9e+09 s");
    assert_told("twin==0", "", TWIN("3"), "B 3; limit 0, missed by 3");
    assert_told("twin<=2", "", OPEN, "B 0; limit 2, but B proves nothing");
}

static void test_programs_get_the_values(void **state) {
    json_t *json, *expected;

    assert_int_equal(hold("twin==0", "", TWIN("3")), 0);
    json = limit_outcomes_json(&outcomes);
    expected = json_pack("[{s:s, s:s, s:n, s:f, s:f, s:b}]", "text", "twin==0", "strategy", "x",
                         "a", "b", 3.0, "allowed", 0.0, "holds", 0);
    assert_true(json_equal(json, expected));
    json_decref(json);
    json_decref(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_part_of_a_is_the_limit, tear_down),
        cmocka_unit_test_teardown(test_from_nothing_any_rise_is_endless, tear_down),
        cmocka_unit_test_teardown(test_a_difference_to_a_is_in_the_metrics_unit, tear_down),
        cmocka_unit_test_teardown(test_without_a_sign_b_counts_alone, tear_down),
        cmocka_unit_test_teardown(test_a_run_that_proves_nothing_keeps_no_limit_of_anomalies,
                                  tear_down),
        cmocka_unit_test_teardown(test_each_metric_is_found, tear_down),
        cmocka_unit_test_teardown(test_a_metric_that_a_run_lacks_is_an_error, tear_down),
        cmocka_unit_test_teardown(test_odd_summaries_lack_the_metric_or_have_odd_values, tear_down),
        cmocka_unit_test_teardown(test_each_limit_is_held_against_each_strategy_of_both, tear_down),
        cmocka_unit_test_teardown(test_by_how_much_is_told, tear_down),
        cmocka_unit_test_teardown(test_programs_get_the_values, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
