/* The server in front of the instance, and the requests. */
#include "front.h"

#include "handlers.h"

struct web web;

int get(struct web_call *call, const char *method, const char *path, const char *id,
        const char *rest) {
    char target[200];

    (void)snprintf(target, sizeof target, "%s%s%s", path, id, rest);
    *call = (struct web_call){.method = method, .target = target, .headers = SECRET};
    return web_call(&web, call);
}

int reserve_body(struct web_call *call, const char *product_id, const char *body) {
    char target[100];

    (void)snprintf(target, sizeof target, "/products/%s/reservations", product_id);
    *call = (struct web_call){.method = "POST",
                              .target = target,
                              .headers = "Content-Type: application/json\r\n",
                              .body = body};
    return web_call(&web, call);
}

int reserve(struct web_call *call, const char *product_id, const char *order_id) {
    char body[100];

    (void)snprintf(body, sizeof body, "{\"order_id\": \"%s\"}", order_id);
    return reserve_body(call, product_id, body);
}

const char *text_of(const struct web_call *call, const char *key) {
    const char *text = json_string_value(json_object_get(call->json, key));

    return text != NULL ? text : "";
}

void expect_error(struct web_call *exchange, int got, int status, const char *code) {
    assert_int_equal(got, status);
    assert_string_equal(text_of(exchange, "error"), code);
    assert_true(strlen(text_of(exchange, "message")) > 0);
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
