/* Customers on their way through shop files, against a shop of the test. */
#include "fault.h"
#include "flow.h"
#include "http_server.h"
#include "test.h"
#include "wait.h"

#define CROWD  1000
#define LARGE  (8 * 1024 * 1024)
#define LEDGER "== ledger postgres db ==\n[Orders]\nSELECT 1\n[Stock]\nSELECT 2\n"
#define OUTCOME                                                                                    \
    "== outcome ==\nsold jsonpath \"$.state\" == \"paid\"\nsoldout body contains \"no stock\"\n"   \
    "busy status == 429\n"

static uv_loop_t loop;
static struct http_server *server;
static struct shop shop;
static struct flow *flow;
static struct fiber_event gate;
static unsigned waiting, orders, closing;
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
    orders++;
    say(exchange, 200,
        "{\"state\": \"paid\", \"id\": 12345678901234567, \"ok\": true, \"none\": null}");
}

static void on_said(struct http_exchange *exchange, void *data) {
    const char *reply = http_query_param(exchange, "reply"),
               *status = http_query_param(exchange, "status");

    say(exchange, status != NULL ? atoi(status) : 200, reply != NULL ? reply : "");
}

static void on_echo(struct http_exchange *exchange, void *data) {
    size_t length;
    const char *body = http_body(exchange, &length), *key = http_header(exchange, "X-Key");
    char reply[4096];

    (void)snprintf(reply, sizeof reply, "%s|%s|%s", key != NULL ? key : "-",
                   http_path_param(exchange, "id"), body);
    say(exchange, 200, reply);
}

static void on_silent(struct http_exchange *exchange, void *data) {
    waiting++;
    fiber_event_wait(&gate);
    http_reply_drop(exchange);
}

static void on_cut(struct http_exchange *exchange, void *data) {
    if (http_reply_begin(exchange, 200, "application/json", 100))
        assert_true(http_reply_part(exchange, "{\"state\":", 9));
}

static void on_drop(struct http_exchange *exchange, void *data) {
    http_reply_drop(exchange);
}

static void on_large(struct http_exchange *exchange, void *data) {
    http_reply(exchange, 200, "application/json", large, LARGE);
}

static void on_slow(struct http_exchange *exchange, void *data) {
    static const char reply[] = "{\"state\": \"paid\"}";

    if (http_reply_begin(exchange, 200, "application/json", sizeof reply - 1))
        for (const char *at = reply; *at != '\0' && http_reply_part(exchange, at, 1); at++)
            fiber_sleep(&loop, 0);
}

static const struct http_route routes[] = {
    {"POST", "/order", on_order},  {"GET", "/said", on_said}, {"POST", "/echo/{id}", on_echo},
    {"GET", "/silent", on_silent}, {"GET", "/cut", on_cut},   {"GET", "/drop", on_drop},
    {"GET", "/large", on_large},   {"GET", "/slow", on_slow}, {NULL, NULL, NULL}};

/* ---- flows */

static void open_flow_with(size_t captured, const char *head, const char *sections) {
    const struct flow_options options = {.timeout_ms = PATIENCE_MS, .captured = captured};
    struct why why;

    (void)snprintf(text, sizeof text, "shop T\nbase http://127.0.0.1:%d\n%s%s%s",
                   http_server_port(server), head, sections, LEDGER);
    if (shop_parse(&shop, "a.shop", text, strlen(text), &why) != 0 ||
        flow_open(&flow, &loop, &shop, &options, 7, &why) != 0)
        fail_msg("%s\n%s", why.text, text);
}

static void open_flow(const char *head, const char *sections) {
    open_flow_with(0, head, sections);
}

static void close_flow(void) {
    closing++;
    flow_close(flow, on_closed, NULL);
    WAIT_FOR(&loop, closing == 0);
    shop_free(&shop);
}

struct walk {
    struct flow_customer *customer;
    enum shop_section section;
    struct flow_result result;
    bool is_over;
};

static void walk(void *arg) {
    struct walk *way = arg;

    flow_run(way->customer, way->section, &way->result);
    way->is_over = true;
}

/* A section of one customer from beginning to end. */
static struct flow_result pass(struct flow_customer *customer, enum shop_section section) {
    struct walk way = {.customer = customer, .section = section};

