/* How sending ends: stopped at any moment, without room, without a target, or never begun. */
#include "sender_fixture.h"
#include "test.h"

#include "clock.h"
#include "fault.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t grace_ms;

static int set_up_stop(void **state) {
    grace_ms = 20;
    return sending_set_up(state);
}

static void test_lost_replies_are_samples_of_the_timeout(void **state) {
    sending.answer_ms = 1000;
    sending.sender.timeout_ms = 50;
    sending_plan_requests(10, 2000);
    sending_run();
    sending_assert_outcomes(RECORD_UNKNOWN, 10);
    assert_int_equal(sending.recorder->latency.count, 10);
    assert_true(sending.recorder->latency.min >= 49000000);
}

static void test_a_dead_target_is_recorded(void **state) {
    sending.sender.port = 1;
    sending_plan_requests(20, 2000);
    sending_run();
    assert_int_equal(sending.result, 0);
    sending_assert_outcomes(RECORD_UNREACHED, 20);
    assert_int_equal(sending.recorder->latency.count, 0);
}

/* What it had answered is sold; what came later found nobody. */
static void sell_some_and_close(struct http_exchange *exchange, void *data) {
    if (sending.served == 20)
        sending_close_server();
    sending_sell(exchange, data);
}

static void test_a_target_may_die_in_the_middle(void **state) {
    sending.answer = sell_some_and_close;
    sending_plan_requests(400, 2000);
    sending_run();
    assert_int_equal(sending.result, 0);
    assert_int_equal(sending.recorder->ended, 400);
    assert_true(sending.recorder->by_outcome[RECORD_SOLD] >= 20);
    assert_true(sending.recorder->by_outcome[RECORD_UNREACHED] > 0);
    assert_int_equal(sending.recorder->by_outcome[RECORD_SOLD] +
                         sending.recorder->by_outcome[RECORD_UNREACHED] +
                         sending.recorder->by_outcome[RECORD_UNKNOWN],
                     400);
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(sending.recorder->records[i].sent_ns == 0,
                         sending.recorder->records[i].outcome == RECORD_UNREACHED);
}

/* Two may be under way and two may wait; the others find no room. */
static void test_requests_without_room_are_unsent(void **state) {
    sending.sender.connections = 2;
    sending.answer_ms = 300;
    sending_plan_requests(10, 10000);
    sending_run();
    sending_assert_outcomes(RECORD_UNSENT, 6);
    sending_assert_outcomes(RECORD_SOLD, 4);
}

static void test_room_that_comes_back_is_used(void **state) {
    sending.sender.connections = 1;
    sending.answer_ms = 50;
    sending_plan_requests(9, 10000);
    sending.plan.arrivals[8].due_ns = 2000000000;
    sending_run();
    sending_assert_outcomes(RECORD_UNSENT, 6);
    sending_assert_outcomes(RECORD_SOLD, 3);
    assert_int_equal(sending.recorder->records[8].outcome, RECORD_SOLD);
}

static void test_one_arrival_is_a_run(void **state) {
    sending_plan_requests(1, 1);
    sending_run();
    assert_int_equal(sending.result, 0);
    sending_assert_outcomes(RECORD_SOLD, 1);
}

static void on_stop(uv_timer_t *timer) {
    (void)timer;
    sender_stop(&sending.sender, grace_ms);
    sender_stop(&sending.sender, grace_ms);
}

/* The stop comes when the server has that many requests, so that none is on its way to it. */
static unsigned stop_at;

static void sell_and_stop(struct http_exchange *exchange, void *data) {
    if (sending.served + 1 == stop_at)
        assert_int_equal(uv_timer_start(&sending.stopper, on_stop, 0, 0), 0);
    sending_sell(exchange, data);
}

/* `now` requests at once, and as many half a minute later. */
static void plan_a_stop_at(unsigned served, unsigned now, int64_t answer_ms) {
    stop_at = served;
    sending.answer = sell_and_stop;
    sending.answer_ms = answer_ms;
    sending_plan_requests(2 * (size_t)now, 1000);
    for (size_t i = 0; i < 2 * (size_t)now; i++)
        sending.plan.arrivals[i].due_ns = i < now ? 0 : INT64_C(30000000000);
}

static void test_a_stop_gives_up_what_is_under_way(void **state) {
    plan_a_stop_at(10, 10, 1000);
    sending_run();
    sending_assert_outcomes(RECORD_UNKNOWN, 10);
    assert_int_equal(sending.recorder->count, 10);
}

static void test_a_stop_before_the_first_request_sends_none(void **state) {
    sending_plan_requests(100, 100);
    assert_int_equal(uv_timer_start(&sending.stopper, on_stop, 0, 0), 0);
    sending_run();
    assert_int_equal(sending.result, 0);
    assert_int_equal(sending.recorder->count, 0);
    assert_int_equal(sending.served, 0);
}

static void test_a_stop_before_the_run_sends_none(void **state) {
    sending_plan_requests(100, 100);
    sender_stop(&sending.sender, 20);
    sending_run();
    sender_stop(&sending.sender, 20);
    assert_int_equal(sending.result, 0);
    assert_int_equal(sending.recorder->count, 0);
    assert_int_equal(sending.served, 0);
}

