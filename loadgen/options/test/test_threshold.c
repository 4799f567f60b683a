/* Thresholds: accepted texts, refused texts, and the check of a limit during and after a round. */
#include "test.h"
#include "threshold.h"

#include "record.h"
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS 1e6

static struct threshold_list list;
static struct why why;
static struct recorder *recorder;
static struct verdict verdict;
static double measured;

/* A round of 100 planned requests, none of them sent yet. */
static int set_up(void **state) {
    recorder = recorder_make(100);
    memset(&verdict, 0, sizeof verdict);
    return recorder != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    recorder_free(recorder);
    return 0;
}

static const struct threshold *parsed(const char *text) {
    if (threshold_parse(text, &list, &why) != 0)
        fail_msg("%s", why.text);
    return &list.items[0];
}

static bool at_end(const char *text) {
    return threshold_holds(parsed(text), recorder, &verdict, &measured);
}

static bool in_flight(const char *text) {
    return threshold_holds(parsed(text), recorder, NULL, &measured);
}

/* Checks each of the limits; a blank separates them. */
static void assert_limits(bool (*holds)(const char *text), const char *limits, bool is_kept) {
    char copy[256];

    assert_in_range(snprintf(copy, sizeof copy, "%s", limits), 1, sizeof copy - 1);
    for (char *text = strtok(copy, " "); text != NULL; text = strtok(NULL, " "))
        if (holds(text) != is_kept)
            fail_msg("%s: %s", is_kept ? "missed" : "kept", text);
}

static void assert_kept(bool (*holds)(const char *text), const char *limits) {
    assert_limits(holds, limits, true);
}

static void assert_missed(bool (*holds)(const char *text), const char *limits) {
    assert_limits(holds, limits, false);
}

static void answer(size_t count, double ms) {
    while (count-- > 0) {
        recorder->count++;
        recorder->answered++;
        histogram_record(&recorder->latency, (int64_t)(ms * MS));
        histogram_record(&recorder->service, (int64_t)(ms * MS / 2));
        histogram_record(&recorder->lateness, 1000);
    }
}

/* ---- accepted texts */

