/* The report of a shop: it names the shop, and says nothing that only own strategies have. */
#include "shop_lines.h"

#include "report_fixture.h"
#include "sentence.h"
#include "steps.h"
#include "summary_json.h"

#define SUBJECT "Vendure 3.7.3, 2 processes"

static struct histogram *times;
static struct result *shop; /* the one result */

static int tear_down(void **state) {
    free(times);
    for (size_t i = 0; i < 3; i++)
        json_decref(rounds[i].steps);
    return report_tear_down(state);
}

static int set_up(void **state) {
    assert_int_equal(report_set_up(state), 0);
    sell_by_shop();
    shop = &results[0];
    times = calloc(1, sizeof *times);
    return times != NULL ? 0 : -1;
}

static void add_step(const char *name, int line, int64_t ms, size_t no_reply) {
    memset(times, 0, sizeof *times);
    if (ms > 0)
        histogram_record(times, ms * MS);
    steps_add(&shop->steps, name, line, 200, no_reply, times);
}

static void test_the_head_names_the_shop_and_the_load(void **state) {
    assert_tells("shop: " SUBJECT ": http://127.0.0.1:9701, http://127.0.0.1:9702 settings of the "
                 "shop: row ?locks 200 customers at 20/s, poisson, seed 1, stock 50, by "
                 "shops/vendure.shop schedule:");
    assert_silent_on("work");
}

static void test_each_sentence_begins_with_the_shop(void **state) {
    assert_tells(" " SUBJECT ": sold 800 of 50 units, the shop says that 200 are left, 431 orders");
    assert_tells(" " SUBJECT ": VIOLATED: TWIN, EARLY-SOLD-OUT, LEAK one round proves that it "
                 "happens, not how often ");
    assert_silent_on("expected");
    assert_says("exit code 1: anomalies were found");
    assert_says("\nshop ");
    assert_fits(80);
}

static void test_a_valid_verdict_says_what_was_asked(void **state) {
    struct verdict *verdict = &shop->verdict;

    *verdict = (struct verdict){.kind = VERDICT_VALID, .overlapping = 790, .has_ended = true};
    rounds[0].verdict.kind = VERDICT_VALID;
    assert_tells(SUBJECT ": VALID: no anomaly in 790 overlapping attempts, so with 95 % "
                         "confidence the true rate is below 0.38 % ");
    assert_silent_on(" asked:");
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (i != ANOMALY_OVERSELL && i != ANOMALY_GHOST && i != ANOMALY_LEAK)
            verdict->not_asked[i] = i == ANOMALY_TWIN ? "of a" : "of b";
    assert_tells(" asked: OVERSELL, GHOST and LEAK not asked: TWIN, because of a; UNDERSELL, ");
    verdict->kind = VERDICT_INCONCLUSIVE;
    assert_silent_on(" asked: OVERSELL");
    assert_tells(" not asked: TWIN, because of a; ");
}

static void test_twins_that_were_not_asked_have_no_column(void **state) {
    assert_says(" twins ");
    shop->verdict.found[ANOMALY_TWIN].count = 0;
    shop->verdict.not_asked[ANOMALY_TWIN] = "of a reason";
    assert_silent_on("twins");
}

static void test_several_rounds_do_not_need_that_remark(void **state) {
    shop->count = 2;
    shop->rounds[1] = shop->rounds[0];
    assert_silent_on("one round proves");
}

static void test_an_expectation_that_was_given_is_told(void **state) {
    static char given[] = "none=TWIN+EARLY-SOLD-OUT+LEAK?";

    options.expect = given;
    assert_tells(SUBJECT ": VIOLATED, as expected ");
}

static void test_a_script_for_own_databases_is_not_named(void **state) {
    assert_silent_on("all of it");
}

static void test_an_only_step_needs_no_table(void **state) {
    add_step("POST /pay", 61, 20, 0);
    assert_silent_on("no reply");
    assert_silent_on("POST /pay");
}

