/* See crowd_fixture.h. */
#include "crowd_fixture.h"
#include "test.h"
#include "wait.h"

#define LEDGER "== ledger postgres db ==\n[Orders]\nSELECT 1\n[Stock]\nSELECT 2\n"

struct sale sale;
const char sale_bad_page[] = "<html>\x1b[31m\x07\r\n<h1>token-12\"3</h1>\xff\xe2\x80\xae";

static void on_closed(void *data) {
    sale.closing--;
}

/* ---- the shop */

static void say(struct http_exchange *exchange, int status, const char *body) {
    http_reply(exchange, status, "application/json", body, strlen(body));
}

static void on_order(struct http_exchange *exchange, void *data) {
    char reply[64];

    (void)snprintf(reply, sizeof reply, "{\"state\": \"paid\", \"id\": \"o%u\"}", sale.asked++);
    say(exchange, 200, reply);
}

static void on_said(struct http_exchange *exchange, void *data) {
    const char *reply = http_query_param(exchange, "reply"),
               *status = http_query_param(exchange, "status");

    http_reply_header(exchange, "Retry-After", "1");
    say(exchange, status != NULL ? atoi(status) : 200, reply != NULL ? reply : "");
}

static void on_few(struct http_exchange *exchange, void *data) {
    if (++sale.at_once > sale.most_at_once)
        sale.most_at_once = sale.at_once;
    fiber_sleep(&sale.loop, 1);
    sale.at_once--;
    say(exchange, 200, "{}");
}

static void on_slow(struct http_exchange *exchange, void *data) {
    static const char reply[] = "{\"state\": \"paid\", \"id\": \"slow\"}";

    sale.asked++;
    if (http_reply_begin(exchange, 200, "application/json", sizeof reply - 1))
        for (const char *at = reply; *at != '\0' && http_reply_part(exchange, at, 1); at++)
            fiber_sleep(&sale.loop, 0);
}

static void on_silent(struct http_exchange *exchange, void *data) {
    sale.waiting++;
    while (!sale.gate.is_set)
        fiber_sleep(&sale.loop, 1);
    on_order(exchange, data);
}

static void on_drop(struct http_exchange *exchange, void *data) {
    sale.asked++;
    http_reply_drop(exchange);
}

/* `size` bytes of JSON. */
static void on_large(struct http_exchange *exchange, void *data) {
    static const char reply[] = "{\"state\": \"paid\", \"id\": \"large\"}";

    sale.asked++;
    memcpy(sale.large, reply, sizeof reply - 1);
    http_reply(exchange, 200, "application/json", sale.large,
               (size_t)atoi(http_query_param(exchange, "size")));
}

static void on_bad(struct http_exchange *exchange, void *data) {
    sale.asked++;
    http_reply(exchange, 500, "text/html", sale_bad_page, strlen(sale_bad_page));
}

static void on_cookie(struct http_exchange *exchange, void *data) {
    char cookie[64];

    (void)snprintf(cookie, sizeof cookie, "sid=%u-0123456789abcdef; Path=/", ++sale.waiting);
    http_reply_header(exchange, "Set-Cookie", cookie);
    say(exchange, 200, "{\"cart\": \"0123456789abcdef\"}");
}

static void on_every_third(struct http_exchange *exchange, void *data) {
    say(exchange, sale.waiting++ % 3 == 2 ? 500 : 200, "{}");
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

struct http_server *sale_open_server(int at) {
    struct http_server_options options = {.routes = routes};
    struct http_server *opened;

    assert_int_equal(http_server_open(&opened, &sale.loop, &options), 0);
    assert_int_equal(http_server_listen(opened, "127.0.0.1", at), 0);
    return opened;
}

void sale_close_server(struct http_server *closed) {
    sale.closing++;
    http_server_close(closed, on_closed, NULL);
    WAIT_FOR(&sale.loop, sale.closing == 0);
}

/* ---- the crowd */

void sale_open(size_t count, int rate, const char *sections, const struct crowd_options *options) {
    const struct flow_options flow_options = {.timeout_ms = sale.timeout_ms};
    const struct plan_shape shape = {
        .count = count,
        .stage_count = 1,
        .stages = {{(int64_t)((double)count / rate * 1e9), (double)rate, (double)rate}},
        .arrival = PLAN_CONSTANT,
        .seed = 1,
        .items = 1};

    (void)snprintf(sale.text, sizeof sale.text, "shop T\nbase http://127.0.0.1:%d\n%s%s", sale.port,
                   sections, LEDGER);
    assert_int_equal(plan_make(&sale.plan, &shape), 0);
    sale.recorder = recorder_make(count);
    assert_non_null(sale.recorder);
    if (shop_parse(&sale.shop, "a.shop", sale.text, strlen(sale.text), &sale.why) != 0 ||
        flow_open(&sale.flow, &sale.loop, &sale.shop, &flow_options, 7, &sale.why) != 0 ||
        crowd_open(&sale.crowd, &sale.loop, sale.flow, &sale.shop, &sale.plan, sale.recorder,
                   options, &sale.why) != 0)
        fail_msg("%s\n%s", sale.why.text, sale.text);
}

void sale_go(void *arg) {
    sale.prepared = crowd_prepare(sale.crowd, &sale.why);
    sale.sent = sale.prepared == 0 ? crowd_send(sale.crowd) : 0;
    sale.is_over = true;
}

void sale_start(void) {
    sale.is_over = false;
    assert_int_equal(fiber_start(sale_go, NULL), 0);
}

void sale_close(void) {
    crowd_close(sale.crowd);
    sale.closing++;
    flow_close(sale.flow, on_closed, NULL);
    WAIT_FOR(&sale.loop, sale.closing == 0);
    recorder_free(sale.recorder);
    plan_free(&sale.plan);
    shop_free(&sale.shop);
}

void sale_run(size_t count, int rate, const char *sections) {
    const struct crowd_options options = {0};

    sale_open(count, rate, sections, &options);
    sale_start();
    WAIT_FOR(&sale.loop, sale.is_over);
}

void sale_expect_all(enum record_outcome outcome) {
    assert_int_equal(sale.prepared, 0);
    assert_int_equal(sale.sent, 0);
    assert_int_equal(sale.recorder->count, sale.plan.count);
    assert_int_equal(sale.recorder->ended, sale.plan.count);
    for (size_t i = 0; i < sale.plan.count; i++)
        if (sale.recorder->records[i].outcome != outcome)
            fail_msg("customer %zu is %s instead of %s\n%s", i + 1,
                     record_outcome_name(sale.recorder->records[i].outcome),
                     record_outcome_name(outcome), sale.text);
}

int sale_set_up(void **state) {
    assert_int_equal(uv_loop_init(&sale.loop), 0);
    sale.server = sale_open_server(0);
    sale.other = sale_open_server(0);
    sale.port = http_server_port(sale.server);
    sale.large = malloc(SALE_LARGE);
    assert_non_null(sale.large);
    memset(sale.large, ' ', SALE_LARGE);
    sale.timeout_ms = PATIENCE_MS;
    sale.waiting = sale.asked = sale.closing = sale.most_at_once = sale.at_once = 0;
    sale.gate = (struct fiber_event)FIBER_EVENT_INIT;
    return 0;
}

int sale_tear_down(void **state) {
    sale_close_server(sale.server);
    sale_close_server(sale.other);
    fiber_cleanup();
    free(sale.large);
    assert_int_equal(uv_loop_close(&sale.loop), 0);
    return 0;
}