static void test_every_metric_and_operator_is_understood(void **state) {
    static const struct {
        const char *text, *metric;
        enum threshold_op op;
        double value;
        bool is_part;
    } cases[] = {
        {"oversell==0", "oversell", THRESHOLD_EQ, 0, false},
        {"twin!=3", "twin", THRESHOLD_NE, 3, false},
        {"undersell<1", "undersell", THRESHOLD_LT, 1, false},
        {"early-sold-out<=0", "early-sold-out", THRESHOLD_LE, 0, false},
        {"EARLY_SOLD_OUT<=0", "early-sold-out", THRESHOLD_LE, 0, false},
        {"ghost==0", "ghost", THRESHOLD_EQ, 0, false},
        {"orphan==0", "orphan", THRESHOLD_EQ, 0, false},
        {"duplicate==0", "duplicate", THRESHOLD_EQ, 0, false},
        {"leak==0", "leak", THRESHOLD_EQ, 0, false},
        {"stale==0", "stale", THRESHOLD_EQ, 0, false},
        {"anomalies==0", "anomalies", THRESHOLD_EQ, 0, false},
        {"sold>=20k", "sold", THRESHOLD_GE, 20000, false},
        {"sold_out>1m", "sold_out", THRESHOLD_GT, 1e6, false},
        {"sold-out>1", "sold_out", THRESHOLD_GT, 1, false},
        {"busy<1%", "busy", THRESHOLD_LT, 0.01, true},
        {"unknown<=0.5%", "unknown", THRESHOLD_LE, 0.005, true},
        {"refused==0", "refused", THRESHOLD_EQ, 0, false},
        {"failed<100%", "failed", THRESHOLD_LT, 1, true},
        {"unreached==0%", "unreached", THRESHOLD_EQ, 0, true},
        {"unsent==0", "unsent", THRESHOLD_EQ, 0, false},
        {"offered>=1.5k", "offered", THRESHOLD_GE, 1500, false},
        {"p(99)<250ms", "p", THRESHOLD_LT, 250 * MS, false},
        {"p99.9<1.5s", "p", THRESHOLD_LT, 1500 * MS, false},
        {"service_p(50)<=850us", "service_p", THRESHOLD_LE, 0.85 * MS, false},
        {"mean<0", "mean", THRESHOLD_LT, 0, false},
        {"max<1m", "max", THRESHOLD_LT, 60000 * MS, false},
        {"rate>=799.5", "rate", THRESHOLD_GE, 799.5, false},
        {"retries<0.5", "retries", THRESHOLD_LT, 0.5, false},
        {"late<5%", "late", THRESHOLD_LT, 0.05, true},
        {"late<0.05", "late", THRESHOLD_LT, 0.05, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct threshold *threshold = parsed(cases[i].text);

        assert_int_equal(list.count, 1);
        assert_string_equal(threshold->text, cases[i].text);
        assert_string_equal(threshold->metric, cases[i].metric);
        assert_int_equal(threshold->op, cases[i].op);
        assert_float_equal(threshold->value, cases[i].value, 1e-6);
        assert_int_equal(threshold->is_part, cases[i].is_part);
    }
    assert_float_equal(parsed("p99.9<1s")->percentile, 99.9, 1e-9);
    assert_float_equal(parsed("service_p(100)<1s")->percentile, 100, 1e-9);
}

static void test_spaces_may_stand_anywhere_between(void **state) {
    static const char *const texts[] = {" p(99)<250ms ", "p( 99 ) < 250 ms", "p (99)\t<\t250ms"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct threshold *threshold = parsed(texts[i]);

        assert_string_equal(threshold->metric, "p");
        assert_float_equal(threshold->percentile, 99, 1e-9);
        assert_float_equal(threshold->value, 250 * MS, 1);
    }
    assert_string_equal(parsed("  busy < 1 %\r")->text, "busy < 1 %");
}

static void test_a_line_each(void **state) {
    parsed("oversell==0\np(99)<250ms\nbusy<1%");
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[2].metric, "busy");
    parsed("sold>=1\n");
    assert_int_equal(list.count, 1);
    assert_int_equal(threshold_parse("", &list, &why), 0);
    assert_int_equal(list.count, 0);
}

/* ---- refused texts */

static const struct {
    const char *says, *texts[16];
} wrong[] = {
    {"no metric \"speed\"", {"speed<1"}},
    {"oversell, twin, undersell, early-sold-out", {"speed<1"}},
    {"p(N), service_p(N), mean, max, rate, retries, late", {"speed<1"}},
    {"no metric \"\"", {"<1"}},
    {"'oversell==0'", {"oversell"}},
    {"== != < <= > >=",
     {"oversell", "oversell=0", "oversell=<0", "oversell<>0", "oversell===0", "oversell!0"}},
    {"the value is missing", {"oversell=="}},
    {"it is empty", {" ", "oversell==0\n\nbusy<1%"}},
    {"no number",
     {"oversell==x", "oversell==-1", "oversell==0x10", "oversell==1e9", "oversell==nan",
      "oversell==1.2.3", "oversell==.", "oversell==1%", "oversell==1 0", "oversell==1kk",
      "oversell==250ms"}},
    {"whole number", {"sold==1.5"}},
    {"write it like 250ms", {"p(99)<250", "p(99)<-1ms", "p(99)<1%"}},
    {"which percentile? write it like p(99)", {"p<1ms"}},
    {"which percentile? write it like service_p(99)", {"service_p<1ms"}},
    {"no percentile",
     {"p()<1ms", "p(99<1ms", "p99)<1ms", "p(0)<1ms", "p(100.1)<1ms", "p(9 9)<1ms", "p(x)<1ms",
      "p(99)x<1ms"}},
    {"max takes no number", {"max(99)<1ms"}},
    {"is no share of the requests", {"busy<101%", "busy<1%%", "busy<x%", "late<2", "late<1ms"}},
    {"longer", {"oversell==0000000000000000000000000000000000000000000000000000000000000000"}},
};

static void test_what_is_wrong_is_refused_with_what_is_right(void **state) {
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        for (const char *const *text = wrong[i].texts; *text != NULL; text++) {
            why.text[0] = '\0';
            if (threshold_parse(*text, &list, &why) != -1)
                fail_msg("taken: %s", *text);
            if (strstr(why.text, "--threshold '") == NULL ||
                strstr(why.text, wrong[i].says) == NULL)
                fail_msg("%s: %s", *text, why.text);
        }
}

