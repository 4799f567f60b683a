/* violations.txt: the anomalies of each round, the proofs, and their timeline. */
#include "folder_files.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

static struct strategy_item item = {.given = "none,work=2ms", .name = "none"};
static struct product products[2] = {{.id = "01900000-0000-7000-8000-000000000001"},
                                     {.id = "01900000-0000-7000-8000-000000000002"}};
static struct round round_one;
static struct result result;
static struct summary summary;
static char *text;

static struct counterexample *const twin = &round_one.verdict.counterexample[0];

/* Two sales of 4 ms each, 1 ms apart; their rows 2 ms and 3 ms after the first was sent. */
static int set_up(void **state) {
    struct verdict *verdict = &round_one.verdict;

    round_one = (struct round){
        .item = &item, .items = 1, .products = products, .repeat = 1, .started_us = 1000000000};
    result = (struct result){.item = &item, .count = 1, .rounds = {&round_one}};
    summary = (struct summary){.count = 1, .results = &result};
    text = NULL;
    verdict->kind = VERDICT_VIOLATED;
    verdict->counterexamples = 1;
    verdict->found[ANOMALY_TWIN] =
        (struct anomaly_found){.count = 431, .examples = 1, .example = {"unit 58 sold twice"}};
    *twin =
        (struct counterexample){.anomaly = ANOMALY_TWIN, .ops = 2, .lines = 1, .line = {"A and B"}};
    for (int i = 0; i < 2; i++) {
        snprintf(twin->op[i].instance, LEDGER_INSTANCE, "inventory-%d", i + 1);
        twin->op[i].sent_ns = (10 + i) * MS;
        twin->op[i].answered_ns = (14 + i) * MS;
        twin->op[i].ledger_us = 1000000000 + 12000 + i * 1000;
    }
    return 0;
}

static int tear_down(void **state) {
    free(text);
    return 0;
}

static const char *find(const char *part) {
    size_t size;
    FILE *to;

    free(text);
    to = open_memstream(&text, &size);
    assert_non_null(to);
    assert_int_equal(violations_write(&summary, to), 0);
    assert_int_equal(fclose(to), 0);
    return strstr(text, part);
}