static void test_each_step_has_a_line(void **state) {
    add_step("POST /carts/{{cart}}/address", 55, 20, 0);
    add_step("POST /carts/{{cart}}/\033[31mpay", 61, 0, 200);
    assert_tells("step sent no reply p50 p99 max 55: POST /carts/{{cart}}/address 200 0 20 ms 20 "
                 "ms 20 ms 61: POST /carts/{{cart}}/?[31mpay 200 200 - - - step:");
    assert_silent_on("\033");
    assert_fits(80);
}

static void test_the_other_customers_are_counted(void **state) {
    shop->total->by_outcome[RECORD_REFUSED] = 2;
    shop->total->by_outcome[RECORD_UNSENT] = 1;
    shop->total->by_status[418] = 5;
    assert_tells("2 customers were refused for a reason other than the stock 1 customer was "
                 "without an order, because `prepare` failed or did not end ");
    assert_silent_on("418");
    assert_silent_on("a bad request");
}

static void test_a_shop_without_version_or_settings_is_named(void **state) {
    char text[SENTENCE_SUBJECT];

    shop_about_free(&options.about);
    assert_int_equal(shop_about_make(&options.about, "mine", "", "", "a.shop"), 0);
    assert_int_equal(shop_about_add_base(&options.about, "http://127.0.0.1:1"), 0);
    assert_string_equal(sentence_subject(shop, &options, text), "mine, 1 process");
    assert_says("shop: mine, 1 process: http://127.0.0.1:1\n");
    assert_silent_on("settings of the shop");
}

static void test_many_bases_are_counted(void **state) {
    char base[40], *text;

    for (int i = 0; i < 10; i++) {
        snprintf(base, sizeof base, "http://h%d", i);
        assert_int_equal(shop_about_add_base(&options.about, base), 0);
    }
    text = shop_lines_bases(&options.about);
    assert_non_null(text);
    assert_non_null(strstr(text, "12 processes: http://127.0.0.1:9701, "));
    assert_non_null(strstr(text, ", http://h5 and 4 more"));
    free(text);
}

static void test_the_summary_has_the_shop_and_its_steps(void **state) {
    json_t *json, *of_shop, *strategy, *round;

    add_step("POST /pay", 61, 20, 0);
    rounds[0].steps = json_incref(shop->steps);
    json = summary_json(&summary);
    of_shop = json_object_get(json, "shop");
    assert_string_equal(json_string_value(json_object_get(of_shop, "version")), "3.7.3");
    assert_int_equal(json_integer_value(json_object_get(of_shop, "processes")), 2);
    assert_int_equal(json_integer_value(json_object_get(of_shop, "customers")), 200);
    strategy = json_array_get(json_object_get(json, "strategies"), 0);
    round = json_array_get(json_object_get(strategy, "rounds"), 0);
    assert_int_equal(json_array_size(json_object_get(strategy, "steps")), 1);
    assert_int_equal(json_array_size(json_object_get(round, "steps")), 1);
    json_decref(json);
}

#define SHOP(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        SHOP(test_the_head_names_the_shop_and_the_load),
        SHOP(test_each_sentence_begins_with_the_shop),
        SHOP(test_a_valid_verdict_says_what_was_asked),
        SHOP(test_twins_that_were_not_asked_have_no_column),
        SHOP(test_several_rounds_do_not_need_that_remark),
        SHOP(test_an_expectation_that_was_given_is_told),
        SHOP(test_a_script_for_own_databases_is_not_named),
        SHOP(test_an_only_step_needs_no_table),
        SHOP(test_each_step_has_a_line),
        SHOP(test_the_other_customers_are_counted),
        SHOP(test_a_shop_without_version_or_settings_is_named),
        SHOP(test_many_bases_are_counted),
        SHOP(test_the_summary_has_the_shop_and_its_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
