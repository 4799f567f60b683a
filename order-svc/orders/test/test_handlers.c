/* The HTTP interface of order-svc: cases that need a fault or a hostile peer. */
#include "handlers.h"

#include "order.h"
#include "orders_database.h"
#include "web.h"

#define BODY "{\"product_id\":\"" A_UUID "\"}"

static struct order_svc svc;
static struct web web;

static int get(struct web_call *call, const char *target) {
    *call = (struct web_call){.method = "GET", .target = target};
    return web_call(&web, call);
}

static int post(struct web_call *call, const char *headers) {
    *call =
        (struct web_call){.method = "POST", .target = "/orders", .headers = headers, .body = BODY};
    return web_call(&web, call);
}

static int set_up(void **state) {
    (void)set_up_database(state);
    svc = (struct order_svc){
        .inventory = fixture.inventory, .pool = fixture.pool, .inventory_timeout_ms = 5000};
    order_groups_init(&svc.groups, &fixture.loop, fixture.pool);
    web_open(&web, &fixture.loop, order_routes, &svc);
    return 0;
}

static int tear_down(void **state) {
    web_close(&web);
    order_groups_free(&svc.groups);
    return tear_down_database(state);
}

/* Counts down to the one allocation of jansson that fails. */
static int until_failure;

static void *allocate(size_t size) {
    return until_failure-- == 0 ? NULL : malloc(size);
}

static void test_an_order_that_is_placed_is_never_denied_for_want_of_memory(void **state) {
    struct web_call exchange;

    json_set_alloc_funcs(allocate, free);
    for (int nth = 0;; nth++) {
        int orders = count_orders();

        until_failure = nth;
        (void)post(&exchange, NULL);
        if (count_orders() > orders)
            assert_true(exchange.status == 201 || exchange.status == 504);
        if (until_failure >= 0)
            break;
    }
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(exchange.status, 201);
}

static void test_a_refusal_names_its_order(void **state) {
    struct web_call exchange;

    fixture.peers[0].status = 409;
    fixture.peers[0].body = "{\"error\":\"sold_out\",\"message\":\"no unit left\"}";
    assert_int_equal(post(&exchange, "Idempotency-Key: " A_UUID "\r\n"), 409);
    assert_string_equal(exchange.text, "{\"error\":\"sold_out\",\"message\":\"no unit left\","
                                       "\"order_id\":\"" A_UUID "\"}");
}

static int place_as_the_article(struct web_call *exchange) {
    *exchange = (struct web_call){.method = "POST", .target = "/order/placeAnOrder"};
    return web_call(&web, exchange);
}

/* The cost of the sale comes first, then the cost of recording its order. */
static void expect_recorded_cost(const struct web_call *exchange) {
    static const char start[] = "hold;dur=3.001, pg;desc=\"2\", order;dur=";
    char *end;

    assert_memory_equal(exchange->timing, start, sizeof start - 1);
    assert_true(strtod(exchange->timing + sizeof start - 1, &end) > 0);
    assert_string_equal(end, "");
}

static void test_the_cost_of_a_sale_is_passed_on(void **state) {
    struct web_call exchange;

    for (int i = 0; i < PEERS; i++)
        fixture.peers[i].timing = "hold;dur=3.001, pg;desc=\"2\"";
    assert_int_equal(post(&exchange, NULL), 201);
    expect_recorded_cost(&exchange);
    assert_int_equal(place_as_the_article(&exchange), 200);
    expect_recorded_cost(&exchange);
    for (int i = 0; i < PEERS; i++) {
        fixture.peers[i].status = 409;
        fixture.peers[i].body = "{\"error\":\"sold_out\",\"message\":\"no unit left\"}";
    }
    assert_int_equal(post(&exchange, NULL), 409);
    assert_string_equal(exchange.timing, "hold;dur=3.001, pg;desc=\"2\"");
    assert_int_equal(place_as_the_article(&exchange), 409);
    assert_string_equal(exchange.timing, "hold;dur=3.001, pg;desc=\"2\"");
}

static void test_an_inventory_that_tells_no_cost_adds_none(void **state) {
    struct web_call exchange;

    assert_int_equal(post(&exchange, NULL), 201);
    assert_string_equal(exchange.timing, "");
}

static void test_what_the_inventory_says_is_passed_on(void **state) {
    struct web_call exchange;

    fixture.peers[0].body = "{\"strategies\":[]}";
    assert_int_equal(get(&exchange, "/strategies"), 200);
    assert_string_equal(exchange.text, "{\"strategies\":[]}");
    assert_int_equal(get(&exchange, "/products/" A_UUID), 200);
}

static void test_an_inventory_that_does_not_speak_json_is_told(void **state) {
    struct web_call exchange;

    fixture.peers[0].body = "<html>";
    assert_int_equal(get(&exchange, "/strategies"), 503);
    assert_non_null(strstr(exchange.text, "the reply is not JSON"));
    peer_close(&fixture.peers[0]);
    assert_int_equal(get(&exchange, "/strategies"), 503);
    assert_non_null(strstr(exchange.text, "connection refused"));
}

static void test_nothing_of_a_request_goes_into_another_as_it_came(void **state) {
    static const char *const targets[] = {
        "/products/" A_UUID "%0d%0aX:%20y", "/products/..%2freservations",
        "/products/" A_UUID "%20HTTP/1.1",  "/products/%00",
        "/orders/" A_UUID "'%20OR%20true",  "/orders/%0d%0a",
    };
    struct web_call exchange;

    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        assert_in_range(get(&exchange, targets[i]), 400, 404);
    assert_int_equal(post(&exchange, "Idempotency-Key: " A_UUID " X-Evil: y\r\n"), 400);
    assert_int_equal(post(&exchange, "Idempotency-Key: \r\n"), 400);
    assert_int_equal(fixture.peers[0].calls, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_an_order_that_is_placed_is_never_denied_for_want_of_memory),
        TEST(test_a_refusal_names_its_order),
        TEST(test_the_cost_of_a_sale_is_passed_on),
        TEST(test_an_inventory_that_tells_no_cost_adds_none),
        TEST(test_what_the_inventory_says_is_passed_on),
        TEST(test_an_inventory_that_does_not_speak_json_is_told),
        TEST(test_nothing_of_a_request_goes_into_another_as_it_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
