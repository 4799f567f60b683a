/* Crowds of customers against a shop of the test, well behaved and not. */
#include "crowd.h"
#include "fault.h"
#include "http_server.h"
#include "test.h"
#include "wait.h"

#include <malloc.h>

#define LARGE  (8 * 1024 * 1024)
#define LEDGER "== ledger postgres db ==\n[Orders]\nSELECT 1\n[Stock]\nSELECT 2\n"
#define OUTCOME                                                                                    \
    "== outcome ==\nsold jsonpath \"$.state\" == \"paid\"\nsoldout body contains \"no stock\"\n"   \
    "busy status == 429\nrefused status == 400\n"
#define GET(path)  "GET " path "\nHTTP *\n"
#define POST(path) "POST " path "\n{\"customer\": {{n}}}\nHTTP *\n"
#define CAPTURE    "[Captures]\norder: jsonpath \"$.id\"\n"
#define MARK       "== commit ==\n"
#define LONG_ID    "0123456789012345678901234567890123456789012345678901234567890123456789"
#define MOST_BYTES 20000 /* of a prepared customer */

static uv_loop_t loop;
static struct http_server *server;
static struct shop shop;
static struct plan plan;
static struct recorder *recorder;
static struct flow *flow;
static struct crowd *crowd;
static struct fiber_event gate;
static int64_t timeout_ms;
static int port;
static unsigned closing, waiting, asked, most_at_once, at_once;
static int prepared, sent; /* the codes */
static bool is_over;
static struct why why;
static char *large;
static const char *data_of_bad = "<html>\x1b[31m\x07\r\n<h1>token-12\"3</h1>\xff\xe2\x80\xae";
static char text[16 * 1024];

static void on_closed(void *data) {
    closing--;
}

/* ---- the shop */

static void say(struct http_exchange *exchange, int status, const char *body) {
    http_reply(exchange, status, "application/json", body, strlen(body));
}

static void on_order(struct http_exchange *exchange, void *data) {
    char reply[64];

    (void)snprintf(reply, sizeof reply, "{\"state\": \"paid\", \"id\": \"o%u\"}", asked++);
    say(exchange, 200, reply);
}

static void on_said(struct http_exchange *exchange, void *data) {
    const char *reply = http_query_param(exchange, "reply"),
               *status = http_query_param(exchange, "status");

    http_reply_header(exchange, "Retry-After", "1");
    say(exchange, status != NULL ? atoi(status) : 200, reply != NULL ? reply : "");
}

static void on_few(struct http_exchange *exchange, void *data) {
    if (++at_once > most_at_once)
        most_at_once = at_once;
    fiber_sleep(&loop, 1);
    at_once--;
    say(exchange, 200, "{}");
}

static void on_slow(struct http_exchange *exchange, void *data) {
    static const char reply[] = "{\"state\": \"paid\", \"id\": \"slow\"}";

    asked++;
    if (http_reply_begin(exchange, 200, "application/json", sizeof reply - 1))
        for (const char *at = reply; *at != '\0' && http_reply_part(exchange, at, 1); at++)
            fiber_sleep(&loop, 0);
}

static void on_silent(struct http_exchange *exchange, void *data) {
    waiting++;
    while (!gate.is_set)
        fiber_sleep(&loop, 1);
    on_order(exchange, data);
}

static void on_drop(struct http_exchange *exchange, void *data) {
    asked++;
    http_reply_drop(exchange);
}

/* `size` bytes of JSON. */
static void on_large(struct http_exchange *exchange, void *data) {
    static const char reply[] = "{\"state\": \"paid\", \"id\": \"large\"}";

    asked++;
    memcpy(large, reply, sizeof reply - 1);
    http_reply(exchange, 200, "application/json", large,
               (size_t)atoi(http_query_param(exchange, "size")));
}

static void on_bad(struct http_exchange *exchange, void *data) {
    asked++;
    http_reply(exchange, 500, "text/html", data_of_bad, strlen(data_of_bad));
}

