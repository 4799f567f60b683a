/* The sentence about a strategy: it is true, and needs no legend. */
#include "report_fixture.h"
#include "sentence.h"
#include "summary_json.h"

#include <jansson.h>

/* A result of `none`: the units for sale, sold and left, the anomalies, and the answers. A 0 in
 * outcomes, requests or rounds keeps the value of the fixture: one round of 800 requests, all
 * sold. */
struct scene {
    const char *name;
    int64_t stock, sold, distinct, left;
    enum verdict_kind kind;
    int64_t found[ANOMALY_COUNT];
    size_t outcomes[RECORD_OUTCOME_COUNT];
    size_t requests, repeats, rounds;
    bool is_unnumbered;
    const char *sentence;
};

static const struct scene scenes[] = {
    {"test_an_oversell_is_told_in_customers_and_units", 500, 800, 223, 277, VERDICT_VIOLATED,
     .found = {[ANOMALY_OVERSELL] = 300,
               [ANOMALY_TWIN] = 577,
               [ANOMALY_LEAK] = 3,
               [ANOMALY_STALE] = 111},
     .sentence = "none: sold 800 of 500 units, 300 customers hold an order for nothing, and 577 "
                 "orders are for a unit that was sold already"},
    {"test_an_oversell_of_one_is_told_in_the_singular", 1, 2, 1, 0, VERDICT_VIOLATED,
     .found = {[ANOMALY_OVERSELL] = 1, [ANOMALY_TWIN] = 1},
     .sentence = "none: sold 2 of 1 unit, 1 customer holds an order for nothing, and 1 order is "
                 "for a unit that was sold already"},
    {"test_twins_within_the_stock_are_seen_in_what_is_left", 1000, 800, 223, 777, VERDICT_VIOLATED,
     .found[ANOMALY_TWIN] = 577,
     .sentence = "none: sold 800 of 1000 units, the stock says 777 are left instead of 200, and "
                 "577 orders are for a unit that was sold already"},
    {"test_units_that_nobody_got_are_told", 500, 493, 493, 7, VERDICT_VIOLATED,
     .found = {[ANOMALY_UNDERSELL] = 7, [ANOMALY_EARLY_SOLD_OUT] = 3},
     .sentence = "none: sold 493 of 500 units, customers were told sold out while units were "
                 "left, and 3 requests were told sold out before a later customer got a unit"},
    {"test_promises_and_sales_that_differ_are_told", 500, 500, 500, 0, VERDICT_VIOLATED,
     .found = {[ANOMALY_GHOST] = 1, [ANOMALY_ORPHAN] = 2, [ANOMALY_DUPLICATE] = 1},
     .sentence = "none: sold 500 of 500 units, 1 promise is contradicted by the ledger, 2 "
                 "sales were confirmed to no customer, and 1 key bought more than one unit"},
    {"test_counts_that_are_off_are_told", 500, 400, 400, 100, VERDICT_VIOLATED,
     .found = {[ANOMALY_LEAK] = 2, [ANOMALY_STALE] = 1},
     .sentence = "none: sold 400 of 500 units, 2 units are missing from the count, or in it twice, "
                 "and 1 sale saw a count that was out of date"},
    {"test_customers_that_got_stuck_are_told", 500, 60, 60, 440, VERDICT_VIOLATED,
     .found[ANOMALY_STUCK] = 240,
     .sentence = "none: sold 60 of 500 units, and 240 customers got nothing at the end while "
                 "units were left"},
    {"test_orders_without_units_are_told", 50, 160, 160, 0, VERDICT_VIOLATED,
     .found[ANOMALY_UNBACKED] = 110,
     .sentence = "none: sold 160 of 50 units, the stock row is right, and 110 paid orders have "
                 "nothing in it"},
    {"test_an_order_without_a_unit_beside_a_wrong_row_is_told", 10, 15, 15, 0, VERDICT_VIOLATED,
     .found = {[ANOMALY_OVERSELL] = 5, [ANOMALY_UNBACKED] = 1},
     .sentence = "none: sold 15 of 10 units, 5 customers hold an order for nothing, and 1 paid "
                 "order has too little or nothing in the stock row"},
    /* Eight customers asked twice. */
    {"test_a_right_strategy_sold_once_each_and_refused_the_others", 500, 500, 500, 0, VERDICT_VALID,
     .requests = 808, .repeats = 8, .outcomes = {[RECORD_SOLD] = 505, [RECORD_SOLD_OUT] = 303},
     .sentence = "none: sold all 500 units once each and refused the other 300"},
    {"test_the_others_may_be_too_many_or_get_no_answer", 500, 500, 500, 0, VERDICT_VALID,
     .requests = 808, .repeats = 8,
     .outcomes =
         {[RECORD_SOLD] = 505, [RECORD_SOLD_OUT] = 290, [RECORD_BUSY] = 12, [RECORD_UNKNOWN] = 1},
     .sentence = "none: sold all 500 units once each, refused 290 as sold out, turned 12 away "
                 "as too busy, and left 1 without a yes or a no"},
    {"test_a_right_strategy_may_leave_units", 1000, 800, 800, 200, VERDICT_VALID, .requests = 808,
     .repeats = 8, .outcomes[RECORD_SOLD] = 505,
     .sentence = "none: sold 800 of 1000 units once each"},
    {"test_one_unit_is_told_in_the_singular", 1, 1, 1, 0, VERDICT_VALID, .requests = 808,
     .repeats = 8, .outcomes[RECORD_SOLD] = 505, .sentence = "none: sold the one unit once"},
    {"test_every_outcome_is_told", 1000, 800, 800, 200, VERDICT_VALID,
     .outcomes = {[RECORD_REFUSED] = 2, [RECORD_FAILED] = 3, [RECORD_UNSENT] = 4},
     .sentence = "none: sold 800 of 1000 units once each, rejected 2 as bad requests, answered 3 "
                 "with an error, and never got 4 that could not be sent"},
    {"test_an_open_verdict_claims_nothing", 500, 500, 500, 0, VERDICT_INCONCLUSIVE,
     .outcomes = {[RECORD_SOLD_OUT] = 300},
     .sentence = "none: sold 500 of 500 units and refused 300 as sold "
                 "out; but this run proves nothing"},
    {"test_a_ledger_that_was_not_read_tells_nothing", 500, 0, 0, 0, VERDICT_INCONCLUSIVE,
     .outcomes = {[RECORD_SOLD_OUT] = 300},
     .sentence = "none: its sales are unknown, because the ledger was not read"},
    {"test_what_is_not_judged_was_answered", 500, 0, 0, 0, VERDICT_UNJUDGED,
     .outcomes = {[RECORD_SOLD_OUT] = 300}, .sentence = "none: answered 800 of 800 requests"},
    {"test_rounds_are_counted_with_their_stock", 500, 1000, 1000, 0, VERDICT_VALID, .rounds = 2,
     .sentence = "none: in 2 rounds sold all 1000 units once each"},
    {"test_sales_without_numbers_are_not_told_apart", 500, 500, 500, 0, VERDICT_VALID,
     .is_unnumbered = true, .sentence = "none: sold 500 of 500 units"}};