static void test_the_longest_complaint_is_whole(void **state) {
    char text[THRESHOLD_TEXT];

    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - 3, "<1", 3);
    assert_int_equal(threshold_parse(text, &list, &why), -1);
    assert_non_null(strstr(why.text, "'sold>=100'"));
}

static void test_there_may_be_sixteen(void **state) {
    char text[THRESHOLDS_MAX * 16 + 16] = "";

    for (int i = 0; i < THRESHOLDS_MAX; i++)
        strcat(text, i > 0 ? "\nsold>=1" : "sold>=1");
    assert_int_equal(threshold_parse(text, &list, &why), 0);
    assert_int_equal(list.count, THRESHOLDS_MAX);
    strcat(text, "\nsold>=1");
    assert_int_equal(threshold_parse(text, &list, &why), -1);
    assert_non_null(strstr(why.text, "at most 16"));
}

/* ---- at the end of a round */

static void test_operators_compare(void **state) {
    static const struct {
        const char *text;
        bool holds[3]; /* the answers for 4, 5 and 6 */
    } cases[] = {{"twin==5", {false, true, false}}, {"twin!=5", {true, false, true}},
                 {"twin<5", {true, false, false}},  {"twin<=5", {true, true, false}},
                 {"twin>5", {false, false, true}},  {"twin>=5", {false, true, true}}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int n = 0; n < 3; n++) {
            verdict.found[ANOMALY_TWIN].count = 4 + n;
            assert_int_equal(at_end(cases[i].text), cases[i].holds[n]);
        }
}

static void test_anomalies_are_counted(void **state) {
    verdict.found[ANOMALY_OVERSELL].count = 2;
    verdict.found[ANOMALY_LEAK].count = 3;
    assert_missed(at_end, "oversell==0");
    assert_float_equal(measured, 2, 0);
    assert_kept(at_end, "twin==0");
    assert_missed(at_end, "anomalies<5");
    assert_float_equal(measured, 5, 0);
}

static void test_outcomes_are_counts_or_parts(void **state) {
    recorder->count = 200;
    recorder->by_outcome[RECORD_BUSY] = 3;
    recorder->by_outcome[RECORD_SOLD] = 197;
    assert_kept(at_end, "busy<=3 busy<=1.5% sold==197 offered==200");
    assert_missed(at_end, "busy<1%");
    assert_float_equal(measured, 0.015, 1e-12);
    recorder->count = recorder->by_outcome[RECORD_BUSY] = 0;
    assert_kept(at_end, "busy==0%");
}

static void test_times_are_those_of_the_answers(void **state) {
    answer(99, 10);
    answer(1, 500);
    assert_kept(at_end, "p(99)<11ms service_p(99)<6ms max<=500ms mean<15ms");
    assert_missed(at_end, "p(100)<500ms max<500ms mean<14.8ms");
    recorder->last_ns = 2000000000;
    assert_kept(at_end, "rate==50 late==0%");
    histogram_record(&recorder->lateness, 11000000);
    assert_missed(at_end, "late<0.9%");
}

static void test_without_an_answer_no_time_is_kept(void **state) {
    static const char *const texts[] = {"p(99)<1h", "service_p(50)>=0", "mean<=1h", "max!=1s",
                                        "p(50)==1ms"};
    char text[THRESHOLD_VALUE];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(at_end(texts[i]));
        assert_true(in_flight(texts[i]));
        assert_string_equal(threshold_value(&list.items[0], measured, text), "nothing measured");
    }
    assert_kept(at_end, "rate==0");
}

static void test_anomalies_need_a_verdict(void **state) {
    assert_true(threshold_needs_verdict(parsed("oversell==0")));
    assert_true(threshold_needs_verdict(parsed("anomalies==0")));
    assert_false(threshold_needs_verdict(parsed("sold==0")));
    assert_false(threshold_needs_verdict(parsed("p(99)<1s")));
}

