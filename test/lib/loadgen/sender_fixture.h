/* A sender and its server in this process, on one loop. The test sets the server's answers. */
#ifndef LOADGEN_TEST_SENDER_FIXTURE_H
#define LOADGEN_TEST_SENDER_FIXTURE_H

#include "sender.h"

#include "http_server.h"

#define SENDING_BODY "{\"product_id\":\"01900000-0000-7000-8000-000000000001\"}"

extern const struct product sending_products[3];
extern struct sending {
    uv_loop_t loop;
    struct http_server *server;
    struct plan plan;
    struct recorder *recorder;
    struct sender sender;
    int result; /* the result of sender_run() */
    http_handler answer;
    int64_t answer_ms;              /* delay of each answer of the server */
    unsigned served;                /* requests that the server has started */
    unsigned serving, most_serving; /* requests in the server at a time */
    uv_timer_t stopper;             /* for the test */
} sending;

/* Serves on a free port, and sells. */
int sending_set_up(void **state);
int sending_tear_down(void **state);

/* Steady arrivals, `count` of them at `rate` a second. */
struct plan_shape sending_shape(size_t count, int64_t rate);
/* The requests to send, and their recorder. */
void sending_plan_shape(const struct plan_shape *shape);
void sending_plan_requests(size_t count, int64_t rate);
/* Sends all of it in a fiber of the loop, and closes the server. */
void sending_run(void);
/* The part of it that runs in the fiber. */
void sending_send_all(void *arg);
void sending_close_server(void);

/* Answers with a sale of unit 7 to the request's key. */
void sending_sell(struct http_exchange *exchange, void *data);

/* Asserts that this many records have the outcome, and that the recorder counts the same. */
void sending_assert_outcomes(enum record_outcome outcome, size_t count);
const struct record *sending_record(size_t number);

#define SENT(test) cmocka_unit_test_setup_teardown(test, sending_set_up, sending_tear_down)

#endif
