/* A sender and a server for it in this process, on one loop; the test says how the server answers.
 */
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
    int result; /* of sender_run() */
    http_handler answer;
    int64_t answer_ms;              /* how long the server takes */
    unsigned served;                /* requests that the server has begun */
    unsigned serving, most_serving; /* at a time */
    uv_timer_t stopper;             /* the test's own */
} sending;

/* Serves on a free port, and sells. */
int sending_set_up(void **state);
int sending_tear_down(void **state);

/* Steady arrivals, `count` of them at `rate` a second. */
struct plan_shape sending_shape(size_t count, int64_t rate);
/* What is to be sent, and where it is recorded. */
void sending_plan_shape(const struct plan_shape *shape);
void sending_plan_requests(size_t count, int64_t rate);
/* Send it all, in a fiber of the loop, until the server is closed again. */
void sending_run(void);
/* The fiber's part of it. */
void sending_send_all(void *arg);
void sending_close_server(void);

/* An answer: a sale of unit 7 to the key that asked. */
void sending_sell(struct http_exchange *exchange, void *data);

/* So many records have the outcome, and are counted with it. */
void sending_assert_outcomes(enum record_outcome outcome, size_t count);
const struct record *sending_record(size_t number);

#define SENT(test) cmocka_unit_test_setup_teardown(test, sending_set_up, sending_tear_down)

#endif
