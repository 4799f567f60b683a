/* The open loop against a server in this process: on time whatever the answers, each request once.
 */
#include "sender.h"

#include "http_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BODY "{\"product_id\":\"01900000-0000-7000-8000-000000000001\"}"

static uv_loop_t loop;
static struct http_server *server;
static struct plan plan;
static struct recorder *recorder;
static struct sender sender;
static int sender_rc;
static http_handler answer;
static int64_t answer_ms; /* how long the server takes */
static unsigned served;   /* requests that the server has begun */
static uv_timer_t stopper;

/* A sale of unit 7 to the key that asked. */
static void sell(struct http_exchange *exchange, void *data) {
    const char *key = http_header(exchange, "Idempotency-Key");
    size_t length;

    (void)data;
    served++;
    assert_non_null(key);
    assert_string_equal(http_body(exchange, &length), BODY);
    if (answer_ms > 0)
        fiber_sleep(&loop, (uint64_t)answer_ms);
    http_reply_json(exchange, 201, json_pack("{s:s, s:i}", "order_id", key, "unit", 7));
}

static void refuse(struct http_exchange *exchange, void *data) {
    static const int statuses[] = {409, 503, 504, 422, 500, 201};

    (void)data;
    http_reply(exchange, statuses[served++ % 6], "text/plain", "what?", 5);
}

static void drop(struct http_exchange *exchange, void *data) {
    (void)data;
    http_reply_drop(exchange);
}

static void on_request(struct http_exchange *exchange, void *data) {
    answer(exchange, data);
}

static int set_up(void **state) {
    static const struct http_route routes[] = {{"POST", "/orders", on_request}, {0}};
    struct http_server_options options = {.routes = routes};

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(http_server_open(&server, &loop, &options), 0);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(uv_timer_init(&loop, &stopper), 0);
    answer = sell;
    answer_ms = served = 0;
    sender = (struct sender){.loop = &loop,
                             .host = "127.0.0.1",
                             .port = http_server_port(server),
                             .path = "/orders",
                             .body = BODY,
                             .plan = &plan,
                             .timeout_ms = 10000,
                             .connections = 100};
    return 0;
}

static void plan_requests(size_t count, int64_t rate) {
    assert_int_equal(plan_make(&plan, count, rate, PLAN_CONSTANT, 1), 0);
    recorder = recorder_make(count);
    assert_non_null(recorder);
    sender.recorder = recorder;
}

static int tear_down(void **state) {
    (void)state;
    fiber_cleanup();
    recorder_free(recorder);
    recorder = NULL;
    plan_free(&plan);
    return uv_loop_close(&loop);
}

static void on_server_closed(void *data) {
    (void)data;
    server = NULL;
}

static void close_server(void) {
    if (server != NULL)
        http_server_close(server, on_server_closed, NULL);
}

static void send_all(void *arg) {
    (void)arg;
    sender_rc = sender_run(&sender);
    if (!uv_is_closing((uv_handle_t *)&stopper))
        uv_close((uv_handle_t *)&stopper, NULL);
    close_server();
}

