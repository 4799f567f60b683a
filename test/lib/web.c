/* Calls its own server, each call in a fiber. */
#include "web.h"

#include "clock.h"
#include "fiber.h"
#include "test.h"
#include "wait.h"

static struct web *in; /* the fiber calls this one */

void web_open(struct web *web, uv_loop_t *loop, const struct http_route *routes, void *data) {
    struct http_server_options server = {.routes = routes, .data = data};
    struct http_client_options client = {.host = "127.0.0.1"};

    *web = (struct web){.loop = loop, .open = 2};
    assert_int_equal(http_server_open(&web->server, loop, &server), 0);
    assert_int_equal(http_server_listen(web->server, "127.0.0.1", 0), 0);
    client.port = http_server_port(web->server);
    assert_int_equal(http_client_open(&web->client, loop, &client), 0);
}

static void on_closed(void *data) {
    ((struct web *)data)->open--;
}

void web_close(struct web *web) {
    json_decref(web->json);
    http_client_close(web->client, on_closed, web);
    http_server_close(web->server, on_closed, web);
    WAIT_FOR(web->loop, web->open == 0);
}

static void run(void *arg) {
    struct web_call *call = arg;
    struct http_call http = {.method = call->method,
                             .target = call->target,
                             .headers = call->headers,
                             .body = call->body,
                             .body_length = call->body != NULL ? strlen(call->body) : 0,
                             .deadline_ms = clock_now_ms() + PATIENCE_MS,
                             .want_header = "Server-Timing"};

    if (http_call_await(in->client, &http) == HTTP_CALL_ANSWERED) {
        call->status = http.status;
        memcpy(call->timing, http.header, sizeof call->timing);
        (void)snprintf(call->text, sizeof call->text, "%s", http.reply);
    }
    http_call_done(&http);
    call->is_done = true;
}

int web_call(struct web *web, struct web_call *call) {
    in = web;
    assert_int_equal(fiber_start(run, call), 0);
    WAIT_FOR(web->loop, call->is_done);
    json_decref(web->json);
    call->json = web->json = json_loads(call->text, 0, NULL);
    return call->status;
}
