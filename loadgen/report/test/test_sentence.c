/* The sentence about a strategy: it is true, and needs no legend. */
#include "report_fixture.h"
#include "sentence.h"
#include "summary_json.h"

#include <jansson.h>

static struct verdict *verdict;
static struct recorder *total;

/* Of `none`: this many units for sale, sold and left. */
static int set_up(void **state) {
    int rc = report_set_up(state);

    verdict = &results[0].verdict;
    total = results[0].total;
    return rc;
}

static void sell(int64_t stock, int64_t sold, int64_t distinct, int64_t left) {
    options.stock = stock;
    *verdict = (struct verdict){
        .kind = VERDICT_VIOLATED, .sold = sold, .distinct = distinct, .left = left};
    rounds[0].verdict = *verdict;
}

static void find(enum anomaly anomaly, int64_t count) {
    verdict->found[anomaly].count = count;
}

static void assert_sentence(const char *expected) {
    char text[SENTENCE_TEXT];

    assert_string_equal(sentence_make(&results[0], &options, text), expected);
}

static void test_an_oversell_is_told_in_customers_and_units(void **state) {
    sell(500, 800, 223, 277);
    find(ANOMALY_OVERSELL, 300);
    find(ANOMALY_TWIN, 577);
    find(ANOMALY_LEAK, 3);
    find(ANOMALY_STALE, 111);
    assert_sentence("none: sold 800 of 500 units, 300 customers hold an order for nothing, and 577 "
                    "orders are for a unit that was sold already");
    sell(1, 2, 1, 0);
    find(ANOMALY_OVERSELL, 1);
    find(ANOMALY_TWIN, 1);
    assert_sentence("none: sold 2 of 1 unit, 1 customer holds an order for nothing, and 1 order is "
                    "for a unit that was sold already");
}

static void test_twins_within_the_stock_are_seen_in_what_is_left(void **state) {
    sell(1000, 800, 223, 777);
    find(ANOMALY_TWIN, 577);
    assert_sentence("none: sold 800 of 1000 units, the stock says 777 are left instead of 200, and "
                    "577 orders are for a unit that was sold already");
}

static void test_each_other_anomaly_is_told(void **state) {
    sell(500, 493, 493, 7);
    find(ANOMALY_UNDERSELL, 7);
    find(ANOMALY_EARLY_SOLD_OUT, 3);
    assert_sentence("none: sold 493 of 500 units, customers were told sold out while units were "
                    "left, and 3 requests were told sold out before a later customer got a unit");
    sell(500, 500, 500, 0);
    find(ANOMALY_GHOST, 1);
    find(ANOMALY_ORPHAN, 2);
    find(ANOMALY_DUPLICATE, 1);
    assert_sentence("none: sold 500 of 500 units, 1 promise is not what the ledger says, 2 sales "
                    "were told to nobody, and 1 key bought more than one unit");
    sell(500, 400, 400, 100);
    find(ANOMALY_LEAK, 2);
    find(ANOMALY_STALE, 1);
    assert_sentence("none: sold 400 of 500 units, the count of what is left is off by 2, and 1 "
                    "sale saw a count that was out of date");
    sell(500, 60, 60, 440);
    find(ANOMALY_STUCK, 240);
    assert_sentence("none: sold 60 of 500 units, and 240 customers at the end got nothing while "
                    "units were left");
}

static void answer(enum record_outcome outcome, size_t count) {
    total->by_outcome[outcome] = count;
}

static void test_a_right_strategy_sold_once_each_and_refused_the_others(void **state) {
    sell(500, 500, 500, 0);
    verdict->kind = VERDICT_VALID;
    total->count = 808; /* eight customers asked twice: */
    total->repeats = 8;
    answer(RECORD_SOLD, 505);
    answer(RECORD_SOLD_OUT, 303);
    assert_sentence("none: sold all 500 units once each and refused the other 300");
    answer(RECORD_SOLD_OUT, 290);
    answer(RECORD_BUSY, 12);
    answer(RECORD_UNKNOWN, 1);
    assert_sentence("none: sold all 500 units once each, refused 290 as sold out, turned 12 away "
                    "as too busy, and left 1 without a yes or a no");
    sell(1000, 800, 800, 200);
    verdict->kind = VERDICT_VALID;
    answer(RECORD_SOLD_OUT, 0);
    answer(RECORD_BUSY, 0);
    answer(RECORD_UNKNOWN, 0);
    assert_sentence("none: sold 800 of 1000 units once each");
    sell(1, 1, 1, 0);
    verdict->kind = VERDICT_VALID;
    assert_sentence("none: sold the one unit once");
}

static void test_every_outcome_is_told(void **state) {
    sell(1000, 800, 800, 200);
    verdict->kind = VERDICT_VALID;
    answer(RECORD_REFUSED, 2);
    answer(RECORD_FAILED, 3);
    answer(RECORD_UNSENT, 4);
    assert_sentence("none: sold 800 of 1000 units once each, called 2 bad requests, answered 3 "
                    "with an error, and never got 4 that could not be sent");
}

static void test_an_open_verdict_claims_nothing(void **state) {
    sell(500, 500, 500, 0);
    verdict->kind = VERDICT_INCONCLUSIVE;
    answer(RECORD_SOLD_OUT, 300);
    assert_sentence("none: sold 500 of 500 units and refused 300 as sold "
                    "out; but this run proves nothing");
    sell(500, 0, 0, 0);
    verdict->kind = VERDICT_INCONCLUSIVE;
    assert_sentence("none: nothing is known of its sales, as the ledger was not read");
    verdict->kind = VERDICT_UNJUDGED;
    assert_sentence("none: answered 800 of 800 requests");
}

static void test_rounds_are_counted_with_their_stock(void **state) {
    sell(500, 1000, 1000, 0);
    verdict->kind = VERDICT_VALID;
    results[0].count = 2;
    results[0].rounds[1] = &rounds[0];
    assert_sentence("none: in 2 rounds sold all 1000 units once each");
}

/* Above the tables, and in summary.json. */
static void test_the_report_has_a_sentence_for_each_strategy(void **state) {
    char *text = printed(report_print), *json_text = printed(summary_json_write);
    char *sentence = strstr(text, "\natomic: sold 800 of 1000 units once each\n");
    json_t *json = json_loads(json_text, 0, NULL);
    json_t *last = json_array_get(json_object_get(json, "strategies"), 2);

    assert_non_null(sentence);
    assert_true(sentence < strstr(text, "\nstrategy "));
    assert_string_equal(json_string_value(json_object_get(last, "sentence")),
                        "atomic: sold 800 of 1000 units once each");
    json_decref(json);
    free(json_text);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, report_tear_down)
        TEST(test_an_oversell_is_told_in_customers_and_units),
        TEST(test_twins_within_the_stock_are_seen_in_what_is_left),
        TEST(test_each_other_anomaly_is_told),
        TEST(test_a_right_strategy_sold_once_each_and_refused_the_others),
        TEST(test_every_outcome_is_told),
        TEST(test_an_open_verdict_claims_nothing),
        TEST(test_rounds_are_counted_with_their_stock),
        TEST(test_the_report_has_a_sentence_for_each_strategy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
