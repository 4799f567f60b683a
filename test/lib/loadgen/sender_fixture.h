/* A sender and a server for it in this process, on one loop; the test says how the server answers.
 */
#ifndef LOADGEN_TEST_SENDER_FIXTURE_H
#define LOADGEN_TEST_SENDER_FIXTURE_H

#include "product.h"
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

static const struct product products[3] = {{.id = "01900000-0000-7000-8000-000000000001"},
                                           {.id = "01900000-0000-7000-8000-000000000002"},
                                           {.id = "01900000-0000-7000-8000-000000000003"}};
static uv_loop_t loop;
static struct http_server *server;
static struct plan plan;
static struct recorder *recorder;
static struct sender sender;
static int sender_rc;
static http_handler answer;
static int64_t answer_ms;              /* how long the server takes */
static unsigned served;                /* requests that the server has begun */
static unsigned serving, most_serving; /* at a time */
static uv_timer_t stopper;

/* A sale of unit 7 to the key that asked. */
static inline void sell(struct http_exchange *exchange, void *data) {
    const char *key = http_header(exchange, "Idempotency-Key");
    size_t length;

    (void)data;
    served++;
    if (++serving > most_serving)
        most_serving = serving;
    assert_non_null(key);
    assert_string_equal(http_body(exchange, &length), BODY);
    if (answer_ms > 0)
        fiber_sleep(&loop, (uint64_t)answer_ms);
    serving--;
    http_reply_json(exchange, 201, json_pack("{s:s, s:i}", "order_id", key, "unit", 7));
}

static inline void on_request(struct http_exchange *exchange, void *data) {
    answer(exchange, data);
}

static inline int set_up(void **state) {
    static const struct http_route routes[] = {{"POST", "/orders", on_request}, {0}};
    struct http_server_options options = {.routes = routes};

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(http_server_open(&server, &loop, &options), 0);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(uv_timer_init(&loop, &stopper), 0);
    answer = sell;
    answer_ms = served = serving = most_serving = 0;
    sender = (struct sender){.loop = &loop,
                             .host = "127.0.0.1",
                             .port = http_server_port(server),
                             .path = "/orders",
                             .products = products,
                             .items = 1,
                             .plan = &plan,
                             .timeout_ms = 10000,
                             .connections = 100};
    return 0;
}

static inline struct plan_shape shape_of(size_t count, int64_t rate) {
    return (struct plan_shape){
        .count = count,
        .stage_count = 1,
        .stages = {{(int64_t)((double)count / (double)rate * 1e9), (double)rate, (double)rate}},
        .arrival = PLAN_CONSTANT,
        .seed = 1,
        .items = 1};
}

static inline void plan_shape(const struct plan_shape *shape) {
    assert_int_equal(plan_make(&plan, shape), 0);
    recorder = recorder_make(plan.count);
    assert_non_null(recorder);
    sender.recorder = recorder;
}

static inline void plan_requests(size_t count, int64_t rate) {
    struct plan_shape shape = shape_of(count, rate);

    plan_shape(&shape);
}

static inline int tear_down(void **state) {
    (void)state;
    fiber_cleanup();
    recorder_free(recorder);
    recorder = NULL;
    plan_free(&plan);
    return uv_loop_close(&loop);
}

static inline void on_server_closed(void *data) {
    (void)data;
    server = NULL;
}

static inline void close_server(void) {
    if (server != NULL)
        http_server_close(server, on_server_closed, NULL);
}

static inline void send_all(void *arg) {
    (void)arg;
    sender_rc = sender_run(&sender);
    assert_int_equal(recorder_seal(recorder), 0);
    if (!uv_is_closing((uv_handle_t *)&stopper))
        uv_close((uv_handle_t *)&stopper, NULL);
    close_server();
}

static inline void run(void) {
    assert_int_equal(fiber_start(send_all, NULL), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    fiber_cleanup(); /* which asserts that all have ended */
}

static inline void assert_outcomes(enum record_outcome outcome, size_t count) {
    size_t counted = 0;

    assert_int_equal(recorder->by_outcome[outcome], count);
    for (size_t i = 0; i < recorder->count; i++)
        counted += recorder->records[i].outcome == outcome;
    assert_int_equal(counted, count);
}

static inline const struct record *record_of(size_t number) {
    for (size_t i = 0; i < recorder->ended; i++)
        if (recorder->records[i].number == number)
            return &recorder->records[i];
    fail_msg("request %zu has no record", number);
    return NULL;
}

#define SENT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
