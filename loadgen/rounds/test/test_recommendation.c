/* The cheapest strategy: it is valid and fast, and its cost is known. */
#include "recommendation.h"
#include "test.h"

#include <string.h>

enum { NONE, REDIS, SHARDED, ATOMIC, COUNT };

static const struct expectation valid = {.is_any = false};
static struct strategy_item items[COUNT] = {
    {.given = "none"}, {.given = "redis,ttl=2s"}, {.given = "sharded"}, {.given = "atomic"}};
static struct recorder *totals[COUNT];
static struct result results[COUNT];
static struct summary summary;
static struct recommendation made;

/* Each strategy sold 500 units, all of them rightly except `none`. */
static int set_up(void **state) {
    static const struct {
        uint64_t postgres, redis;
        double p99_ms;
    } figures[COUNT] = {{1000, 0, 5}, {1600, 2400, 2000}, {3000, 1100, 9}, {1100, 0, 14}};

    for (int i = 0; i < COUNT; i++) {
        totals[i] = recorder_make(0);
        if (totals[i] == NULL)
            return -1;
        totals[i]->costed = 800;
        totals[i]->postgres = figures[i].postgres;
        totals[i]->redis = figures[i].redis;
        results[i] = (struct result){.item = &items[i],
                                     .expectation = &valid,
                                     .count = 1,
                                     .total = totals[i],
                                     .verdict = {.kind = VERDICT_VALID, .sold = 500},
                                     .p99_ms = {.median = figures[i].p99_ms}};
    }
    results[NONE].verdict.kind = VERDICT_VIOLATED;
    summary = (struct summary){.count = COUNT, .results = results};
    return 0;
}

static int tear_down(void **state) {
    for (int i = 0; i < COUNT; i++)
        recorder_free(totals[i]);
    return 0;
}

static void assert_cheapest(int expected) {
    recommendation_make(&summary, &made);
    assert_ptr_equal(made.cheapest, &results[expected]);
}

static void assert_none(void) {
    recommendation_make(&summary, &made);
    assert_null(made.cheapest);
    assert_string_equal(made.sentence, "");
}

static void test_fewest_round_trips_per_unit_are_the_cheapest(void **state) {
    assert_cheapest(ATOMIC);
    assert_true(made.is_by_trips);
    assert_string_equal(made.sentence,
                        "cheapest valid: atomic: of the fast strategies it makes the fewest round "
                        "trips to Postgres and Redis per unit sold, 2.2, p99 14 ms; next is "
                        "sharded: 8.2, p99 9.0 ms. Fast means a p99 of at most 29 ms");
}

static void test_a_slow_strategy_is_not_the_cheapest(void **state) {
    results[ATOMIC].p99_ms.median = 29.5;
    assert_cheapest(SHARDED);
    results[ATOMIC].p99_ms.median = 29;
    assert_cheapest(ATOMIC);
    for (int i = REDIS; i < COUNT; i++)
        results[i].p99_ms.median = 800;
    results[ATOMIC].p99_ms.median = 2401;
    assert_cheapest(REDIS);
    results[ATOMIC].p99_ms.median = 2400;
    assert_cheapest(ATOMIC);
}

/* Refusals are cheap, and sell nothing. */
static void test_cost_is_shared_by_what_was_sold(void **state) {
    results[ATOMIC].verdict.sold = 10;
    assert_cheapest(SHARDED);
}

static void test_equal_cost_is_decided_by_the_p99(void **state) {
    totals[SHARDED]->postgres = 1000;
    totals[SHARDED]->redis = 110;
    assert_cheapest(SHARDED);
}

/* Other locks report their round trips. */
static void test_a_poll_of_a_lock_on_the_disk_counts_as_a_round_trip(void **state) {
    totals[ATOMIC]->retries = 500 * 250;
    totals[ATOMIC]->locks[RECORD_LOCK_REDIS] = 800;
    assert_cheapest(ATOMIC);
    totals[ATOMIC]->locks[RECORD_LOCK_MKDIR] = 800;
    assert_cheapest(SHARDED);
    assert_non_null(strstr(made.sentence, "next is atomic: 252.2,"));
}

static void test_p99_decides_where_a_cost_was_not_told(void **state) {
    totals[REDIS]->costed = 0;
    assert_cheapest(SHARDED);
    assert_false(made.is_by_trips);
    assert_string_equal(
        made.sentence,
        "cheapest valid: sharded, with the lowest p99: 9.0 ms; next is atomic: 14 ms");
}

static void test_only_valid_as_expected_and_within_thresholds_is_named(void **state) {
    static const struct expectation twin = {.must = 1 << ANOMALY_TWIN};
    struct threshold_outcome missed = {.result = &results[REDIS]};

    results[ATOMIC].verdict.kind = VERDICT_INCONCLUSIVE;
    results[SHARDED].expectation = &twin;
    assert_cheapest(REDIS);
    assert_null(strstr(made.sentence, "next"));
    summary.outcomes = &missed;
    summary.outcome_count = 1;
    assert_none();
}

static void test_one_strategy_alone_is_no_choice(void **state) {
    summary.results = &results[ATOMIC];
    summary.count = 1;
    assert_none();
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_fewest_round_trips_per_unit_are_the_cheapest),
        TEST(test_a_slow_strategy_is_not_the_cheapest),
        TEST(test_cost_is_shared_by_what_was_sold),
        TEST(test_equal_cost_is_decided_by_the_p99),
        TEST(test_a_poll_of_a_lock_on_the_disk_counts_as_a_round_trip),
        TEST(test_p99_decides_where_a_cost_was_not_told),
        TEST(test_only_valid_as_expected_and_within_thresholds_is_named),
        TEST(test_one_strategy_alone_is_no_choice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
