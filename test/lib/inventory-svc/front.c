/* The server in front of the instance, and the requests to it. */
#include "front.h"

#include "handlers.h"

struct web web;
struct web_call reply;

int call(const char *method, const char *target, const char *headers, const char *body) {
    reply = (struct web_call){.method = method, .target = target, .headers = headers, .body = body};
    return web_call(&web, &reply);
}

int get(const char *method, const char *path, const char *id, const char *rest) {
    char target[200];

    (void)snprintf(target, sizeof target, "%s%s%s", path, id, rest);
    return call(method, target, SECRET, NULL);
}

int reserve_body(const char *product_id, const char *body) {
    char target[100];

    (void)snprintf(target, sizeof target, "/products/%s/reservations", product_id);
    return call("POST", target, JSON_BODY, body);
}

int reserve(const char *product_id, const char *order_id) {
    char body[100];

    (void)snprintf(body, sizeof body, "{\"order_id\": \"%s\"}", order_id);
    return reserve_body(product_id, body);
}

const char *text_of(const char *key) {
    const char *text = json_string_value(json_object_get(reply.json, key));

    return text != NULL ? text : "";
}

int64_t integer_of(const char *key) {
    return json_integer_value(json_object_get(reply.json, key));
}

void expect_error(int got, int status, const char *code) {
    assert_int_equal(got, status);
    assert_string_equal(text_of("error"), code);
    assert_true(strlen(text_of("message")) > 0);
}

int set_up_web(void **state) {
    (void)set_up(state);
    instance.store.port = 8001;
    instance.store.secret = "hush";
    web_open(&web, &instance.loop, inventory_routes, &instance.store);
    return 0;
}

int tear_down_web(void **state) {
    web_close(&web);
    return tear_down(state);
}