static void on_cookie(struct http_exchange *exchange, void *data) {
    char cookie[64];

    (void)snprintf(cookie, sizeof cookie, "sid=%u-0123456789abcdef; Path=/", ++waiting);
    http_reply_header(exchange, "Set-Cookie", cookie);
    say(exchange, 200, "{\"cart\": \"0123456789abcdef\"}");
}

static void on_every_third(struct http_exchange *exchange, void *data) {
    say(exchange, waiting++ % 3 == 2 ? 500 : 200, "{}");
}

static const struct http_route routes[] = {{"POST", "/order", on_order},
                                           {"GET", "/said", on_said},
                                           {"GET", "/few", on_few},
                                           {"GET", "/slow", on_slow},
                                           {"GET", "/silent", on_silent},
                                           {"GET", "/drop", on_drop},
                                           {"GET", "/large", on_large},
                                           {"POST", "/bad", on_bad},
                                           {"POST", "/cookie", on_cookie},
                                           {"GET", "/third", on_every_third},
                                           {NULL, NULL, NULL}};

/* ---- the crowd */

static void open_crowd(size_t count, int rate, const char *sections,
                       const struct crowd_options *options) {
    const struct flow_options flow_options = {.timeout_ms = timeout_ms};
    const struct plan_shape shape = {
        .count = count,
        .stage_count = 1,
        .stages = {{(int64_t)((double)count / rate * 1e9), (double)rate, (double)rate}},
        .arrival = PLAN_CONSTANT,
        .seed = 1,
        .items = 1};

    (void)snprintf(text, sizeof text, "shop T\nbase http://127.0.0.1:%d\n%s%s", port, sections,
                   LEDGER);
    assert_int_equal(plan_make(&plan, &shape), 0);
    recorder = recorder_make(count);
    assert_non_null(recorder);
    if (shop_parse(&shop, "a.shop", text, strlen(text), &why) != 0 ||
        flow_open(&flow, &loop, &shop, &flow_options, 7, &why) != 0 ||
        crowd_open(&crowd, &loop, flow, &shop, &plan, recorder, options, &why) != 0)
        fail_msg("%s\n%s", why.text, text);
}

static void go(void *arg) {
    prepared = crowd_prepare(crowd, &why);
    sent = prepared == 0 ? crowd_send(crowd) : 0;
    is_over = true;
}

static void go_prepare(void *arg) {
    is_over = false;
    prepared = crowd_prepare(crowd, &why);
    is_over = true;
}

static void start_crowd(void) {
    is_over = false;
    assert_int_equal(fiber_start(go, NULL), 0);
}

static void close_crowd(void) {
    crowd_close(crowd);
    closing++;
    flow_close(flow, on_closed, NULL);
    WAIT_FOR(&loop, closing == 0);
    recorder_free(recorder);
    plan_free(&plan);
    shop_free(&shop);
}

static void run_crowd(size_t count, int rate, const char *sections) {
    const struct crowd_options options = {0};

    open_crowd(count, rate, sections, &options);
    start_crowd();
    WAIT_FOR(&loop, is_over);
}

static void expect_all(enum record_outcome outcome) {
    assert_int_equal(prepared, 0);
    assert_int_equal(sent, 0);
    assert_int_equal(recorder->count, plan.count);
    assert_int_equal(recorder->ended, plan.count);
    for (size_t i = 0; i < plan.count; i++)
        if (recorder->records[i].outcome != outcome)
            fail_msg("customer %zu is %s instead of %s\n%s", i + 1,
                     record_outcome_name(recorder->records[i].outcome),
                     record_outcome_name(outcome), text);
}

/* ---- tests */

