/* What a lock allows, worked out from the time that it was held. */
#include "capacity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static struct options options;
static struct strategy_item item;
static struct round lap;
static struct recorder *total;
static struct result result;
static struct capacity capacity;

static bool is_near(double value, double expected, double within) {
    return value > expected - within && value < expected + within;
}

/* 800 orders in one second, all answered and sold after `last_ms`. */
static int set_up(void **state) {
    (void)state;
    options = (struct options){.shape = {.count = 800, .items = 1, .stage_count = 1}};
    options.shape.stages[0] = (struct plan_stage){1000 * MS, 800, 800};
    item = (struct strategy_item){.given = "redis"};
    lap = (struct round){.items = 1};
    total = recorder_make(0);
    assert_non_null(total);
    result = (struct result){.item = &item, .count = 1, .rounds = {&lap}, .total = total};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    recorder_free(total);
    return 0;
}

/* 800 orders that took this lock, by two instances. */
static void fill(enum record_lock lock, double hold_ms, double wait_ms, double last_ms) {
    total->costed = 800;
    total->by_outcome[RECORD_SOLD] = 800;
    total->last_ns = (int64_t)(last_ms * (double)MS);
    total->shards = 1;
    (void)recorder_instance(total, "inventory-1");
    (void)recorder_instance(total, "inventory-2");
    if (lock != RECORD_LOCK_UNTOLD)
        total->locks[lock] = 800;
    for (int i = 0; i < 800; i++) {
        histogram_record(&total->commit, 1 * MS);
        if (lock == RECORD_LOCK_UNTOLD)
            continue;
        histogram_record(&total->hold, (int64_t)(hold_ms * (double)MS));
        histogram_record(&total->wait, (int64_t)(wait_ms * (double)MS));
    }
}

static void test_an_offer_above_the_ceiling_leaves_a_queue(void **state) {
    (void)state;
    fill(RECORD_LOCK_REDIS, 3, 800, 2600);
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.bound, CAPACITY_LOCK);
    assert_int_equal(capacity.lanes, 1);
    assert_true(is_near(capacity.hold_ms, 3, 1e-6));
    assert_true(is_near(capacity.ceiling, 333.3, 0.1));
    assert_true(is_near(capacity.offered, 800, 1e-6));
    assert_true(is_near(capacity.utilization, 2.4, 0.001));
    assert_true(is_near(capacity.backlog, 466.7, 0.1)); /* (800 - 333.3) x 1 s */
    assert_true(is_near(capacity.longest_wait, 1.4, 0.001));
    assert_true(is_near(capacity.turns, 307.7, 0.1));
    assert_true(is_near(capacity.sold, 307.7, 0.1));
    assert_true(is_near(capacity.reached, 0.923, 0.001));
    assert_false(capacity.is_handover_slow);
    assert_string_equal(capacity.sentence,
                        "redis holds its key 3.0 ms -> at most 333 orders/s; you offered 800/s: a "
                        "queue of about 467 after 1.0 s, the last waits 1.4 s; measured 308/s, p99 "
                        "wait 800 ms");
}

static void test_a_slow_handover_is_told(void **state) {
    (void)state;
    fill(RECORD_LOCK_REDIS, 3, 800, 4000);
    capacity_make(&result, &options, &capacity);
    assert_true(capacity.is_handover_slow);
    assert_true(is_near(capacity.reached, 0.6, 0.001));
    assert_true(is_near(capacity.handover_ms, 2, 0.001)); /* 200 turns a second, 3 ms held */
    assert_non_null(strstr(capacity.sentence, "; measured 200/s, p99 wait 800 ms; that is 60 % of "
                                              "the ceiling, as each handover to the next holder "
                                              "takes about 2.0 ms more"));
}

/* The holds alone would let all through, and yet there was a queue. */
static void test_a_handover_that_makes_a_queue_is_told(void **state) {
    (void)state;
    fill(RECORD_LOCK_REDIS, 1, 300, 1500);
    capacity_make(&result, &options, &capacity);
    assert_true(capacity.utilization < 1);
    assert_true(is_near(capacity.backlog, 0, 1e-6));
    assert_true(capacity.is_handover_slow);
}