    assert_int_equal(fiber_start(walk, &way), 0);
    WAIT_FOR(&loop, way.is_over);
    return way.result;
}

static void expect(struct flow_result result, enum flow_end end, const char *why) {
    if (result.end != end || strstr(result.why.text, why) == NULL)
        fail_msg("%s, \"%s\" instead of %s, \"%s\"\n%s", flow_end_name(result.end), result.why.text,
                 flow_end_name(end), why, text);
}

/* A shop file with these steps in `order`, and no other section. */
static void expect_order(const char *steps, enum flow_end end, const char *why) {
    char sections[8 * 1024];
    struct flow_customer *customer;

    (void)snprintf(sections, sizeof sections, "== order ==\n%s" OUTCOME, steps);
    open_flow("", sections);
    customer = flow_customer_open(flow, 1, NULL);
    expect(pass(customer, SHOP_ORDER), end, why);
    flow_customer_close(customer);
    close_flow();
}

#define GET(path)  "GET " path "\nHTTP *\n"
#define POST(path) "POST " path "\n{}\nHTTP *\n"
#define MARK       "== commit ==\n"

static void test_a_rule_ends_an_order(void **state) {
    expect_order(POST("/order") GET("/silent"), FLOW_SOLD, "");
    expect_order(GET("/slow"), FLOW_SOLD, "");
    expect_order(GET("/said?reply=no+stock") POST("/order"), FLOW_SOLD_OUT, "");
    expect_order(GET("/said?status=429&reply=x") POST("/order"), FLOW_BUSY, "");
    expect_order(GET("/said?reply=x") POST("/order"), FLOW_SOLD, "");
    expect_order("POST /order\n{}\nHTTP 409\n", FLOW_SOLD, "");
}

static void test_other_replies_are_unknown(void **state) {
    expect_order(GET("/said?reply=[]"), FLOW_UNKNOWN, "no rule of the outcome holds");
    expect_order(GET("/said?reply={\"state\":"), FLOW_UNKNOWN, "no rule");
    expect_order(GET("/said?reply=<html>paid</html>") GET("/said"), FLOW_UNKNOWN, "no rule");
    expect_order("GET /said\nHTTP 201\n" POST("/order"), FLOW_UNKNOWN,
                 "has status 200, and not 201");
    expect_order(
        "GET /said\nHTTP 200\n[Asserts]\nbody exists\nbody contains \"a\"\n" POST("/order"),
        FLOW_UNKNOWN, "line 8: this assert does not hold");
    expect_order("GET /said\nHTTP 200\n[Captures]\na: jsonpath \"$.a\"\n" POST("/order"),
                 FLOW_UNKNOWN, "line 7: {{a}} found nothing");
}

static void test_captures_of_all_customers_have_a_limit(void **state) {
    struct flow_customer *first, *second;

    open_flow_with(6, "",
                   "== prepare ==\nGET /said?reply={\"a\":\"1234\"}\nHTTP 200\n[Captures]\n"
                   "a: jsonpath \"$.a\"\n== order ==\n" POST("/order") OUTCOME);
    first = flow_customer_open(flow, 1, NULL);
    second = flow_customer_open(flow, 2, NULL);
    expect(pass(first, SHOP_PREPARE), FLOW_DONE, "");
    expect(pass(second, SHOP_PREPARE), FLOW_FAILED,
           "line 7: {{a}} has no room: the captures of all customers may have 6 bytes");
    flow_customer_close(first);
    flow_customer_close(second);
    close_flow();
}

static void test_no_reply_is_refused_before_the_mark_and_unknown_from_it_on(void **state) {
    static const char *const bad[] = {GET("/cut"), GET("/drop"), GET("/large")};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char steps[256];

        (void)snprintf(steps, sizeof steps, "%s" MARK POST("/order"), bad[i]);
        expect_order(steps, FLOW_REFUSED, "no reply: ");
        (void)snprintf(steps, sizeof steps, GET("/said") MARK "%s", bad[i]);
        expect_order(steps, FLOW_UNKNOWN, "no reply: ");
        (void)snprintf(steps, sizeof steps, POST("/echo/1") "%s", bad[i]);
        expect_order(steps, FLOW_UNKNOWN, "no reply: ");
    }
}