static void assert_has(const char *part) {
    if (find(part) == NULL)
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void assert_lacks(const char *part) {
    if (find(part) != NULL)
        fail_msg("\"%s\" is in:\n%s", part, text);
}

static void test_a_violation_is_told_with_its_count_and_its_proof(void **state) {
    assert_has("none,work=2ms, round 2: VIOLATED\n  product 01900000-0000-7000-8000-000000000001");
    assert_has("TWIN, 431 times: one unit was sold twice\n    unit 58 sold twice\n");
    assert_has("counterexample 1 of 1: TWIN\n    A and B\n");
    assert_lacks("no violation");
}

static void test_each_instance_and_the_database_have_a_lane(void **state) {
    assert_has("from 0.010000 s to 0.015000 s (5.0 ms)");
    /* 72 columns for 5 ms: 14.2 to the millisecond. */
    assert_has("inventory-1  |[A======================================================]\n");
    assert_has("inventory-2  |              [B=======================================");
    assert_has("database     |                            A             B\n");
}

static void test_the_ledgers_clock_is_set_right_or_nothing_of_it_is_drawn(void **state) {
    round_one.ledger_skew_us = -1000;
    assert_has("database     |              A             B\n");
    round_one.started_us = 0;
    assert_has("inventory-1  |[A");
    assert_lacks("database");
}

static void test_long_names_move_all_lanes(void **state) {
    snprintf(twin->op[1].instance, LEDGER_INSTANCE, "inventory-of-the-second-shop");
    assert_has("\n      inventory-1                  |[A");
    assert_has("\n      inventory-of-the-second-shop |  ");
    assert_has("\n      database                     |  ");
}

/* Both are at the right end, where the second has no room after the first. */
static void test_rows_at_the_end_are_both_drawn(void **state) {
    twin->op[0].ledger_us = twin->op[1].ledger_us = 1000000000 + 15000;
    assert_has("  AB\n");
}

/* Unless they follow each other. */
static void test_two_on_one_instance_stand_below_each_other(void **state) {
    memcpy(twin->op[1].instance, twin->op[0].instance, LEDGER_INSTANCE);
    assert_has("inventory-1  |[A");
    assert_has("inventory-1  |              [B");
    assert_lacks("inventory-2");
    twin->op[1].sent_ns = 20 * MS;
    twin->op[1].answered_ns = 25 * MS;
    assert_has("]\n      database");
    assert_non_null(strstr(strstr(text, "inventory-1  |[A"), "[B"));
    assert_null(strstr(strstr(text, "inventory-1") + 1, "inventory-1"));
}

static void test_what_was_not_answered_is_open(void **state) {
    twin->op[1].answered_ns = 0;
    assert_has("[A====");
    assert_has(">\n");
}

static void test_what_has_no_times_has_no_timeline(void **state) {
    twin->ops = 0;
    assert_has("A and B");
    assert_lacks("sent, ]");
}

/* One within the timeline, one after the last answer, and one of a server outside of the
 * timeline. */
static void test_events_have_a_lane_and_a_line_each(void **state) {
    twin->events = 3;
    twin->event[0] = (struct counterexample_event){
        .at_ns = 12 * MS, .letter = 'A', .who = "inventory-1", .text = "after-read pause 4000 ms"};
    twin->event[1] = (struct counterexample_event){
        .at_ns = 15 * MS, .letter = 'B', .who = "inventory-2", .text = "DEL: yes"};
    twin->event[2] =
        (struct counterexample_event){.at_ns = 2 * MS, .who = "redis", .text = "restart"};
    assert_has("database     |                            A             B\n"
               "      events       |                            1"
               "                                          2\n"
               "      1 = 0.012000 s, A at inventory-1: after-read pause 4000 ms\n"
               "      2 = 0.015000 s, B at inventory-2: DEL: yes\n"
               "      3 = 0.002000 s, redis: restart\n");
}

static void test_what_was_armed_is_told(void **state) {
    struct firings *firings = &round_one.verdict.firings;

    firings_arm_spec(firings, "none,fail=after-read:pause=4s@9,fail=before-write:crash");
    firings->items[0].times = 2;
    firings->items[0].first = (struct event){.at_ns = 12 * MS,
                                             .kind = EVENT_FAILPOINT,
                                             .who = "inventory-1",
                                             .name = "after-read",
                                             .detail = "pause 4000 ms",
                                             .order_id = "x"};
    assert_has(
        "  fired 2 times: after-read:pause=4s@9, first after-read pause 4000 ms at inventory-1,"
        " order x, 0.012000 s\n  never fired: before-write:crash\n");
}

static void test_of_several_products_the_one_is_named(void **state) {
    twin->item = 1;
    round_one.items = 2;
    assert_has("counterexample 1 of 1: TWIN, product 01900000-0000-7000-8000-000000000002\n");
}

static void test_no_violation_has_its_bound(void **state) {
    round_one.verdict = (struct verdict){.kind = VERDICT_VALID, .overlapping = 24000};
    assert_has("VALID");
    assert_has("no violation in 24000 overlapping attempts");
    assert_has("with 95 % confidence the true rate is below 0.013 %\n");
    assert_has("the stock never ran out: its last units were not tested");
    round_one.verdict.has_ended = true;
    assert_lacks("never ran out");
    round_one.verdict.overlapping = 0;
    assert_has("too few to say anything about races");
}

static void test_an_inconclusive_round_says_why_and_has_no_bound(void **state) {
    round_one.verdict = (struct verdict){
        .kind = VERDICT_INCONCLUSIVE, .overlapping = 24000, .reasons = 1, .reason = {"cut off"}};
    assert_has("INCONCLUSIVE");
    assert_has("inconclusive: cut off\n");
    assert_lacks("confidence");
}

static void test_a_full_disk_is_told(void **state) {
    FILE *to = fopen("/dev/full", "w");

    assert_non_null(to);
    assert_int_equal(violations_write(&summary, to), -1);
    (void)fclose(to);
}

#define WRITTEN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WRITTEN(test_a_violation_is_told_with_its_count_and_its_proof),
        WRITTEN(test_each_instance_and_the_database_have_a_lane),
        WRITTEN(test_the_ledgers_clock_is_set_right_or_nothing_of_it_is_drawn),
        WRITTEN(test_long_names_move_all_lanes),
        WRITTEN(test_rows_at_the_end_are_both_drawn),
        WRITTEN(test_two_on_one_instance_stand_below_each_other),
        WRITTEN(test_what_was_not_answered_is_open),
        WRITTEN(test_what_has_no_times_has_no_timeline),
        WRITTEN(test_events_have_a_lane_and_a_line_each),
        WRITTEN(test_what_was_armed_is_told),
        WRITTEN(test_of_several_products_the_one_is_named),
        WRITTEN(test_no_violation_has_its_bound),
        WRITTEN(test_an_inconclusive_round_says_why_and_has_no_bound),
        WRITTEN(test_a_full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