static void test_each_customer_orders_once_and_is_recorded(void **state) {
    const struct crowd_step *steps;
    char base[32];
    size_t count;

    run_crowd(100, 2000,
              "== prepare ==\n" GET("/few") "== order ==\n" GET("/said") MARK
              "POST /order\n{\"key\": \"{{key}}\"}\nHTTP 200\n" CAPTURE OUTCOME);
    expect_all(RECORD_SOLD);
    assert_int_equal(asked, 100);
    assert_int_equal(crowd_counts(crowd)->prepared, 100);
    assert_int_equal(most_at_once, 8);
    (void)snprintf(base, sizeof base, "127.0.0.1:%d", port);
    for (size_t i = 0; i < 100; i++) {
        const struct record *record = &recorder->records[i];

        assert_int_equal(record->number, i);
        assert_int_equal(record->planned_ns, plan.arrivals[i].due_ns);
        assert_true(record->sent_ns >= record->planned_ns);
        assert_true(record->received_ns > record->sent_ns);
        assert_int_equal(record->status, 200);
        assert_int_equal(record_order_id(record)[0], 'o');
        assert_string_equal(recorder->instances[record->instance], base);
        assert_true(i == 0 || strcmp(record_key(record), record_key(&record[-1])) != 0);
    }
    steps = crowd_steps(crowd, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(steps[i].sent, 100);
        assert_int_equal(steps[i].no_reply, 0);
        assert_int_equal(steps[i].time->count, 100);
        assert_ptr_equal(steps[i].step, &shop.sections[SHOP_ORDER].items[i]);
    }
    assert_int_equal(crowd_counts(crowd)->unmatched, 0);
    assert_int_equal(crowd_counts(crowd)->sold_without_id, 0);
    close_crowd();
}

/* A crowd of 10 with these steps of `order`: each customer ends in the same way, and the shop was
 * asked once for each. */
static void expect_orders(const char *steps, enum record_outcome outcome, int status) {
    char sections[4096];

    asked = 0;
    (void)snprintf(sections, sizeof sections, "== order ==\n%s" OUTCOME, steps);
    run_crowd(10, 1000, sections);
    expect_all(outcome);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(recorder->records[i].status, status);
    assert_true(asked == 0 || asked == 10);
    close_crowd();
}

static void test_each_reply_gives_its_word(void **state) {
    expect_orders(POST("/order") CAPTURE, RECORD_SOLD, 200);
    expect_orders(GET("/slow") CAPTURE, RECORD_SOLD, 200);
    expect_orders(GET("/large?size=8192") CAPTURE, RECORD_SOLD, 200);
    expect_orders(GET("/said?reply=no+stock"), RECORD_SOLD_OUT, 200);
    expect_orders(GET("/said?status=429"), RECORD_BUSY, 429);
    expect_orders(GET("/said?status=400&reply=<html>"), RECORD_REFUSED, 400);
    expect_orders(GET("/said?status=503"), RECORD_UNKNOWN, 503);
    expect_orders(GET("/said?reply={\"state\":"), RECORD_UNKNOWN, 200);
    expect_orders(POST("/bad"), RECORD_UNKNOWN, 500);
}

static void test_no_reply_is_refused_before_the_mark_and_unknown_from_it_on(void **state) {
    static const char *const bad[] = {GET("/drop"), GET("/large?size=8388608")};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char steps[256];

        (void)snprintf(steps, sizeof steps, "%s" MARK POST("/order"), bad[i]);
        expect_orders(steps, RECORD_REFUSED, 0);
        (void)snprintf(steps, sizeof steps, GET("/said") MARK "%s", bad[i]);
        expect_orders(steps, RECORD_UNKNOWN, 0);
    }
}

/* Where the machine stalls, a request does not leave in time. Then the next crowd has twice the
 * time. */
static void expect_timeouts(const char *sections, enum record_outcome outcome) {
    for (timeout_ms = 50; timeout_ms < PATIENCE_MS; timeout_ms *= 2) {
        bool was_sent = true;

        run_crowd(5, 1000, sections);
        for (size_t i = 0; i < 5; i++)
            was_sent = was_sent && recorder->records[i].outcome != RECORD_UNREACHED;
        if (was_sent) {
            expect_all(outcome);
            assert_int_equal(crowd_counts(crowd)->silent, 5);
            assert_non_null(strstr(crowd_counts(crowd)->why_silent.text, "imed out"));
        }
        close_crowd();
        if (was_sent)
            return;
    }
    fail_msg("no crowd was sent in time");
}