static void test_a_request_that_was_not_sent_sold_nothing(void **state) {
    expect_order("POST http://127.0.0.1:1/\n{}\nHTTP *\n", FLOW_REFUSED, "line 4: no reply: ");
    expect_order("GET /said?reply=cart/1\nHTTP *\n[Captures]\na: body\nPOST {{a}}\nHTTP *\n",
                 FLOW_UNKNOWN, "the URL is neither a path");
    expect_order("HEAD /order\n{}\nHTTP *\n", FLOW_REFUSED, "HEAD has no body");
    expect_order("POST http://192.0.2.1/\n{}\nHTTP *\n", FLOW_REFUSED, "--this-shop-is-mine");
    expect_order(POST("/echo/1") "POST http://127.0.0.1:1/\n{}\nHTTP *\n", FLOW_UNKNOWN,
                 "no reply");
    expect_order(
        "GET /said?reply=a%0Ab\nHTTP *\n[Captures]\na: body\nPOST /order\nA: {{a}}\nHTTP *\n",
        FLOW_UNKNOWN, "control character");
}

/* Where the machine stalls, nothing leaves in time, and nothing was sold. Then the next customer
 * has twice the time. */
static void test_silence_is_unknown(void **state) {
    struct flow_options options = {.timeout_ms = 25};
    struct flow_result result;

    open_flow("", "== order ==\n" GET("/silent") OUTCOME);
    do {
        struct flow_customer *customer;
        struct why why;

        closing++;
        flow_close(flow, on_closed, NULL);
        WAIT_FOR(&loop, closing == 0);
        options.timeout_ms *= 2;
        assert_int_equal(flow_open(&flow, &loop, &shop, &options, 7, &why), 0);
        customer = flow_customer_open(flow, 1, NULL);
        result = pass(customer, SHOP_ORDER);
        expect(result, result.end, "imed out");
        flow_customer_close(customer);
    } while (result.end == FLOW_REFUSED && options.timeout_ms < PATIENCE_MS);
    expect(result, FLOW_UNKNOWN, "");
    close_flow();
    WAIT_FOR(&loop, waiting == 1);
    fiber_event_set(&gate);
}

static struct flow_customer *cancelled;
static char ends[256];

static void on_step_end(void *data, const struct web_request *request,
                        const struct flow_result *result) {
    const size_t used = strlen(ends);

    (void)snprintf(ends + used, sizeof ends - used, "%d %s %d; ", result->step->line,
                   flow_end_name(result->end), request->sent_ns != 0);
    if (cancelled != NULL)
        flow_cancel(cancelled);
}

/* The cancel comes with the reply of the first step. */
static void test_a_cancelled_customer_sends_no_later_step(void **state) {
    const struct flow_watch watch = {.on_end = on_step_end};
    struct flow_customer *customer;

    open_flow("", "== order ==\n" GET("/said") MARK POST("/order") OUTCOME);
    cancelled = customer = flow_customer_open(flow, 1, &watch);
    ends[0] = '\0';
    expect(pass(customer, SHOP_ORDER), FLOW_REFUSED, "line 7: no reply: cancelled");
    assert_string_equal(ends, "4 done 1; 7 refused 0; ");
    assert_int_equal(orders, 0);
    flow_cancel(customer); /* on no way: it does not last until the next one */
    cancelled = NULL;
    ends[0] = '\0';
    expect(pass(customer, SHOP_ORDER), FLOW_SOLD, "");
    assert_string_equal(ends, "4 done 1; 7 sold 1; ");
    flow_customer_close(customer);
    close_flow();
}

/* ---- values */

static const char *value_of(const struct flow_customer *customer, const char *name) {
    const char *value = values_get(flow_customer_values(customer), name);

    return value != NULL ? value : "(none)";
}

