/* Metrics: the exact text, for each type, grouped by name. */
#include "metrics.h"
#include "test.h"

/* The printed text from the first sample named `name` on. */
static void assert_prints(const char *name, const char *expected) {
    size_t length = 0;
    char *text = metrics_text(&length), head[64] = "# HELP ";
    const char *at;

    assert_non_null(text);
    assert_int_equal(length, strlen(text));
    strncat(head, name, sizeof head - 8);
    at = strstr(text, head);
    assert_non_null(at);
    assert_null(strstr(at + 1, head));
    assert_string_equal(at, expected);
    free(text);
}

static void test_nothing_registered_prints_nothing(void **state) {
    size_t length = 1;
    char *text = metrics_text(&length);

    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    free(text);
}

static void test_a_counter_shows_as_0_once_registered(void **state) {
    static struct metric sold = {
        .name = "sold_total", .help = "Units sold", .type = METRIC_COUNTER};

    metric_register(&sold);
    assert_prints("sold",
                  "# HELP sold_total Units sold\n# TYPE sold_total counter\nsold_total 0\n");
    metric_add(&sold, 1);
    metric_add(&sold, 123456789012);
    assert_prints("sold", "# HELP sold_total Units sold\n# TYPE sold_total counter\n"
                          "sold_total 123456789013\n");
}

static void test_metrics_of_one_name_form_one_group(void **state) {
    static struct metric a = {
        .name = "answers", .help = "Answers", .type = METRIC_GAUGE, .labels = "code=\"200\""};
    static struct metric between = {.name = "between", .help = "Between", .type = METRIC_GAUGE};
    static struct metric b = {
        .name = "answers", .help = "Answers", .type = METRIC_GAUGE, .labels = "code=\"500\""};

    metric_add(&a, 2.5);
    metric_add(&between, -1);
    metric_add(&b, 7);
    metric_add(&b, -1);
    assert_prints("answers", "# HELP answers Answers\n# TYPE answers gauge\n"
                             "answers{code=\"200\"} 2.5\nanswers{code=\"500\"} 6\n"
                             "# HELP between Between\n# TYPE between gauge\nbetween -1\n");
}

static double read_number(void *data) {
    const double *number = data;

    return *number;
}

static void test_a_metric_with_a_reader_is_asked_when_printed(void **state) {
    static double number = 3;
    static struct metric asked = {.name = "asked",
                                  .help = "Asked",
                                  .type = METRIC_GAUGE,
                                  .read = read_number,
                                  .data = &number};

    metric_register(&asked);
    number = 4;
    assert_prints("asked", "# HELP asked Asked\n# TYPE asked gauge\nasked 4\n");
}

static void test_times_are_cumulative_up_to_infinity(void **state) {
    static struct metric times = {.name = "took_seconds",
                                  .help = "Took",
                                  .type = METRIC_TIMES,
                                  .labels = "strategy=\"redis\""};

    metric_time(&times, -1);
    metric_time(&times, 100000);
    metric_time(&times, 100001);
    metric_time(&times, 400000000);
    metric_time(&times, INT64_C(10000000000));
    metric_time(&times, INT64_C(11000000000));
#define BUCKET(le, n) "took_seconds_bucket{strategy=\"redis\",le=\"" le "\"} " n "\n"
    assert_prints(
        "took",
        "# HELP took_seconds Took\n# TYPE took_seconds histogram\n" BUCKET("0.0001", "2")
            BUCKET("0.00025", "3") BUCKET("0.0005", "3") BUCKET("0.001", "3") BUCKET("0.0025", "3")
                BUCKET("0.005", "3") BUCKET("0.01", "3") BUCKET("0.025", "3") BUCKET("0.05", "3")
                    BUCKET("0.1", "3") BUCKET("0.25", "3") BUCKET("0.5", "4") BUCKET("1", "4")
                        BUCKET("2.5", "4") BUCKET("5", "4") BUCKET("10", "5") BUCKET(
                            "+Inf", "6") "took_seconds_sum{strategy=\"redis\"} 21.400200001\n"
                                         "took_seconds_count{strategy=\"redis\"} 6\n");
}

static void test_times_without_labels_have_only_le(void **state) {
    static struct metric plain = {.name = "plain_seconds", .help = "Plain", .type = METRIC_TIMES};
    size_t length;
    char *text;

    metric_time(&plain, 1);
    text = metrics_text(&length);
    assert_non_null(text);
    assert_non_null(strstr(text, "\nplain_seconds_bucket{le=\"0.0001\"} 1\n"));
    assert_non_null(strstr(text, "\nplain_seconds_sum 1e-09\nplain_seconds_count 1\n"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_registered_prints_nothing),
        cmocka_unit_test(test_a_counter_shows_as_0_once_registered),
        cmocka_unit_test(test_metrics_of_one_name_form_one_group),
        cmocka_unit_test(test_a_metric_with_a_reader_is_asked_when_printed),
        cmocka_unit_test(test_times_are_cumulative_up_to_infinity),
        cmocka_unit_test(test_times_without_labels_have_only_le),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