static void run(void) {
    assert_int_equal(fiber_start(send_all, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(fiber_alive(), 0);
}

static void assert_outcomes(enum record_outcome outcome, size_t count) {
    size_t counted = 0;

    assert_int_equal(recorder->by_outcome[outcome], count);
    for (size_t i = 0; i < recorder->count; i++)
        counted += recorder->records[i].outcome == outcome;
    assert_int_equal(counted, count);
}

static void test_each_request_is_sent_once_and_recorded(void **state) {
    (void)state;
    plan_requests(200, 2000);
    run();
    assert_int_equal(sender_rc, 0);
    assert_int_equal(served, 200);
    assert_int_equal(recorder->count, 200);
    assert_int_equal(recorder->answered, 200);
    assert_outcomes(RECORD_SOLD, 200);
    for (size_t i = 0; i < 200; i++) {
        const struct record *record = &recorder->records[i];

        assert_int_equal(record->unit, 7);
        assert_int_equal(record->status, 201);
        assert_string_equal(record->order_id, record->key);
        assert_int_equal(record->planned_ns, plan.due_ns[i]);
        assert_true(record->sent_ns >= record->planned_ns);
        assert_true(record->received_ns > record->sent_ns);
        assert_true(i == 0 || strcmp(record->key, recorder->records[i - 1].key) != 0);
    }
}

/* All are under way at the same time: had one waited for an answer, they would take 10 s. */
static void test_late_answers_delay_no_request(void **state) {
    (void)state;
    plan_requests(50, 1000);
    answer_ms = 500;
    run();
    assert_outcomes(RECORD_SOLD, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(recorder->records[49].sent_ns < recorder->records[i].received_ns);
}

static void test_answers_have_their_outcomes(void **state) {
    (void)state;
    answer = refuse;
    plan_requests(60, 2000);
    run();
    assert_outcomes(RECORD_SOLD_OUT, 10);
    assert_outcomes(RECORD_BUSY, 10);
    assert_outcomes(RECORD_UNKNOWN, 10);
    assert_outcomes(RECORD_REFUSED, 10);
    assert_outcomes(RECORD_FAILED, 10);
    assert_outcomes(RECORD_SOLD, 10);
    for (size_t i = 0; i < 60; i++)
        assert_int_equal(recorder->records[i].unit, -1);
}

static void test_dropped_replies_are_unknown(void **state) {
    (void)state;
    answer = drop;
    plan_requests(20, 2000);
    run();
    assert_outcomes(RECORD_UNKNOWN, 20);
    assert_int_equal(recorder->answered, 0);
    assert_int_equal(recorder->latency.count, 20);
}

static void test_lost_replies_are_samples_of_the_timeout(void **state) {
    (void)state;
    answer_ms = 1000;
    sender.timeout_ms = 50;
    plan_requests(10, 2000);
    run();
    assert_outcomes(RECORD_UNKNOWN, 10);
    assert_int_equal(recorder->latency.count, 10);
    assert_true(recorder->latency.min >= 49000000);
}

static void test_a_dead_target_is_recorded(void **state) {
    (void)state;
    sender.port = 1;
    plan_requests(20, 2000);
    run();
    assert_int_equal(sender_rc, 0);
    assert_outcomes(RECORD_UNREACHED, 20);
    assert_int_equal(recorder->latency.count, 0);
}

/* Two may be under way and two may wait; the others find no room. */
static void test_requests_without_room_are_unsent(void **state) {
    (void)state;
    sender.connections = 2;
    answer_ms = 300;
    plan_requests(10, 10000);
    run();
    assert_outcomes(RECORD_UNSENT, 6);
    assert_outcomes(RECORD_SOLD, 4);
}

static void on_stop(uv_timer_t *timer) {
    (void)timer;
    sender_stop(&sender, 20);
    sender_stop(&sender, 20);
}

static void test_a_stop_gives_up_what_is_under_way(void **state) {
    (void)state;
    answer_ms = 3000;
    plan_requests(10000, 100);
    assert_int_equal(uv_timer_start(&stopper, on_stop, 200, 0), 0);
    run();
    assert_true(recorder->count > 0 && recorder->count < 10000);
    assert_outcomes(RECORD_UNKNOWN, recorder->count);
}

static void test_an_empty_plan_sends_nothing(void **state) {
    (void)state;
    plan_requests(0, 100);
    run();
    assert_int_equal(sender_rc, 0);
    assert_int_equal(served, 0);
}

#define SENT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        SENT(test_each_request_is_sent_once_and_recorded),
        SENT(test_late_answers_delay_no_request),
        SENT(test_answers_have_their_outcomes),
        SENT(test_dropped_replies_are_unknown),
        SENT(test_lost_replies_are_samples_of_the_timeout),
        SENT(test_a_dead_target_is_recorded),
        SENT(test_requests_without_room_are_unsent),
        SENT(test_a_stop_gives_up_what_is_under_way),
        SENT(test_an_empty_plan_sends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
