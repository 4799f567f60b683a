/* The rate that a lock allows, computed from its hold time. */
#include "capacity.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    recorder_free(total);
    return 0;
}

static void make(void) {
    capacity_make(&result, &options, &capacity);
}

/* Computes the capacity of 800 orders with this lock, by two instances. */
static void fill(enum record_lock lock, double hold_ms, double wait_ms, double last_ms) {
    total->costed = 800;
    total->by_outcome[RECORD_SOLD] = 800;
    total->sold_ns = (int64_t)(last_ms * (double)MS);
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
    make();
}

static void test_an_offer_above_the_ceiling_leaves_a_queue(void **state) {
    fill(RECORD_LOCK_REDIS, 3, 800, 2600);
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
    assert_string_equal(
        capacity.sentence,
        "redis holds its key 3.0 ms on average, so at most 333 sales/s; you offered "
        "800/s: about 467 would queue after 1.0 s, and the last would wait 1.4 s; "
        "measured 308/s while it sold, p99 wait 800 ms");
}

static void test_a_slow_handover_is_told(void **state) {
    fill(RECORD_LOCK_REDIS, 3, 800, 4000);
    assert_true(capacity.is_handover_slow);
    assert_true(is_near(capacity.reached, 0.6, 0.001));
    assert_true(is_near(capacity.handover_ms, 2, 0.001)); /* 200 turns a second, 3 ms held */
    assert_non_null(strstr(capacity.sentence,
                           "; measured 200/s while it sold, p99 wait 800 ms; that "
                           "is 60 % of the ceiling, as if each handover to the "
                           "next holder took 2.0 ms more"));
}

/* The holds alone would serve all orders, but there was a queue. */
static void test_a_handover_that_makes_a_queue_is_told(void **state) {
    fill(RECORD_LOCK_REDIS, 1, 300, 1500);
    assert_true(capacity.utilization < 1);
    assert_true(is_near(capacity.backlog, 0, 1e-6));
    assert_true(capacity.is_handover_slow);
}

static void test_an_offer_below_the_ceiling_leaves_none(void **state) {
    fill(RECORD_LOCK_REDIS, 3, 0.5, 1005);
    total->shards = 10;
    make();
    assert_int_equal(capacity.lanes, 10);
    assert_true(is_near(capacity.busiest, 0.1, 1e-9));
    assert_true(is_near(capacity.ceiling, 3333, 1));
    assert_false(capacity.is_handover_slow);
    assert_non_null(strstr(capacity.sentence, "each of its 10 keys 3.0 ms"));
    assert_non_null(strstr(capacity.sentence, "no lasting queue"));
}

static void test_an_offer_just_below_the_ceiling_is_told_to_wait_in_bursts(void **state) {
    fill(RECORD_LOCK_REDIS, 1, 0.5, 1005);
    assert_false(capacity.is_handover_slow);
    assert_non_null(strstr(capacity.sentence, "no lasting queue, but 80 % busy"));
}

static void test_a_process_lock_has_a_lane_in_each_instance(void **state) {
    fill(RECORD_LOCK_LOCAL, 3, 100, 1300);
    assert_int_equal(capacity.lanes, 2);
    assert_true(is_near(capacity.ceiling, 666.7, 0.1));
    assert_non_null(strstr(capacity.sentence, "each of its 2 locks"));
}

static void test_products_have_locks_of_their_own(void **state) {
    fill(RECORD_LOCK_REDIS, 3, 1, 1000);
    options.shape.count = 1500;
    lap.items = options.shape.items = 4;
    make();
    assert_int_equal(capacity.lanes, 4);
    assert_true(is_near(capacity.ceiling, 4 * 333.3, 1));
    options.shape.zipf = 1; /* 1 : 1/2 : 1/3 : 1/4 */
    make();
    assert_true(is_near(capacity.busiest, 0.48, 1e-6));
    assert_true(is_near(capacity.ceiling, 4 * 333.3, 1)); /* the other lanes continue */
    assert_true(is_near(capacity.utilization, 1500 * 0.48 * 0.003, 0.001));
    assert_non_null(strstr(capacity.sentence, " would queue at the busiest after "));
}

static void test_a_ramp_queues_only_where_it_is_above_the_ceiling(void **state) {
    fill(RECORD_LOCK_REDIS, 2.5, 100, 4000); /* 400 a second */
    options.shape.stage_count = 2;
    options.shape.stages[0] = (struct plan_stage){2000 * MS, 0, 800};
    options.shape.stages[1] = (struct plan_stage){2000 * MS, 100, 100};
    options.shape.count = 1000;
    make();
    assert_true(is_near(capacity.offered, 250, 1e-6));
    assert_true(is_near(capacity.backlog, 200, 1)); /* the triangle above 400 */
    options.shape.count = 2000;                     /* --requests: twice as dense */
    make();
    assert_true(is_near(capacity.backlog, 900, 2)); /* 1.5 s, up to 1,200 above */
}

