/* The report: what a person reads fits a terminal, and what a program reads is JSON. */
#include "report.h"
#include "report_table.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static struct options options;
static struct round rounds[3];
static struct report report;

static void fill_round(struct round *round, size_t i) {
    round->item = &options.list.items[i];
    round->expectation = &options.expectations[i];
    snprintf(round->product.id, sizeof round->product.id, "%s",
             "01900000-0000-7000-8000-000000000001");
    round->recorder = recorder_make(1);
    assert_non_null(round->recorder);
    round->recorder->count = 800;
    round->recorder->answered = 800;
    round->recorder->last_ns = 1000 * MS;
    round->recorder->by_outcome[RECORD_SOLD] = 800;
    for (int64_t n = 1; n <= 100; n++) {
        histogram_record(&round->recorder->latency, n * MS);
        histogram_record(&round->recorder->service, n * MS);
        histogram_record(&round->recorder->lateness, n * 1000);
    }
    round->verdict = (struct verdict){
        .sold = 800, .distinct = 800, .left = 200, .overlapping = 790, .pairs = 4000};
}

static void violate(struct verdict *verdict, enum anomaly anomaly, int64_t count,
                    const char *example) {
    verdict->kind = VERDICT_VIOLATED;
    verdict->found[anomaly].count = count;
    verdict->found[anomaly].examples = 1;
    snprintf(verdict->found[anomaly].example[0], VERDICT_TEXT, "%s", example);
}

static int set_up(void **state) {
    static char text[] = "none,work=1ms", target[] = "http://127.0.0.1:8000", empty[] = "",
                arrival[] = "poisson", path[] = "/orders", work[] = "2ms";
    static const struct strategy_option none[] = {{NULL, NULL}};
    char why[128];

    (void)state;
    options = (struct options){.strategies = text,
                               .rate = 800,
                               .requests = 800,
                               .stock = 1000,
                               .seed = 1,
                               .arrival = arrival,
                               .target = target,
                               .path = path,
                               .name = empty,
                               .work = work,
                               .wait = empty,
                               .ttl = empty};
    assert_int_equal(strategy_list_parse("none,redis,ttl=2s,fail=after-read:pause=4s@100,atomic",
                                         none, &options.list, why, sizeof why),
                     0);
    assert_int_equal(
        expect_parse("none=TWIN", &options.list, options.expectations, why, sizeof why), 0);
    for (size_t i = 0; i < 3; i++)
        fill_round(&rounds[i], i);
    violate(&rounds[0].verdict, ANOMALY_TWIN, 431,
            "unit 788 sold twice: order 01900000-0000-7000-8000-000000000001 by inventory-1 at "
            "10:01:02.123, order 01900000-0000-7000-8000-000000000002 by inventory-2 at "
            "10:01:02.124");
    violate(&rounds[0].verdict, ANOMALY_EARLY_SOLD_OUT, 3, "request x was told sold out");
    violate(&rounds[0].verdict, ANOMALY_LEAK, 31, "12 left + 0 returned + 3 units sold is 15");
    rounds[1].verdict.kind = VERDICT_INCONCLUSIVE;
    rounds[1].verdict.reasons = 1;
    snprintf(rounds[1].verdict.reason[0], VERDICT_TEXT, "the schedule was missed");
    report = (struct report){.options = &options, .rounds = rounds, .count = 3, .exit_code = 2};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++)
        recorder_free(rounds[i].recorder);
    memset(rounds, 0, sizeof rounds);
    return 0;
}

/* What `write` prints of the report; free() it. */
static char *printed(int (*write)(const struct report *, FILE *)) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    assert_int_equal(write(&report, to), 0);
    assert_int_equal(fclose(to), 0);
    return text;
}

static void assert_fits(char *text) {
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (table_width(line) > REPORT_COLUMNS)
            fail_msg("%zu columns: %s", table_width(line), line);
    }
}

static void test_the_text_says_what_was_found(void **state) {
    char *text = printed(report_text);

    (void)state;
    assert_non_null(strstr(text, "VIOLATED TWIN"));
    assert_non_null(strstr(text, "none: TWIN, 431 times: one unit was sold twice"));
    assert_non_null(strstr(text, "unit 788 sold twice"));
    assert_non_null(strstr(text, ": inconclusive: the schedule was missed"));
    assert_non_null(strstr(text, "atomic: no anomaly in 790 overlapping attempts"));
    assert_non_null(strstr(text, "0.38 % (3/n)"));
    assert_null(strstr(text, "safe"));
    free(text);
}

static void test_no_line_is_wider_than_a_terminal(void **state) {
    char *text = printed(report_text);

    (void)state;
    assert_fits(text);
    free(text);
}

static void test_large_numbers_fit_too(void **state) {
    char *text;

    (void)state;
    options.stock = options.requests = rounds[1].verdict.sold = 9999999;
    rounds[1].verdict.left = rounds[1].verdict.refused_early = 9999999;
    rounds[1].recorder->count = rounds[1].recorder->by_outcome[RECORD_BUSY] = 9999999;
    rounds[1].recorder->by_outcome[RECORD_UNKNOWN] = 9999999;
    text = printed(report_text);
    assert_fits(text);
    free(text);
}

static void test_the_json_has_what_the_text_has(void **state) {
    char *text = printed(report_json);
    json_t *json = json_loads(text, 0, NULL);
    json_t *first = json_array_get(json_object_get(json, "strategies"), 0);
    const char *verdict, *name;
    int sold, twins, left;
    double within;

    (void)state;
    assert_int_equal(json_unpack(first, "{s:s, s:i, s:i, s:i, s:[{s:s}], s:{s:f}}", "verdict",
                                 &verdict, "sold", &sold, "twins", &twins, "left", &left,
                                 "anomalies", "name", &name, "schedule", "within_2ms_percent",
                                 &within),
                     0);
    assert_string_equal(verdict, "VIOLATED");
    assert_string_equal(name, "TWIN");
    assert_int_equal(sold, 800);
    assert_int_equal(twins, 431);
    assert_int_equal(left, 200);
    assert_true(within > 99.99);
    assert_int_equal(json_array_size(json_object_get(json, "strategies")), 3);
    json_decref(json);
    free(text);
}

static void test_durations_are_for_humans(void **state) {
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0 ns"},           {999, "999 ns"},       {1000, "1.0 µs"},
                 {850000, "850 µs"},    {999900, "1.0 ms"},    {4100000, "4.1 ms"},
                 {12400000, "12 ms"},   {999400000, "999 ms"}, {999900000, "1.0 s"},
                 {1200000000, "1.2 s"}, {75000000000, "75 s"}};
    char text[DURATION_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(report_duration(text, cases[i].ns), cases[i].text);
}

#define REPORTED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        REPORTED(test_the_text_says_what_was_found),
        REPORTED(test_no_line_is_wider_than_a_terminal),
        REPORTED(test_large_numbers_fit_too),
        REPORTED(test_the_json_has_what_the_text_has),
        cmocka_unit_test(test_durations_are_for_humans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