static void test_an_offer_below_the_ceiling_leaves_none(void **state) {
    (void)state;
    fill(RECORD_LOCK_REDIS, 3, 0.5, 1005);
    total->shards = 10;
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.lanes, 10);
    assert_true(is_near(capacity.busiest, 0.1, 1e-9));
    assert_true(is_near(capacity.ceiling, 3333, 1));
    assert_false(capacity.is_handover_slow);
    assert_non_null(strstr(capacity.sentence, "each of its 10 keys 3.0 ms"));
    assert_non_null(strstr(capacity.sentence, "no queue that lasts"));
}

static void test_an_offer_just_below_the_ceiling_is_told_to_wait_in_bursts(void **state) {
    (void)state;
    fill(RECORD_LOCK_REDIS, 1, 0.5, 1005);
    capacity_make(&result, &options, &capacity);
    assert_false(capacity.is_handover_slow);
    assert_non_null(strstr(capacity.sentence, "no queue that lasts, but 80 % busy"));
}

static void test_a_process_lock_has_a_lane_in_each_instance(void **state) {
    (void)state;
    fill(RECORD_LOCK_LOCAL, 3, 100, 1300);
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.lanes, 2);
    assert_true(is_near(capacity.ceiling, 666.7, 0.1));
    assert_non_null(strstr(capacity.sentence, "each of its 2 locks"));
}

static void test_products_have_locks_of_their_own(void **state) {
    (void)state;
    fill(RECORD_LOCK_REDIS, 3, 1, 1000);
    lap.items = options.shape.items = 4;
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.lanes, 4);
    assert_true(is_near(capacity.ceiling, 4 * 333.3, 1));
    options.shape.zipf = 1; /* 1 : 1/2 : 1/3 : 1/4 */
    capacity_make(&result, &options, &capacity);
    assert_true(is_near(capacity.busiest, 0.48, 1e-6));
    assert_true(is_near(capacity.ceiling, 694.4, 0.1));
}

static void test_a_ramp_queues_only_where_it_is_above_the_ceiling(void **state) {
    (void)state;
    fill(RECORD_LOCK_REDIS, 2.5, 100, 4000); /* 400 a second */
    options.shape.stage_count = 2;
    options.shape.stages[0] = (struct plan_stage){2000 * MS, 0, 800};
    options.shape.stages[1] = (struct plan_stage){2000 * MS, 100, 100};
    options.shape.count = 1000;
    capacity_make(&result, &options, &capacity);
    assert_true(is_near(capacity.offered, 250, 1e-6));
    assert_true(is_near(capacity.backlog, 200, 1)); /* the triangle above 400 */
    options.shape.count = 2000;                     /* --requests: twice as dense */
    capacity_make(&result, &options, &capacity);
    assert_true(is_near(capacity.backlog, 900, 2)); /* 1.5 s, up to 1,200 above */
}

static void test_without_a_lock_only_the_row_is_told(void **state) {
    (void)state;
    strcpy(item.given, "atomic");
    fill(RECORD_LOCK_UNTOLD, 0, 0, 1000);
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.bound, CAPACITY_ROW);
    assert_true(is_near(capacity.commit_p50_ms, 1, 0.01));
    assert_true(is_near(capacity.sold, 800, 1e-6));
    assert_true(is_near(capacity.ceiling, 0, 1e-9));
    assert_non_null(strstr(capacity.sentence, "atomic takes no lock"));
    assert_non_null(strstr(capacity.sentence, "1.0 ms (p50)"));
}

static void test_replies_that_told_nothing_explain_nothing(void **state) {
    (void)state;
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.bound, CAPACITY_UNTOLD);
    assert_string_equal(capacity.sentence, "");
    total->costed = 5; /* refusals, and nobody ever held the lock */
    total->locks[RECORD_LOCK_REDIS] = 5;
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.bound, CAPACITY_UNTOLD);
    result.count = 0;
    capacity_make(&result, &options, &capacity);
    assert_int_equal(capacity.bound, CAPACITY_UNTOLD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_an_offer_above_the_ceiling_leaves_a_queue),
        TEST(test_a_slow_handover_is_told),
        TEST(test_a_handover_that_makes_a_queue_is_told),
        TEST(test_an_offer_below_the_ceiling_leaves_none),
        TEST(test_an_offer_just_below_the_ceiling_is_told_to_wait_in_bursts),
        TEST(test_a_process_lock_has_a_lane_in_each_instance),
        TEST(test_products_have_locks_of_their_own),
        TEST(test_a_ramp_queues_only_where_it_is_above_the_ceiling),
        TEST(test_without_a_lock_only_the_row_is_told),
        TEST(test_replies_that_told_nothing_explain_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