static void test_without_a_lock_only_the_row_is_told(void **state) {
    strcpy(item.given, "atomic");
    fill(RECORD_LOCK_UNTOLD, 0, 0, 1000);
    assert_int_equal(capacity.bound, CAPACITY_ROW);
    assert_true(is_near(capacity.commit_p50_ms, 1, 0.01));
    assert_true(is_near(capacity.sold, 800, 1e-6));
    assert_true(is_near(capacity.ceiling, 0, 1e-9));
    assert_non_null(strstr(capacity.sentence, "atomic takes no lock beside the row's own"));
    assert_non_null(strstr(capacity.sentence, "orders compete for the stock row"));
    assert_non_null(strstr(capacity.sentence, "1.0 ms (p50)"));
    total->redis = 800;
    make();
    assert_non_null(strstr(capacity.sentence,
                           "takes no lock: orders compete in Redis; a sale there took 1.0 ms"));
}

static void test_replies_that_told_nothing_explain_nothing(void **state) {
    make();
    assert_int_equal(capacity.bound, CAPACITY_UNTOLD);
    assert_string_equal(capacity.sentence, "");
    total->costed = 5; /* refusals: no order ever held the lock */
    total->locks[RECORD_LOCK_REDIS] = 5;
    make();
    assert_int_equal(capacity.bound, CAPACITY_UNTOLD);
    result.count = 0;
    make();
    assert_int_equal(capacity.bound, CAPACITY_UNTOLD);
}

/* ---- compared with the measurement */

static void refuse(size_t count, double hold_ms) {
    total->by_outcome[RECORD_SOLD_OUT] = total->unsold_holds = count;
    total->unsold_hold_ns = (int64_t)((double)count * hold_ms * (double)MS);
}

/* The stock ends after 300 of 800; the others hold the lock for a fifth of the time. */
static void test_only_holds_that_sold_make_the_ceiling(void **state) {
    fill(RECORD_LOCK_REDIS, 2.5, 400, 1000);
    assert_true(is_near(capacity.ceiling, 800, 0.1)); /* the same number as measured */
    total->sold_ns = 2000 * MS;
    make();
    assert_true(is_near(capacity.ceiling, 400, 0.1));
    refuse(500, 0.5);
    make();
    assert_true(is_near(capacity.hold_ms, 2.5, 1e-6));
    assert_true(is_near(capacity.unsold_hold_ms, 0.5, 1e-6));
    assert_true(is_near(capacity.ceiling, 400, 0.1));
}

/* Refused orders make a shorter queue than the same number of buyers. */
static void test_the_queue_is_shorter_where_the_stock_ends(void **state) {
    fill(RECORD_LOCK_REDIS, 2.5, 400, 750);
    total->hold.count = 300; /* the mean stays the same */
    total->hold.sum = 300 * 2.5 * (double)MS;
    refuse(500, 0.5);
    make();
    /* By 750 ms 300 are served and 600 have come; from then on 2,000 a second leave. */
    assert_true(is_near(capacity.backlog, 300, 3));
    assert_true(is_near(capacity.backlog_s, 0.75, 0.01));
    /* The 300th order comes at 375 ms. */
    assert_true(is_near(capacity.longest_wait, 0.375, 0.005));
}

/* A lease expired, or a holder was stopped: the mean hold time is useless. */
static void test_no_ceiling_is_told_that_was_passed(void **state) {
    fill(RECORD_LOCK_REDIS, 20, 5000, 8000); /* 50 a second, and 100 were sold */
    assert_true(capacity.is_overlapping);
    assert_true(capacity.ceiling >= capacity.turns);
    assert_null(strstr(capacity.sentence, "at most"));
    assert_non_null(strstr(capacity.sentence,
                           "its key 20 ms on average, but these holds overlapped: "
                           "a lease expired, or each machine has its own lock;"));
    assert_non_null(strstr(capacity.sentence, "measured 100/s"));
}

static void test_a_long_wait_without_a_queue_is_told(void **state) {
    fill(RECORD_LOCK_REDIS, 1, 1800, 1000);
    total->shards = 10;
    for (size_t i = 0; i < 760; i++)
        histogram_record(&total->wait, MS / 10); /* half of them do not wait */
    make();
    assert_null(strstr(capacity.sentence, "no lasting queue"));
    assert_non_null(strstr(capacity.sentence, "that alone makes no long wait, but some waited "
                                              "long; measured 800/s while it sold, p99 wait 1.8"));
}

static double part(void) {
    return drand48();
}

/* Draws from `least` to `most`; each magnitude has the same chance. */
static double magnitude(double least, double most) {
    return least * pow(most / least, part());
}