static void test_a_timeout_is_refused_before_the_mark_and_unknown_from_it_on(void **state) {
    expect_timeouts("== order ==\n" GET("/silent") MARK POST("/order") OUTCOME, RECORD_REFUSED);
    expect_timeouts("== order ==\n" GET("/silent") OUTCOME, RECORD_UNKNOWN);
    fiber_event_set(&gate);
}

/* ---- a shop that breaks connections, and one that is away */

static void on_reset_closed(uv_handle_t *handle) {
    free(handle);
    closing--;
}

static void on_reset_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer) {
    static char bytes[4096];

    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_reset_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
    if (uv_is_closing((uv_handle_t *)stream))
        return;
    closing++;
    asked++;
    (void)uv_tcp_close_reset((uv_tcp_t *)stream, on_reset_closed);
}

static void on_reset_connection(uv_stream_t *listener, int status) {
    uv_tcp_t *peer = malloc(sizeof *peer);

    assert_non_null(peer);
    assert_int_equal(uv_tcp_init(&loop, peer), 0);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)peer), 0);
    assert_int_equal(uv_read_start((uv_stream_t *)peer, on_reset_room, on_reset_read), 0);
}

static void on_listener_closed(uv_handle_t *handle) {
    closing--;
}

static void test_reset_connections_lose_no_customer(void **state) {
    struct sockaddr_in any;
    int length = sizeof any;
    uv_tcp_t listener;

    assert_int_equal(uv_tcp_init(&loop, &listener), 0);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &any), 0);
    assert_int_equal(uv_tcp_bind(&listener, (struct sockaddr *)&any, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&listener, 128, on_reset_connection), 0);
    assert_int_equal(uv_tcp_getsockname(&listener, (struct sockaddr *)&any, &length), 0);
    port = ntohs(any.sin_port);
    expect_orders(POST("/order"), RECORD_UNKNOWN, 0);
    expect_orders(GET("/cart") MARK POST("/order"), RECORD_REFUSED, 0);
    closing++;
    uv_close((uv_handle_t *)&listener, on_listener_closed);
    WAIT_FOR(&loop, closing == 0);
}

static void test_a_shop_that_is_away_is_not_reached(void **state) {
    port = 1;
    run_crowd(10, 1000, "== order ==\n" POST("/order") OUTCOME);
    expect_all(RECORD_UNREACHED);
    assert_int_equal(recorder->records[0].sent_ns, 0);
    assert_int_equal(crowd_counts(crowd)->silent, 10);
    assert_non_null(strstr(crowd_counts(crowd)->why_silent.text, "no reply: "));
    close_crowd();
}

static void open_server(int at) {
    struct http_server_options options = {.routes = routes};

    assert_int_equal(http_server_open(&server, &loop, &options), 0);
    assert_int_equal(http_server_listen(server, "127.0.0.1", at), 0);
    port = http_server_port(server);
}

static void close_server(void) {
    closing++;
    http_server_close(server, on_closed, NULL);
    WAIT_FOR(&loop, closing == 0);
}

/* The plan is long; the test stops it when it has seen enough. */
static void test_a_restart_in_the_middle_ends_and_the_sale_goes_on(void **state) {
    const struct crowd_options options = {0};
    size_t counted = 0, sold;

    open_crowd(20000, 1000, "== order ==\n" POST("/order") CAPTURE OUTCOME, &options);
    start_crowd();
    WAIT_FOR(&loop, recorder->by_outcome[RECORD_SOLD] >= 20);
    close_server();
    WAIT_FOR(&loop, recorder->by_outcome[RECORD_UNREACHED] >= 1);
    sold = recorder->by_outcome[RECORD_SOLD];
    open_server(port);
    WAIT_FOR(&loop, recorder->by_outcome[RECORD_SOLD] > sold);
    crowd_stop(crowd, PATIENCE_MS);
    WAIT_FOR(&loop, is_over);
    assert_int_equal(recorder->ended, recorder->count);
    counted = recorder->by_outcome[RECORD_SOLD] + recorder->by_outcome[RECORD_UNREACHED] +
              recorder->by_outcome[RECORD_UNKNOWN] + recorder->by_outcome[RECORD_UNSENT];
    assert_int_equal(counted, recorder->count);
    assert_true(asked >= recorder->by_outcome[RECORD_SOLD]);
    assert_true(asked <= recorder->by_outcome[RECORD_SOLD] + recorder->by_outcome[RECORD_UNKNOWN]);
    close_crowd();
}