static void test_values_go_where_they_belong(void **state) {
    struct flow_customer *owner, *customer;

    open_flow(
        "set x a b/\"c\nrun made printf '%s %s\\n\\n' {{stock}} '{{x}}'\n",
        "== setup ==\nPOST /echo/{{x}}\nX-Key: {{stock}}\n{\"x\": \"{{x}}\"}\nHTTP 200\n"
        "[Captures]\nseen: body\n"
        "== prepare ==\nPOST /echo/{{n}}\n[Query]\nq: {{x}}\n[Form]\na\\u{20}b: {{x}}&\nHTTP 200\n"
        "[Captures]\nform: body\nkind: header \"content-type\"\n"
        "== order ==\n" POST("/order") OUTCOME);
    owner = flow_customer_open(flow, 0, NULL);
    expect(pass(owner, SHOP_SETUP), FLOW_FAILED, "has status 404"); /* the / makes another path */
    flow_customer_close(owner);
    customer = flow_customer_open(flow, 3, NULL);
    expect(pass(customer, SHOP_PREPARE), FLOW_DONE, "");
    assert_string_equal(value_of(customer, "form"), "-|3|a+b=a+b%2F%22c%26");
    assert_string_equal(value_of(customer, "kind"), "application/json");
    assert_string_equal(value_of(customer, "made"), "7 a b/\"c\n");
    assert_int_equal(strlen(value_of(customer, "key")), 36);
    assert_int_equal(strlen(value_of(customer, "run")), 12);
    flow_customer_close(customer);
    close_flow();
}

static void test_a_value_ends_no_string_of_graphql(void **state) {
    struct flow_customer *customer;

    open_flow("set x a\"\\u{5c}){b}\n",
              "== prepare ==\nPOST /echo/1\n```graphql\n{a(b: \"{{x}}\")}\n```\nHTTP 200\n"
              "[Captures]\nsent: regex /1\\|(.*)/\n== order ==\n" POST("/order") OUTCOME);
    customer = flow_customer_open(flow, 1, NULL);
    expect(pass(customer, SHOP_PREPARE), FLOW_DONE, "");
    assert_string_equal(value_of(customer, "sent"),
                        "{\"query\":\"{a(b: \\\"a\\\\\\\"\\\\\\\\){b}\\\")}\\n\"}");
    flow_customer_close(customer);
    close_flow();
}

static void test_captures_of_setup_reach_all_customers(void **state) {
    struct flow_customer *owner, *first, *second;

    open_flow("set x a \"c\n",
              "== setup ==\nPOST /echo/{{x}}\nX-Key: {{stock}}\n{\"x\": \"{{x}}\"}\n"
              "HTTP 200\n[Captures]\nseen: body\n"
              "== prepare ==\nPOST /order\n{}\nHTTP 200\n[Captures]\nown: jq \".state\"\n"
              "== order ==\n" POST("/order") OUTCOME);
    owner = flow_customer_open(flow, 0, NULL);
    first = flow_customer_open(flow, 1, NULL);
    second = flow_customer_open(flow, 2, NULL);
    expect(pass(owner, SHOP_SETUP), FLOW_DONE, "");
    expect(pass(first, SHOP_PREPARE), FLOW_DONE, "");
    assert_string_equal(value_of(second, "seen"), "7|a \"c|{\"x\": \"a \\\"c\"}");
    assert_string_equal(value_of(first, "own"), "paid");
    assert_string_equal(value_of(second, "own"), "(none)");
    flow_customer_close(owner);
    flow_customer_close(first);
    flow_customer_close(second);
    close_flow();
}