static void test_values_are_for_people(void **state) {
    static const struct {
        const char *threshold;
        double value;
        const char *text;
    } cases[] = {{"p(99)<250ms", 212 * MS, "212 ms"},
                 {"mean<250ms", 1.5 * MS, "1.5 ms"},
                 {"p(99)<250ms", 250.3 * MS, "250.3 ms"},
                 {"max<10s", 12345 * MS, "12.35 s"},
                 {"busy<1%", 0.01002, "1.002 %"},
                 {"oversell==0", 0, "0"},
                 {"busy<1%", 0.012, "1.2 %"},
                 {"late<1%", 0, "0 %"},
                 {"rate>=700", 793.4, "793.4"},
                 {"retries<2", 1.5, "1.5"},
                 {"sold>=1m", 1234567, "1234567"}};
    char text[THRESHOLD_VALUE];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(threshold_value(parsed(cases[i].threshold), cases[i].value, text),
                            cases[i].text);
}

static void test_retries_are_counted_for_each_unit_sold(void **state) {
    recorder->retries = 30;
    assert_missed(at_end, "retries>=0 retries<100"); /* without a sale no limit is kept */
    recorder->by_outcome[RECORD_SOLD] = 20;
    assert_kept(at_end, "retries>1.4");
    assert_missed(at_end, "retries>1.5");
    assert_kept(in_flight, "retries<1"); /* later requests may buy more */
}

static void test_the_most_overtaken_is_held_against_the_whole_round(void **state) {
    recorder->overtaken = 3;
    assert_kept(at_end, "overtaken<=3");
    assert_missed(at_end, "overtaken==0");
    assert_kept(in_flight, "overtaken==0");
}

/* ---- while a round runs */

static void test_what_only_grows_is_missed_as_soon_as_it_is_past(void **state) {
    answer(10, 20);
    recorder->by_outcome[RECORD_BUSY] = 5;
    assert_kept(in_flight, "busy<=5 busy==5 busy==6 offered<11 max<20.1ms");
    assert_missed(in_flight, "busy<5 busy==4 offered<10 max<20ms");
}

static void test_parts_are_of_all_planned_requests(void **state) {
    answer(10, 1);
    recorder->by_outcome[RECORD_BUSY] = 5; /* half of the sent requests, 5 % of the planned ones */
    assert_kept(in_flight, "busy<=5%");
    assert_missed(in_flight, "busy<5%");
    assert_float_equal(measured, 0.5, 1e-12);
    histogram_record(&recorder->lateness, 20000000);
    assert_kept(in_flight, "late<=1%");
    assert_missed(in_flight, "late<1%");
}

static void test_a_few_slow_answers_miss_no_percentile(void **state) {
    answer(5, 500); /* all answers so far are slow, but the other 95 may be fast */
    assert_kept(in_flight, "p(95)<250ms p(50)<250ms mean<250ms");
    assert_missed(in_flight, "mean<20ms"); /* 5 x 500 ms over 100 requests */
    answer(2, 500);
    assert_missed(in_flight, "p(95)<250ms service_p(95)<240ms");
    assert_kept(in_flight, "service_p(95)<260ms p(50)<250ms");
}

static void test_values_in_the_bucket_of_the_limit_are_not_over_it(void **state) {
    const int64_t low = histogram_bucket_low(histogram_bucket(250000000));
    char limit[64];

    for (recorder->count = 0; recorder->count < 50; recorder->count++)
        histogram_record(&recorder->latency, low);
    snprintf(limit, sizeof limit, "p(99)<=%lldns", (long long)low);
    assert_kept(in_flight, limit);
    snprintf(limit, sizeof limit, "p(99)<=%lldns", (long long)low - 1);
    assert_missed(in_flight, limit);
}

static void test_a_percentile_missed_in_flight_is_missed_at_the_end(void **state) {
    for (size_t slow = 1; slow <= 100; slow++) {
        bool is_kept;

        (void)tear_down(NULL);
        assert_int_equal(set_up(NULL), 0);
        answer(slow, 500);
        is_kept = in_flight("p(90)<250ms");
        answer(100 - slow, 1); /* the best possible rest of the round */
        assert_false(!is_kept && at_end("p(90)<250ms"));
        assert_false(is_kept && slow >= 12);
    }
}

