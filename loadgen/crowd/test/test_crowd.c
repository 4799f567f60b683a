/* Crowds of customers against a shop of the test, well behaved and not. */
#include "crowd.h"
#include "http_server.h"
#include "test.h"
#include "wait.h"

#include "clock.h"

#define LARGE  (8 * 1024 * 1024)
#define LEDGER "== ledger postgres db ==\n[Orders]\nSELECT 1\n[Stock]\nSELECT 2\n"
#define OUTCOME                                                                                    \
    "== outcome ==\nsold jsonpath \"$.state\" == \"paid\"\nsoldout body contains \"no stock\"\n"   \
    "busy status == 429\nrefused status == 400\n"
#define GET(path)  "GET " path "\nHTTP *\n"
#define POST(path) "POST " path "\n{\"customer\": {{n}}}\nHTTP *\n"
#define CAPTURE    "[Captures]\norder: jsonpath \"$.id\"\n"
#define MARK       "== commit ==\n"

static uv_loop_t loop;
static struct http_server *server;
static struct shop shop;
static struct plan plan;
static struct recorder *recorder;
static struct flow *flow;
static struct crowd *crowd;
static struct fiber_event gate;
static unsigned closing, waiting, asked, most_at_once, at_once;
static int prepared, sent; /* the codes */
static bool is_over;
static struct why why;
static char *large;
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

static const struct http_route routes[] = {{"POST", "/order", on_order},
                                           {"GET", "/said", on_said},
                                           {"GET", "/few", on_few},
                                           {NULL, NULL, NULL}};

/* ---- the crowd */

static void open_crowd(size_t count, int rate, const char *sections,
                       const struct crowd_options *options) {
    const struct flow_options flow_options = {.timeout_ms = PATIENCE_MS};
    const struct plan_shape shape = {
        .count = count,
        .stage_count = 1,
        .stages = {{(int64_t)((double)count / rate * 1e9), (double)rate, (double)rate}},
        .arrival = PLAN_CONSTANT,
        .seed = 1,
        .items = 1};

    (void)snprintf(text, sizeof text, "shop T\nbase http://127.0.0.1:%d\n%s%s",
                   http_server_port(server), sections, LEDGER);
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
    (void)snprintf(base, sizeof base, "127.0.0.1:%d", http_server_port(server));
    for (size_t i = 0; i < 100; i++) {
        const struct record *record = &recorder->records[i];

        assert_int_equal(record->number, i);
        assert_int_equal(record->planned_ns, plan.arrivals[i].due_ns);
        assert_true(record->sent_ns >= record->planned_ns);
        assert_true(record->received_ns > record->sent_ns);
        assert_int_equal(record->status, 200);
        assert_int_equal(record->order_id[0], 'o');
        assert_string_equal(recorder->instances[record->instance], base);
        assert_true(i == 0 || strcmp(record->key, record[-1].key) != 0);
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

static int set_up(void **state) {
    struct http_server_options options = {.routes = routes};

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(http_server_open(&server, &loop, &options), 0);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0), 0);
    waiting = asked = closing = most_at_once = at_once = 0;
    gate = (struct fiber_event)FIBER_EVENT_INIT;
    return 0;
}

static int tear_down(void **state) {
    closing++;
    http_server_close(server, on_closed, NULL);
    WAIT_FOR(&loop, closing == 0);
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
    };

    return cmocka_run_group_tests_name("crowd", tests, set_up_all, tear_down_all);
}