static void fill_at_random(void) {
    const enum record_lock lock = part() < 0.5 ? RECORD_LOCK_REDIS : RECORD_LOCK_LOCAL;
    const size_t count = (size_t)magnitude(1, 3000), sold = 1 + (size_t)(part() * (double)count);
    const double hold_ms = magnitude(0.05, 100), wait_ms = magnitude(0.01, 5000);

    options.shape.count = count;
    options.shape.zipf = part() < 0.5 ? 0 : 3 * part();
    options.shape.stages[0] = (struct plan_stage){(int64_t)(magnitude(10, 10000) * (double)MS),
                                                  part() * 800, 1 + part() * 800};
    lap.items = options.shape.items = (uint32_t)magnitude(1, 20);
    total->shards = (uint32_t)magnitude(1, 30);
    total->costed = total->locks[lock] = count;
    total->by_outcome[RECORD_SOLD] = sold;
    total->sold_ns = (int64_t)(magnitude(1, 20000) * (double)MS);
    (void)recorder_instance(total, "inventory-1");
    (void)recorder_instance(total, "inventory-2");
    for (size_t i = 0; i < sold; i++) {
        histogram_record(&total->hold, (int64_t)(hold_ms * 2 * part() * (double)MS) + 1000);
        histogram_record(&total->wait, (int64_t)(wait_ms * 2 * part() * (double)MS));
    }
    refuse(count - sold, hold_ms * part());
}

static void assert_true_to_what_was_measured(int n) {
    const char *limit = strstr(capacity.sentence, "at most "), *text = capacity.sentence;
    const char *measured = strstr(text, "measured ");
    const double wait_ms = (double)histogram_percentile(&total->wait, 99) / (double)MS;

    assert_non_null(measured);
    assert_true(strlen(text) + 1 < sizeof capacity.sentence);
    assert_true(isfinite(capacity.backlog) && isfinite(capacity.longest_wait));
    if (limit != NULL &&
        strtod(limit + strlen("at most "), NULL) < strtod(measured + strlen("measured "), NULL))
        fail_msg("%d: the ceiling was passed: %s", n, text);
    if (strstr(text, "no lasting queue") != NULL && wait_ms > 20 &&
        wait_ms > 10.1 * capacity.hold_ms)
        fail_msg("%d: there was a queue: %s", n, text);
    if (capacity.reached > 1)
        fail_msg("%d: more than all of the ceiling was reached: %s", n, text);
}

static void test_no_sentence_contradicts_what_was_measured(void **state) {
    srand48(7);
    for (int n = 0; n < 3000; n++) {
        (void)tear_down(state);
        (void)set_up(state);
        fill_at_random();
        make();
        assert_int_equal(capacity.bound, CAPACITY_LOCK);
        assert_true_to_what_was_measured(n);
    }
}

/* Simulates a lock with a queue, first come, first served: the longest wait of any customer.
 * Customers come at even times. The first `buyers` of them buy. */
static double longest_wait_s(double rate, size_t count, size_t buyers, double hold_s,
                             double unsold_s) {
    double free_s = 0, longest = 0;

    for (size_t i = 0; i < count; i++) {
        double came_s = (double)i / rate, begins_s = fmax(free_s, came_s);

        longest = fmax(longest, begins_s - came_s);
        free_s = begins_s + (i < buyers ? hold_s : unsold_s);
    }
    return longest;
}

static void test_the_longest_wait_is_that_of_a_line(void **state) {
    srand48(8);
    for (int n = 0; n < 200; n++) {
        const double hold_ms = magnitude(0.5, 10), unsold_ms = hold_ms * part();
        const size_t buyers = 1 + (size_t)(part() * 800);
        double expected = longest_wait_s(800, 800, buyers, hold_ms / 1000, unsold_ms / 1000);

        (void)tear_down(state);
        (void)set_up(state);
        fill(RECORD_LOCK_REDIS, hold_ms, 1, 100000);
        total->hold.count = buyers;
        total->hold.sum = (double)buyers * hold_ms * (double)MS;
        if (buyers < 800)
            refuse(800 - buyers, unsold_ms);
        make();
        if (!is_near(capacity.longest_wait, expected, 0.01 + 0.02 * expected))
            fail_msg("%zu buyers, %.2f ms, %.2f ms: %.3f s, and it is %.3f s", buyers, hold_ms,
                     unsold_ms, capacity.longest_wait, expected);
    }
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
        TEST(test_only_holds_that_sold_make_the_ceiling),
        TEST(test_the_queue_is_shorter_where_the_stock_ends),
        TEST(test_no_ceiling_is_told_that_was_passed),
        TEST(test_a_long_wait_without_a_queue_is_told),
        TEST(test_no_sentence_contradicts_what_was_measured),
        TEST(test_the_longest_wait_is_that_of_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
