/* Runs a sender and its server in this process, on one loop; the test sets the server's answers. */
#include "sender_fixture.h"
#include "test.h"

#include <string.h>

const struct product sending_products[3] = {{.id = "01900000-0000-7000-8000-000000000001"},
                                            {.id = "01900000-0000-7000-8000-000000000002"},
                                            {.id = "01900000-0000-7000-8000-000000000003"}};
struct sending sending;

void sending_sell(struct http_exchange *exchange, void *data) {
    const char *key = http_header(exchange, "Idempotency-Key");
    size_t length;

    (void)data;
    sending.served++;
    if (++sending.serving > sending.most_serving)
        sending.most_serving = sending.serving;
    assert_non_null(key);
    assert_string_equal(http_body(exchange, &length), SENDING_BODY);
    if (sending.answer_ms > 0)
        fiber_sleep(&sending.loop, (uint64_t)sending.answer_ms);
    sending.serving--;
    http_reply_json(exchange, 201, json_pack("{s:s, s:i}", "order_id", key, "unit", 7));
}

static void on_request(struct http_exchange *exchange, void *data) {
    sending.answer(exchange, data);
}

int sending_set_up(void **state) {
    static const struct http_route routes[] = {{"POST", "/orders", on_request}, {0}};
    struct http_server_options options = {.routes = routes};

    assert_int_equal(uv_loop_init(&sending.loop), 0);
    assert_int_equal(http_server_open(&sending.server, &sending.loop, &options), 0);
    assert_int_equal(http_server_listen(sending.server, "127.0.0.1", 0), 0);
    assert_int_equal(uv_timer_init(&sending.loop, &sending.stopper), 0);
    sending.answer = sending_sell;
    sending.answer_ms = sending.served = sending.serving = sending.most_serving = 0;
    sending.sender = (struct sender){.loop = &sending.loop,
                                     .host = "127.0.0.1",
                                     .port = http_server_port(sending.server),
                                     .path = "/orders",
                                     .products = sending_products,
                                     .items = 1,
                                     .plan = &sending.plan,
                                     .timeout_ms = 10000,
                                     .connections = 100};
    return 0;
}

struct plan_shape sending_shape(size_t count, int64_t rate) {
    return (struct plan_shape){
        .count = count,
        .stage_count = 1,
        .stages = {{(int64_t)((double)count / (double)rate * 1e9), (double)rate, (double)rate}},
        .arrival = PLAN_CONSTANT,
        .seed = 1,
        .items = 1};
}

void sending_plan_shape(const struct plan_shape *shape) {
    assert_int_equal(plan_make(&sending.plan, shape), 0);
    sending.recorder = recorder_make(sending.plan.count);
    assert_non_null(sending.recorder);
    sending.sender.recorder = sending.recorder;
}

void sending_plan_requests(size_t count, int64_t rate) {
    struct plan_shape shape = sending_shape(count, rate);

    sending_plan_shape(&shape);
}

int sending_tear_down(void **state) {
    fiber_cleanup();
    recorder_free(sending.recorder);
    sending.recorder = NULL;
    plan_free(&sending.plan);
    return uv_loop_close(&sending.loop);
}

static void on_server_closed(void *data) {
    (void)data;
    sending.server = NULL;
}

void sending_close_server(void) {
    if (sending.server != NULL)
        http_server_close(sending.server, on_server_closed, NULL);
}

void sending_send_all(void *arg) {
    (void)arg;
    sending.result = sender_run(&sending.sender);
    if (!uv_is_closing((uv_handle_t *)&sending.stopper))
        uv_close((uv_handle_t *)&sending.stopper, NULL);
    sending_close_server();
}

void sending_run(void) {
    assert_int_equal(fiber_start(sending_send_all, NULL), 0);
    assert_int_equal(uv_run(&sending.loop, UV_RUN_DEFAULT), 0);
    fiber_cleanup(); /* asserts that all fibers have ended */
}

void sending_assert_outcomes(enum record_outcome outcome, size_t count) {
    size_t counted = 0;

    assert_int_equal(sending.recorder->by_outcome[outcome], count);
    for (size_t i = 0; i < sending.recorder->count; i++)
        counted += sending.recorder->records[i].outcome == outcome;
    assert_int_equal(counted, count);
}

const struct record *sending_record(size_t number) {
    for (size_t i = 0; i < sending.recorder->ended; i++)
        if (sending.recorder->records[i].number == number)
            return &sending.recorder->records[i];
    fail_msg("request %zu has no record", number);
    return NULL;
}