/* ---- replies that no rule matches, and ids */

static void test_the_first_unmatched_reply_is_kept_and_shows_no_secret(void **state) {
    const struct crowd_reply *first;

    assert_int_equal(setenv("TEST_CROWD_TOKEN", "token-12\"3", 1), 0);
    run_crowd(10, 1000,
              "env TEST_CROWD_TOKEN\n== order ==\nPOST /bad\nAuthorization: {{TEST_CROWD_TOKEN}}\n"
              "HTTP 200\n" OUTCOME);
    expect_all(RECORD_UNKNOWN);
    first = &crowd_counts(crowd)->first_unmatched;
    assert_int_equal(crowd_counts(crowd)->unmatched, 10);
    assert_ptr_equal(first->step, &shop.sections[SHOP_ORDER].items[0]);
    assert_int_equal(first->status, 500);
    assert_string_equal(first->why.text, "line 5: the reply has status 500, and not 200");
    assert_string_equal(first->text, "<html>?[31m?  <h1>***</h1>????");
    close_crowd();
}

static void test_a_long_reply_is_kept_cut(void **state) {
    const struct crowd_reply *first;

    run_crowd(1, 1000, "== order ==\n" GET("/large?size=8192") "== outcome ==\nsold status == 1\n");
    first = &crowd_counts(crowd)->first_unmatched;
    assert_int_equal(strlen(first->text), CROWD_REPLY_BYTES - 1);
    assert_string_equal(first->why.text, "no rule of the outcome holds for the last reply");
    close_crowd();
}

static void expect_id(const char *steps, const char *id, size_t without) {
    char sections[2048];

    (void)snprintf(sections, sizeof sections, "== order ==\n%s" OUTCOME, steps);
    run_crowd(1, 1000, sections);
    assert_string_equal(record_order_id(&recorder->records[0]), id);
    assert_int_equal(crowd_counts(crowd)->sold_without_id, without);
    close_crowd();
}

static void test_an_order_has_the_id_that_was_captured(void **state) {
    expect_id("GET /said?reply={\"id\":\"a-1\"}\nHTTP *\n" CAPTURE GET("/said?status=400"), "a-1",
              0);
    expect_id("GET /said?reply={\"id\":\"a-1\"}\nHTTP *\n" CAPTURE GET("/drop"), "a-1", 0);
    expect_id(POST("/order"), "", 1);
    expect_id(GET("/said?status=429"), "", 0);
    expect_id("GET /said?reply={\"state\":\"paid\",\"id\":\"a\\\\n\"}\nHTTP *\n" CAPTURE, "", 1);
    expect_id("GET /said?reply={\"state\":\"paid\",\"id\":\"" LONG_ID LONG_ID
              "\"}\nHTTP *\n" CAPTURE,
              "", 1);
}

/* ---- prepare */

static void test_a_customer_whose_prepare_failed_is_unsent(void **state) {
    run_crowd(9, 1000,
              "== prepare ==\nGET /third\nHTTP 200\n== order ==\n" POST("/order") CAPTURE OUTCOME);
    assert_int_equal(prepared, 0);
    assert_int_equal(crowd_counts(crowd)->prepared, 6);
    assert_int_equal(crowd_counts(crowd)->failed, 3);
    assert_string_equal(crowd_counts(crowd)->why_failed.text,
                        "line 4: the reply has status 500, and not 200");
    assert_int_equal(recorder->by_outcome[RECORD_SOLD], 6);
    assert_int_equal(recorder->by_outcome[RECORD_UNSENT], 3);
    assert_int_equal(asked, 6);
    close_crowd();
}

