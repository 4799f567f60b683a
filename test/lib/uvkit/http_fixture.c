/* A server with a handler for each thing that a handler may do. */
#include "http_fixture.h"

struct http_fixture http;

static void reply_text(struct http_exchange *exchange, const char *text) {
    http_reply(exchange, 200, "text/plain", text, strlen(text));
}

static void hello(struct http_exchange *exchange, void *data) {
    reply_text(exchange, "hello");
}

static void echo(struct http_exchange *exchange, void *data) {
    size_t length;
    const char *body = http_body(exchange, &length);

    http_reply(exchange, 200, "text/plain", body, length);
}

static void wait_for_let_go(void) {
    struct fiber_event gate = FIBER_EVENT_INIT;

    assert_true(http.waiting < HTTP_FIXTURE_WAITERS);
    http.gates[http.waiting++] = &gate;
    fiber_event_wait(&gate);
}

static void wait(struct http_exchange *exchange, void *data) {
    wait_for_let_go();
    reply_text(exchange, "waited");
}

static void item(struct http_exchange *exchange, void *data) {
    const char *q = http_query_param(exchange, "q");
    char text[256];

    (void)snprintf(text, sizeof text, "%s|%s", http_path_param(exchange, "id"),
                   q == NULL ? "none" : q);
    reply_text(exchange, text);
}

static void silent(struct http_exchange *exchange, void *data) {
}

static void large(struct http_exchange *exchange, void *data) {
    static char body[8 * 1024 * 1024];

    memset(body, 'x', sizeof body);
    http_reply(exchange, 200, "text/plain", body, sizeof body);
}

static void parts(struct http_exchange *exchange, void *data) {
    static char part[64 * 1024];
    size_t count = HTTP_FIXTURE_PARTS;

    memset(part, 'x', sizeof part);
    if (!http_reply_begin(exchange, 200, "text/plain", count * sizeof part))
        return;
    while (count > 0 && http_reply_part(exchange, part, sizeof part))
        count--;
    http.parts_left = count;
}

static void chunks(struct http_exchange *exchange, void *data) {
    if (!http_reply_chunked(exchange, 200, "text/plain"))
        return;
    http_reply_chunk(exchange, "one", 3);
    http_reply_chunk(exchange, "two", 3);
    wait_for_let_go();
    http_reply_chunk(exchange, "three", 5);
}

static void stream(struct http_exchange *exchange, void *data) {
    const char *wanted = http_query_param(exchange, "n");
    long left = wanted != NULL ? atol(wanted) : -1;

    http.streams++;
    if (http_reply_stream(exchange, 200, "text/plain"))
        for (; left != 0 && !http_reader_is_gone(exchange); left--) {
            if (!http_reply_part(exchange, "tick\n", 5))
                break;
            fiber_sleep(&http.loop, 1);
        }
    http.streams--;
}

static void cut(struct http_exchange *exchange, void *data) {
    if (http_reply_begin(exchange, 200, "text/plain", 10))
        assert_true(http_reply_part(exchange, "hello", 5));
}

static void drop(struct http_exchange *exchange, void *data) {
    http_reply_drop(exchange);
}

static void header(struct http_exchange *exchange, void *data) {
    http_reply_header(exchange, "X-Value", http_query_param(exchange, "v"));
    reply_text(exchange, "ok");
}

static void json(struct http_exchange *exchange, void *data) {
    json_t *body = http_body_json(exchange);

    if (body != NULL)
        http_reply_json(exchange, 201, body);
}

static void uuid(struct http_exchange *exchange, void *data) {
    char text[UUID_TEXT];

    if (http_body_uuid(exchange, "id", text, "send an id"))
        reply_text(exchange, text);
}

static void id(struct http_exchange *exchange, void *data) {
    reply_text(exchange, http_request_id(exchange));
}

static const struct http_route routes[] = {{"GET", "/", hello},
                                           {"POST", "/echo", echo},
                                           {"GET", "/wait", wait},
                                           {"GET", "/items/{id}", item},
                                           {"DELETE", "/items/{id}", item},
                                           {"GET", "/silent", silent},
                                           {"GET", "/large", large},
                                           {"GET", "/parts", parts},
                                           {"GET", "/stream", stream},
                                           {"GET", "/chunks", chunks},
                                           {"GET", "/cut", cut},
                                           {"GET", "/drop", drop},
                                           {"GET", "/header", header},
                                           {"POST", "/json", json},
                                           {"POST", "/uuid", uuid},
                                           {"GET", "/id", id},
                                           {NULL, NULL, NULL}};

void http_fixture_open(const struct http_server_options *limits) {
    struct http_server_options options = *limits;

    memset(&http, 0, sizeof http);
    assert_int_equal(uv_loop_init(&http.loop), 0);
    options.routes = routes;
    options.data = &http;
    assert_int_equal(http_server_open(&http.server, &http.loop, &options), 0);
    assert_int_equal(http_server_listen(http.server, "127.0.0.1", 0), 0);
    http.port = http_server_port(http.server);
    http_peer_open(&http.peer, &http.loop, http.port);
}

void on_http_fixture_closed(void *data) {
    struct http_fixture *closed = data;

    assert_false(closed->is_closed);
    closed->is_closed = true;
    closed->server = NULL;
}

void http_fixture_let_go(void) {
    unsigned waiting = http.waiting;

    http.waiting = 0;
    for (unsigned i = 0; i < waiting; i++)
        fiber_event_set(http.gates[i]);
}

void http_fixture_close(void) {
    if (http.server != NULL)
        http_server_close(http.server, on_http_fixture_closed, &http);
    http_fixture_let_go();
    WAIT_FOR(&http.loop, http.is_closed);
    http_peer_close(&http.peer);
    assert_int_equal(uv_loop_close(&http.loop), 0);
    fiber_cleanup();
}

int http_fixture_set_up(void **state) {
    static const struct http_server_options none;

    http_fixture_open(*state != NULL ? *state : &none);
    return 0;
}

int http_fixture_tear_down(void **state) {
    http_fixture_close();
    return 0;
}

void http_ask(const char *request, int status, const char *part) {
    http_peer_ask(&http.peer, request, status, part);
}

void http_fixture_reconnect(void) {
    http_peer_close(&http.peer);
    http_peer_open(&http.peer, &http.loop, http.port);
}

void http_fixture_wait_for_waiters(unsigned count) {
    WAIT_FOR(&http.loop, http.waiting == count);
}

static unsigned connections(void) {
    struct http_server_stats stats;

    http_server_stats(http.server, &stats);
    return stats.connections;
}

void http_fixture_wait_for_connections(unsigned count) {
    WAIT_FOR(&http.loop, connections() == count);
}