static void test_each_query_finds_its_part(void **state) {
    static const struct {
        const char *name, *query, *value;
    } rows[] = {{"a", "status", "200"},
                {"b", "jsonpath \"$.id\"", "12345678901234567"},
                {"c", "jsonpath \"$['state']\"", "paid"},
                {"d", "jsonpath \"$.ok\"", "true"},
                {"e", "jsonpath \"$.none\"", "null"},
                {"f", "jq \"[.state, .ok] | length\"", "2"},
                {"g", "jq \"{a: .state}\"", "{\"a\":\"paid\"}"},
                {"h", "regex /\"state\": \"(\\w+)\"/", "paid"},
                {"i", "regex /\\d{3}/", "123"},
                {"k", "regex /\"state\": \"(x*)/", ""},
                {"j", "header \"content-TYPE\"", "application/json"}};
    char sections[4096];
    size_t used = (size_t)snprintf(sections, sizeof sections,
                                   "== prepare ==\nPOST /order\n{}\nHTTP 200\n[Captures]\n");
    struct flow_customer *customer;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        used += (size_t)snprintf(sections + used, sizeof sections - used, "%s: %s\n", rows[i].name,
                                 rows[i].query);
    (void)snprintf(sections + used, sizeof sections - used, "== order ==\n" POST("/order") OUTCOME);
    open_flow("", sections);
    customer = flow_customer_open(flow, 1, NULL);
    expect(pass(customer, SHOP_PREPARE), FLOW_DONE, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(value_of(customer, rows[i].name), rows[i].value);
    flow_customer_close(customer);
    close_flow();
}

static void test_each_predicate_holds_where_it_must(void **state) {
    static const struct {
        const char *text;
        bool holds;
    } rows[] = {{"status == 200", true},
                {"status == \"200\"", false},
                {"body matches /(x)?paid/", true},
                {"regex /(x)?paid/ not exists", true},
                {"status != 201", true},
                {"status < 201", true},
                {"status >= 200", true},
                {"status > 200", false},
                {"status <= 199", false},
                {"body < 5", false},
                {"jsonpath \"$.id\" == 12345678901234567", true},
                {"jsonpath \"$.id\" == 12345678901234568", false},
                {"jsonpath \"$.id\" > 1.5", true},
                {"jsonpath \"$.state\" startsWith \"pa\"", true},
                {"jsonpath \"$.state\" endsWith \"aid\"", true},
                {"jsonpath \"$.state\" contains \"x\"", false},
                {"jsonpath \"$.state\" matches /^p.*d$/", true},
                {"jsonpath \"$.state\" matches /^a/", false},
                {"jsonpath \"$.state\" not matches /^a/", true},
                {"status startsWith \"2\"", false},
                {"jsonpath \"$.ok\" == true", true},
                {"jsonpath \"$.ok\" == false", false},
                {"jsonpath \"$.none\" == null", true},
                {"jsonpath \"$.none\" exists", true},
                {"jsonpath \"$.nothing\" exists", false},
                {"jsonpath \"$.nothing\" not exists", true},
                {"jsonpath \"$.nothing\" != \"a\"", false},
                {"jsonpath \"$.nothing\" not contains \"a\"", false},
                {"jq \"[]\" isEmpty", true},
                {"jq \"[1]\" isEmpty", false},
                {"jsonpath \"$.state\" isEmpty", false},
                {"jsonpath \"$.state\" == {{word}}", true},
                {"status == {{number}}", true},
                {"jq \".[\\\"a\\\" + 1]\" exists", false},
                {"header \"X-None\" exists", false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sections[1024];
        struct flow_customer *customer;

        (void)snprintf(sections, sizeof sections,
                       "== order ==\nPOST /order\n{}\nHTTP 200\n== outcome ==\nsold %s\n",
                       rows[i].text);
        open_flow("set word paid\nset number 200.0\n", sections);
        customer = flow_customer_open(flow, 1, NULL);
        expect(pass(customer, SHOP_ORDER), rows[i].holds ? FLOW_SOLD : FLOW_UNKNOWN, "");
        flow_customer_close(customer);
        close_flow();
    }
}

static void test_each_form_of_a_secret_is_masked(void **state) {
    static const char secret[] = "a+/ %4\"\xc3\xa4";
    static const char *const forms[] = {secret,
                                        "a+/%20%4%22%C3%a4",
                                        "a%2b%2F+%254%22%c3%A4",
                                        "a+/ %4\\\"\xc3\xa4",
                                        "a+/ %4\\\\\\\"\xc3\xa4",
                                        "a+\\/ %4\\\"\\u00e4",
                                        "\\u0061\\u002B\\u002f\\u0020%4\\u0022\\u00E4"};
    struct values values = {0};
    struct buffer masked = {0};

    assert_int_equal(values_set(&values, "s", secret, strlen(secret), true), 0);
    assert_int_equal(values_set(&values, "empty", "", 0, true), 0);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char line[128];
        size_t length = (size_t)snprintf(line, sizeof line, "<%s>%.6s", forms[i], forms[i]);

        masked.length = 0;
        assert_true(values_mask(&values, line, &length, SIZE_MAX, &masked));
        (void)snprintf(line, sizeof line, "<***>%.6s", forms[i]);
        assert_string_equal(masked.bytes, line);
    }
    {
        const char line[] = "<a+/ %4\"\xc3\xa4>";
        size_t length = sizeof line - 1;

        masked.length = 0;
        assert_true(values_mask(&values, line, &length, 2, &masked));
        assert_int_equal(length, sizeof line - 2);
        assert_string_equal(masked.bytes, "<***");
        masked.length = 0;
        length = 3;
        assert_true(values_mask(&values, "\0x", &length, SIZE_MAX, &masked));
        assert_string_equal(masked.bytes, "?x?");
    }
    buffer_free(&masked);
    values_free(&values);
}

static void test_customers_share_out_the_bases(void **state) {
    struct flow_customer *first, *second;

    open_flow("base http://127.0.0.1:1\n", "== order ==\n" POST("/order") OUTCOME);
    first = flow_customer_open(flow, 1, NULL);
    second = flow_customer_open(flow, 2, NULL);
    expect(pass(first, SHOP_ORDER), FLOW_SOLD, "");
    expect(pass(second, SHOP_ORDER), FLOW_REFUSED, "no reply");
    flow_customer_close(first);
    flow_customer_close(second);
    close_flow();
}

static void test_a_thousand_customers_at_once(void **state) {
    static struct walk ways[CROWD];

    open_flow("", "== order ==\n" GET("/said") POST("/order") OUTCOME);
    for (int i = 0; i < CROWD; i++) {
        ways[i] =
            (struct walk){.customer = flow_customer_open(flow, i, NULL), .section = SHOP_ORDER};
        assert_int_equal(fiber_start(walk, &ways[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        WAIT_FOR(&loop, ways[i].is_over);
        expect(ways[i].result, FLOW_SOLD, "");
        flow_customer_close(ways[i].customer);
    }
    assert_int_equal(orders, CROWD);
    close_flow();
}

static void order_without_memory(void *arg) {
    const struct flow_options options = {.timeout_ms = PATIENCE_MS};
    struct flow_customer *customer;
    struct why why;

    if (flow_open(&flow, &loop, &shop, &options, 7, &why) != 0)
        return;
    customer = flow_customer_open(flow, 1, NULL);
    if (customer != NULL) {
        struct flow_result result = pass(customer, SHOP_ORDER);

        assert_true(result.end != FLOW_SOLD_OUT && result.end != FLOW_BUSY);
        flow_customer_close(customer);
    }
    closing++;
    flow_close(flow, on_closed, NULL);
    WAIT_FOR(&loop, closing == 0);
}

static void test_short_memory_sells_nothing_else(void **state) {
    open_flow(
        "set x y\n",
        "== order ==\nPOST /order?a={{x}}\n{}\nHTTP 200\n[Captures]\nb: jq \".state\"\n" OUTCOME);
    closing++;
    flow_close(flow, on_closed, NULL);
    WAIT_FOR(&loop, closing == 0);
    fault_each_allocation(order_without_memory, NULL);
    shop_free(&shop);
}

static int set_up(void **state) {
    struct http_server_options options = {.routes = routes};

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(http_server_open(&server, &loop, &options), 0);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0), 0);
    waiting = orders = closing = 0;
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
        TEST(test_a_rule_ends_an_order),
        TEST(test_other_replies_are_unknown),
        TEST(test_captures_of_all_customers_have_a_limit),
        TEST(test_no_reply_is_refused_before_the_mark_and_unknown_from_it_on),
        TEST(test_a_request_that_was_not_sent_sold_nothing),
        TEST(test_silence_is_unknown),
        TEST(test_a_cancelled_customer_sends_no_later_step),
        TEST(test_values_go_where_they_belong),
        TEST(test_a_value_ends_no_string_of_graphql),
        TEST(test_captures_of_setup_reach_all_customers),
        TEST(test_each_query_finds_its_part),
        TEST(test_each_predicate_holds_where_it_must),
        TEST(test_each_form_of_a_secret_is_masked),
        TEST(test_customers_share_out_the_bases),
        TEST(test_a_thousand_customers_at_once),
        TEST(test_short_memory_sells_nothing_else),
    };

    return cmocka_run_group_tests_name("flow", tests, set_up_all, tear_down_all);
}