static void test_a_prepare_that_always_fails_ends_soon(void **state) {
    run_crowd(1000, 1000,
              "== prepare ==\nGET /few\nHTTP 201\n== order ==\n" POST("/order") OUTCOME);
    assert_int_equal(prepared, -1);
    assert_string_equal(why.text,
                        "no customer could be prepared: line 4: the reply has status 200, "
                        "and not 201");
    assert_in_range(crowd_counts(crowd)->failed, 24, 32);
    assert_int_equal(recorder->count, 0);
    close_crowd();
}

static void test_a_stop_in_prepare_breaks_it_off(void **state) {
    const struct crowd_options options = {.lanes = 3};

    open_crowd(100, 1000, "== prepare ==\n" GET("/silent") "== order ==\n" POST("/order") OUTCOME,
               &options);
    start_crowd();
    WAIT_FOR(&loop, waiting == 3);
    crowd_stop(crowd, PATIENCE_MS);
    WAIT_FOR(&loop, is_over);
    assert_int_equal(prepared, -1);
    assert_string_equal(why.text, "interrupted");
    assert_int_equal(waiting, 3);
    assert_int_equal(crowd_counts(crowd)->failed, 0);
    assert_int_equal(crowd_send(crowd), 0); /* sends nothing */
    assert_int_equal(recorder->count, 0);
    close_crowd();
    fiber_event_set(&gate);
}

/* ---- stops and limits in `order` */

static void test_a_stop_lets_replies_come_within_its_grace(void **state) {
    const struct crowd_options options = {0};

    open_crowd(10000, 1000, "== order ==\n" GET("/silent") POST("/order") CAPTURE OUTCOME,
               &options);
    start_crowd();
    WAIT_FOR(&loop, waiting >= 5);
    crowd_stop(crowd, PATIENCE_MS);
    crowd_stop(crowd, 0);
    fiber_event_set(&gate);
    WAIT_FOR(&loop, is_over);
    assert_int_equal(recorder->ended, recorder->count);
    assert_true(recorder->count < 10000);
    assert_int_equal(recorder->by_outcome[RECORD_SOLD] + recorder->by_outcome[RECORD_UNSENT],
                     recorder->count);
    assert_int_equal(recorder->by_outcome[RECORD_SOLD], asked);
    close_crowd();
}

static void test_a_stop_gives_up_the_last_replies(void **state) {
    const struct crowd_options options = {0};

    open_crowd(10000, 1000, "== order ==\n" GET("/said") MARK GET("/silent") POST("/order") OUTCOME,
               &options);
    start_crowd();
    WAIT_FOR(&loop, waiting >= 5);
    crowd_stop(crowd, 0);
    WAIT_FOR(&loop, is_over);
    assert_int_equal(recorder->ended, recorder->count);
    assert_true(recorder->by_outcome[RECORD_UNKNOWN] >= 5);
    assert_int_equal(recorder->by_outcome[RECORD_SOLD], 0);
    assert_int_equal(crowd_counts(crowd)->on_way, 0);
    close_crowd();
    fiber_event_set(&gate);
}

static void test_no_more_are_on_the_way_than_allowed(void **state) {
    const struct crowd_options options = {.max_in_flight = 4};

    open_crowd(50, 100000, "== order ==\n" GET("/few") POST("/order") CAPTURE OUTCOME, &options);
    start_crowd();
    WAIT_FOR(&loop, is_over);
    expect_all(RECORD_SOLD);
    assert_in_range(most_at_once, 1, 4);
    assert_true(recorder->late_launches > 0);
    close_crowd();
}

static void stop_at_start(void *data) {
    crowd_stop(crowd, 0);
}

static void test_a_stop_before_the_first_moment_sends_nothing(void **state) {
    const struct crowd_options options = {.on_start = stop_at_start};

    open_crowd(10, 1000, "== order ==\n" POST("/order") OUTCOME, &options);
    start_crowd();
    WAIT_FOR(&loop, is_over);
    assert_int_equal(sent, 0);
    assert_int_equal(recorder->count, 0);
    close_crowd();
}

/* ---- memory */

/* A customer keeps its cookies and values, but no stack and no buffer of a connection. 10,000
 * customers fit in 500 MB. The sanitizers' malloc tells nothing. */
