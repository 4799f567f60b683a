/* The endpoint for measuring loadgen and wrk: it answers at once, and always the same.
 *
 *     null_server [--port 8099]       POST /orders and GET / on 127.0.0.1 */
#include "http_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char answer[] =
    "{\"order_id\":\"0190a5b0-0000-7000-8000-000000000000\",\"product_id\":"
    "\"82391173-9dbc-49b6-821b-746a11dbbe5e\",\"unit\":0,\"remaining\":0,\"price\":\"88888.88\","
    "\"instance\":\"null\"}";

static void place(struct http_exchange *exchange, void *data) {
    (void)data;
    http_reply(exchange, 201, "application/json", answer, sizeof answer - 1);
}

static void greet(struct http_exchange *exchange, void *data) {
    (void)data;
    http_reply(exchange, 200, "application/json", "{}", 2);
}

static const struct http_route routes[] = {
    {"POST", "/orders", place}, {"GET", "/", greet}, {NULL, NULL, NULL}};

int main(int argc, char **argv) {
    const struct http_server_options options = {.routes = routes};
    int port = argc == 3 && strcmp(argv[1], "--port") == 0 ? atoi(argv[2]) : 8099;
    uv_loop_t *loop = uv_default_loop();
    struct http_server *server;
    int err = http_server_open(&server, loop, &options);

    if (err == 0)
        err = http_server_listen(server, "127.0.0.1", port);
    if (err != 0) {
        (void)fprintf(stderr, "null_server: port %d: %s\n", port, uv_strerror(err));
        return 1;
    }
    (void)printf("listening on 127.0.0.1:%d\n", http_server_port(server));
    (void)fflush(stdout);
    return uv_run(loop, UV_RUN_DEFAULT);
}