static void test_lower_limits_wait_for_the_end(void **state) {
    answer(10, 20);
    recorder->last_ns = 1000000000;
    recorder->by_outcome[RECORD_BUSY] = 5;
    assert_kept(in_flight, "sold>=100 sold>0 rate>=700 offered>=100 p(50)>1s busy!=5 late>50% "
                           "max>1s rate<1 anomalies==0 oversell>3");
}

#define HELD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* ---- limits of `diff` */

static void test_a_limit_with_a_sign_is_one_of_the_change(void **state) {
    static const struct {
        const char *text;
        enum threshold_against against;
        double value;
    } cases[] = {
        {"p(99)<+20%", THRESHOLD_RATIO, 0.2},   {"p99 < + 20 %", THRESHOLD_RATIO, 0.2},
        {"rate>-10%", THRESHOLD_RATIO, -0.1},   {"p(50)<+150%", THRESHOLD_RATIO, 1.5},
        {"late<+5%", THRESHOLD_RATIO, 0.05},    {"p(50)<+50ms", THRESHOLD_DIFFERENCE, 50 * MS},
        {"sold>=-5", THRESHOLD_DIFFERENCE, -5}, {"twin<=+0", THRESHOLD_DIFFERENCE, 0},
        {"oversell<=0", THRESHOLD_ALONE, 0},    {"p(99)<250ms", THRESHOLD_ALONE, 250 * MS},
        {"busy<1%", THRESHOLD_ALONE, 0.01},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (threshold_parse_limits(cases[i].text, &list, &why) != 0)
            fail_msg("%s", why.text);
        assert_int_equal(list.items[0].against, cases[i].against);
        assert_true(fabs(list.items[0].value - cases[i].value) < 1e-9);
        assert_int_equal(list.items[0].is_part, strcmp(cases[i].text, "busy<1%") == 0 ||
                                                    strcmp(cases[i].text, "late<+5%") == 0);
    }
}

static void test_a_limit_that_is_none_is_refused(void **state) {
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"p(99)<+20", "--limit 'p(99)<+20': \"20\" is no duration"},
        {"p(99)<+", "the value is missing"},
        {"p(99)<+-5ms", "is no duration"},
        {"rate>--10%", "is no share of A: write it like +20%"},
        {"rate>--10", "is no number"},
        {"sold>-0.5", "is no whole number"},
        {"overtaken<10", "summary.json has no overtaken"},
        {"speed<+1%", "there is no metric"},
        {"p(99)+20%", "an operator is missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(threshold_parse_limits(cases[i].text, &list, &why), -1);
        if (strstr(why.text, cases[i].why) == NULL)
            fail_msg("%s: %s", cases[i].text, why.text);
    }
    assert_int_equal(threshold_parse("rate>-10%", &list, &why), -1); /* a single run has no run A */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_metric_and_operator_is_understood),
        cmocka_unit_test(test_spaces_may_stand_anywhere_between),
        cmocka_unit_test(test_a_line_each),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_what_is_right),
        cmocka_unit_test(test_the_longest_complaint_is_whole),
        cmocka_unit_test(test_there_may_be_sixteen),
        HELD(test_operators_compare),
        HELD(test_anomalies_are_counted),
        HELD(test_outcomes_are_counts_or_parts),
        HELD(test_times_are_those_of_the_answers),
        HELD(test_without_an_answer_no_time_is_kept),
        HELD(test_retries_are_counted_for_each_unit_sold),
        HELD(test_the_most_overtaken_is_held_against_the_whole_round),
        cmocka_unit_test(test_anomalies_need_a_verdict),
        cmocka_unit_test(test_values_are_for_people),
        HELD(test_what_only_grows_is_missed_as_soon_as_it_is_past),
        HELD(test_parts_are_of_all_planned_requests),
        HELD(test_values_in_the_bucket_of_the_limit_are_not_over_it),
        HELD(test_a_few_slow_answers_miss_no_percentile),
        HELD(test_a_percentile_missed_in_flight_is_missed_at_the_end),
        HELD(test_lower_limits_wait_for_the_end),
        cmocka_unit_test(test_a_limit_with_a_sign_is_one_of_the_change),
        cmocka_unit_test(test_a_limit_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