static void test_a_prepared_customer_needs_little_memory(void **state) {
    const struct crowd_options options = {0};
    size_t before;

    open_crowd(1000, 1000,
               "== prepare ==\nPOST /cookie\n{}\nHTTP 200\n[Captures]\ncart: jsonpath \"$.cart\"\n"
               "== order ==\n" POST("/order") CAPTURE OUTCOME,
               &options);
    before = mallinfo2().uordblks;
    assert_int_equal(fiber_start(go_prepare, NULL), 0);
    WAIT_FOR(&loop, is_over);
    assert_int_equal(crowd_counts(crowd)->prepared, 1000);
    assert_true((mallinfo2().uordblks - before) / 1000 < MOST_BYTES);
    close_crowd();
}

static void crowd_without_memory(void *arg) {
    const struct crowd_options options = {.lanes = 2};

    is_over = false;
    recorder = recorder_make(4);
    if (recorder == NULL)
        return;
    if (crowd_open(&crowd, &loop, flow, &shop, &plan, recorder, &options, &why) == 0) {
        if (fiber_start(go, NULL) == 0)
            WAIT_FOR(&loop, is_over);
        assert_int_equal(recorder->ended, recorder->count);
        assert_int_equal(recorder->count, is_over && prepared == 0 && sent == 0 ? 4 : 0);
        assert_int_equal(recorder->by_outcome[RECORD_SOLD_OUT], 0);
        crowd_close(crowd);
    }
    recorder_free(recorder);
}

/* Without memory for a socket, a request waits until its timeout. */
static void test_short_memory_loses_no_customer(void **state) {
    const struct crowd_options options = {0};

    timeout_ms = 100;
    open_crowd(4, 100000,
               "== prepare ==\n" GET("/said") "== order ==\n" POST("/order") CAPTURE OUTCOME,
               &options);
    crowd_close(crowd);
    recorder_free(recorder);
    fault_each_allocation(crowd_without_memory, NULL);
    closing++;
    flow_close(flow, on_closed, NULL);
    WAIT_FOR(&loop, closing == 0);
    plan_free(&plan);
    shop_free(&shop);
}

static int set_up(void **state) {
    assert_int_equal(uv_loop_init(&loop), 0);
    open_server(0);
    timeout_ms = PATIENCE_MS;
    waiting = asked = closing = most_at_once = at_once = 0;
    gate = (struct fiber_event)FIBER_EVENT_INIT;
    return 0;
}

static int tear_down(void **state) {
    close_server();
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

static int set_up_all(void **state) {
    large = malloc(LARGE);
    assert_non_null(large);
    memset(large, ' ', LARGE);
    return 0;
}

static int tear_down_all(void **state) {
    free(large);
    fiber_cleanup();
    return 0;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_customer_orders_once_and_is_recorded),
        TEST(test_each_reply_gives_its_word),
        TEST(test_no_reply_is_refused_before_the_mark_and_unknown_from_it_on),
        TEST(test_a_timeout_is_refused_before_the_mark_and_unknown_from_it_on),
        TEST(test_reset_connections_lose_no_customer),
        TEST(test_a_shop_that_is_away_is_not_reached),
        TEST(test_a_restart_in_the_middle_ends_and_the_sale_goes_on),
        TEST(test_the_first_unmatched_reply_is_kept_and_shows_no_secret),
        TEST(test_a_long_reply_is_kept_cut),
        TEST(test_an_order_has_the_id_that_was_captured),
        TEST(test_a_customer_whose_prepare_failed_is_unsent),
        TEST(test_a_prepare_that_always_fails_ends_soon),
        TEST(test_a_stop_in_prepare_breaks_it_off),
        TEST(test_a_stop_lets_replies_come_within_its_grace),
        TEST(test_a_stop_gives_up_the_last_replies),
        TEST(test_no_more_are_on_the_way_than_allowed),
        TEST(test_a_stop_before_the_first_moment_sends_nothing),
        TEST(test_a_prepared_customer_needs_little_memory),
        TEST(test_short_memory_loses_no_customer),
    };

    return cmocka_run_group_tests_name("crowd", tests, set_up_all, tear_down_all);
}