#define SCENES (sizeof scenes / sizeof scenes[0])

static void test_sentence(void **state) {
    const struct scene *scene = *state;
    struct result *result = &results[0];
    char text[SENTENCE_TEXT];

    options.stock = scene->stock;
    result->verdict =
        (struct verdict){.kind = scene->kind,
                         .sold = scene->sold,
                         .distinct = scene->distinct,
                         .left = scene->left,
                         .not_asked[ANOMALY_TWIN] = scene->is_unnumbered ? "of a reason" : NULL};
    rounds[0].verdict = result->verdict;
    for (int i = 0; i < ANOMALY_COUNT; i++)
        result->verdict.found[i].count = scene->found[i];
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        if (scene->outcomes[i] > 0)
            result->total->by_outcome[i] = scene->outcomes[i];
    result->total->count = scene->requests > 0 ? scene->requests : result->total->count;
    result->total->repeats = scene->repeats;
    result->count = scene->rounds > 0 ? scene->rounds : 1;
    result->rounds[1] = &rounds[0];
    assert_string_equal(sentence_make(result, &options, text), scene->sentence);
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
    struct CMUnitTest tests[SCENES + 1] = {
        REPORTED(test_the_report_has_a_sentence_for_each_strategy)};

    for (size_t i = 0; i < SCENES; i++)
        tests[i + 1] = (struct CMUnitTest){scenes[i].name, test_sentence, report_set_up,
                                           report_tear_down, (void *)(uintptr_t)&scenes[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