/* It has until then begun to wait for the first planned moment, half a minute away. */
static void test_a_stop_before_the_first_moment_sends_none(void **state) {
    sending_plan_requests(1, 1);
    sending.plan.arrivals[0].due_ns = INT64_C(30000000000);
    assert_int_equal(uv_timer_start(&sending.stopper, on_stop, 300, 0), 0);
    sending_run();
    assert_int_equal(sending.result, 0);
    assert_int_equal(sending.recorder->count, 0);
}

static void test_a_stop_lets_answers_come_within_its_grace(void **state) {
    grace_ms = 20000;
    plan_a_stop_at(5, 5, 600);
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 5);
}

static void test_a_stop_gives_up_the_last_answers(void **state) {
    sending.answer = sell_and_stop;
    sending.answer_ms = 1000;
    stop_at = 5;
    sending_plan_requests(5, 1000);
    sending_run();
    sending_assert_outcomes(RECORD_UNKNOWN, 5);
}

static void on_late_stop(uv_timer_t *timer) {
    while (clock_now_ns() <= sending.recorder->start_ns + sending.plan.arrivals[1].due_ns)
        continue;
    on_stop(timer);
}

static void sell_and_stop_late(struct http_exchange *exchange, void *data) {
    if (sending.served == 0)
        assert_int_equal(uv_timer_start(&sending.stopper, on_late_stop, 0, 0), 0);
    sending_sell(exchange, data);
}

/* It could be sent, so it is not one that there was no connection for. */
static void test_a_stop_sends_what_became_due_in_the_same_turn(void **state) {
    grace_ms = 20000;
    sending.answer = sell_and_stop_late;
    sending_plan_requests(3, 10);
    sending.plan.arrivals[2].due_ns = INT64_C(30000000000);
    sending_run();
    sending_assert_outcomes(RECORD_SOLD, 2);
    assert_int_equal(sending.recorder->count, 2);
}

static void test_a_stop_leaves_what_waits_at_the_limit_unsent(void **state) {
    sending.sender.max_in_flight = 5;
    plan_a_stop_at(5, 10, 1000);
    sending_run();
    sending_assert_outcomes(RECORD_UNKNOWN, 5);
    assert_int_equal(sending.recorder->by_outcome[RECORD_UNSENT], 5);
    assert_int_equal(sending.recorder->count, 10);
}

static void test_a_host_that_is_none_is_told(void **state) {
    sending.sender.host = "no host at all";
    sending_plan_requests(10, 1000);
    sending_run();
    assert_int_equal(sending.result, UV_EINVAL);
    assert_int_equal(sending.recorder->count, 0);
}

static void test_a_process_without_files_is_told(void **state) {
    struct rlimit before, none;

    sending_plan_requests(10, 1000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    sending_run();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(sending.result, UV_EMFILE);
    assert_int_equal(sending.recorder->count, 0);
}

/* Without its server, whose allocations are not the sender's. */
static void send_to_nobody(void *arg) {
    (void)arg;
    if (fiber_start(sending_send_all, NULL) != 0)
        return;
    assert_int_equal(uv_run(&sending.loop, UV_RUN_DEFAULT), 0);
    assert_true(sending.result == 0 || sending.result == UV_ENOMEM);
    assert_int_equal(sending.recorder->ended, sending.result == 0 ? 3 : 0);
}

static void send_afresh(void *arg) {
    sending.sender = (struct sender){.loop = &sending.loop,
                                     .host = "127.0.0.1",
                                     .port = 1,
                                     .path = "/orders",
                                     .products = sending_products,
                                     .items = 1,
                                     .plan = &sending.plan,
                                     .recorder = sending.recorder,
                                     .timeout_ms = 1000,
                                     .connections = 2};
    sending.recorder->count = sending.recorder->ended = 0;
    send_to_nobody(arg);
}

static void test_no_memory_is_told_or_survived(void **state) {
    uv_close((uv_handle_t *)&sending.stopper, NULL);
    sending_close_server();
    assert_int_equal(uv_run(&sending.loop, UV_RUN_DEFAULT), 0);
    sending_plan_requests(3, 1000);
    fault_each_allocation(send_afresh, NULL);
}

#define STOPPED(test) cmocka_unit_test_setup_teardown(test, set_up_stop, sending_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        SENT(test_lost_replies_are_samples_of_the_timeout),
        SENT(test_a_dead_target_is_recorded),
        SENT(test_a_target_may_die_in_the_middle),
        SENT(test_requests_without_room_are_unsent),
        SENT(test_room_that_comes_back_is_used),
        SENT(test_one_arrival_is_a_run),
        STOPPED(test_a_stop_gives_up_what_is_under_way),
        STOPPED(test_a_stop_before_the_first_request_sends_none),
        STOPPED(test_a_stop_before_the_run_sends_none),
        STOPPED(test_a_stop_before_the_first_moment_sends_none),
        STOPPED(test_a_stop_lets_answers_come_within_its_grace),
        STOPPED(test_a_stop_gives_up_the_last_answers),
        STOPPED(test_a_stop_sends_what_became_due_in_the_same_turn),
        STOPPED(test_a_stop_leaves_what_waits_at_the_limit_unsent),
        SENT(test_a_host_that_is_none_is_told),
        SENT(test_a_process_without_files_is_told),
        SENT(test_no_memory_is_told_or_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
