/* The web client against a server of our own, and against a far end that the test plays by hand. */
#include "fault.h"
#include "http_client_fixture.h"
#include "http_server.h"
#include "web_client.h"

#include <zlib.h>

#define CROWD 1000
#define LARGE (8 * 1024 * 1024)

static struct web_client *client;
static struct web_visitor *visitor;
static struct http_server *server;
static bool is_client_closed, is_server_closed;
static unsigned posts;
static char *large; /* a body of 8 MiB, and the same with gzip */
static unsigned char packed[64 * 1024];
static size_t packed_length;

/* A request and its end. */
struct visit {
    struct web_request request;
    unsigned callbacks;
};

static char *url_of(const char *path) {
    static char urls[4][160];
    static unsigned next;
    char *url = urls[next++ % 4];

    (void)snprintf(url, sizeof urls[0], "http://127.0.0.1:%d%s",
                   server != NULL ? http_server_port(server) : caller.port, path);
    return url;
}

static void on_visited(struct web_request *request) {
    ((struct visit *)request->data)->callbacks++;
}

static void visit_prepare(struct visit *visit, const char *method, const char *url) {
    *visit = (struct visit){
        .request = {.method = method, .url = url, .timeout_ms = PATIENCE_MS, .data = visit}};
}

static void visit_start(struct visit *visit) {
    web_request_start(visitor, &visit->request, on_visited);
    assert_int_equal(visit->callbacks, 0);
}

static void visit_expect(struct visit *visit, enum web_outcome outcome, const char *error) {
    WAIT_FOR(&caller.loop, visit->callbacks > 0);
    assert_int_equal(visit->callbacks, 1);
    if (visit->request.outcome != outcome || strstr(visit->request.error, error) == NULL)
        fail_msg("outcome %d, \"%s\" instead of \"%s\"", visit->request.outcome,
                 visit->request.error, error);
    assert_true((visit->request.error[0] == '\0') == (outcome == WEB_ANSWERED));
    assert_true(visit->request.total_ns > 0);
}

static void visit_expect_reply(struct visit *visit, int status, const char *reply) {
    visit_expect(visit, WEB_ANSWERED, "");
    assert_int_equal(visit->request.status, status);
    assert_string_equal(visit->request.reply.length > 0 ? visit->request.reply.bytes : "", reply);
    web_request_free(&visit->request);
}

static void visit_to_error(const char *url, enum web_outcome outcome, const char *error) {
    struct visit visit;

    visit_prepare(&visit, "GET", url);
    visit_start(&visit);
    visit_expect(&visit, outcome, error);
    web_request_free(&visit.request);
}

/* ---- the server */

static void say_text(struct http_exchange *exchange, const char *text) {
    http_reply(exchange, 200, "text/plain", text, strlen(text));
}

static void on_echo(struct http_exchange *exchange, void *data) {
    size_t length;
    const char *body = http_body(exchange, &length);
    const char *type = http_header(exchange, "Content-Type");
    char text[256];

    posts++;
    (void)snprintf(text, sizeof text, "%s|%s", type != NULL ? type : "-", body);
    http_reply(exchange, 201, "text/plain", text, strlen(text));
}

static void on_greet(struct http_exchange *exchange, void *data) {
    const char *cookie = http_header(exchange, "Cookie");

    http_reply_header(exchange, "Set-Cookie", "cart=abc; Path=/; HttpOnly");
    http_reply_header(exchange, "X-Token", "t-1");
    say_text(exchange, cookie != NULL ? cookie : "no cookie");
}

static void on_away(struct http_exchange *exchange, void *data) {
    http_reply_header(exchange, "Location", "/greet");
    http_reply(exchange, 303, "text/plain", "away", 4);
}

static void on_large(struct http_exchange *exchange, void *data) {
    http_reply(exchange, 200, "text/plain", large, LARGE);
}

static void on_packed(struct http_exchange *exchange, void *data) {
    http_reply_header(exchange, "Content-Encoding", "gzip");
    http_reply(exchange, 200, "text/plain", (const char *)packed, packed_length);
}

static void on_busy(struct http_exchange *exchange, void *data) {
    http_reply_header(exchange, "Retry-After", "7");
    http_reply(exchange, 429, "text/html", "<html>", 6);
}

static void serve(void) {
    static const struct http_route routes[] = {
        {"POST", "/echo", on_echo},    {"GET", "/greet", on_greet},
        {"POST", "/away", on_away},    {"GET", "/large", on_large},
        {"GET", "/packed", on_packed}, {"GET", "/busy", on_busy},
        {"DELETE", "/echo", on_echo},  {NULL, NULL, NULL}};
    struct http_server_options options = {.routes = routes};

    assert_int_equal(http_server_open(&server, &caller.loop, &options), 0);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0), 0);
}

static void pack(void) {
    z_stream stream = {.next_in = (unsigned char *)large,
                       .avail_in = LARGE,
                       .next_out = packed,
                       .avail_out = sizeof packed};

    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed_length = stream.total_out;
    (void)deflateEnd(&stream);
}

static void on_closed(void *flag) {
    *(bool *)flag = true;
}

static void open_web(struct web_client_options options) {
    assert_int_equal(web_client_open(&client, &caller.loop, &options), 0);
    visitor = web_visitor_open(client);
    assert_non_null(visitor);
}

static int set_up(void **state) {
    (void)http_client_set_up(state);
    is_client_closed = is_server_closed = false;
    server = NULL;
    posts = 0;
    open_web((struct web_client_options){0});
    return 0;
}

static int set_up_serving(void **state) {
    (void)set_up(state);
    serve();
    return 0;
}

static int tear_down(void **state) {
    if (visitor != NULL)
        web_visitor_close(visitor);
    if (client != NULL)
        web_client_close(client, on_closed, &is_client_closed);
    if (server != NULL)
        http_server_close(server, on_closed, &is_server_closed);
    WAIT_FOR(&caller.loop,
             (client == NULL || is_client_closed) && (server == NULL || is_server_closed));
    return http_client_tear_down(state);
}

/* ---- replies */

static void test_a_reply_has_status_head_body_and_moments(void **state) {
    struct visit visit;
    size_t length;
    const char *value;

    visit_prepare(&visit, "GET", url_of("/busy"));
    visit_start(&visit);
    visit_expect(&visit, WEB_ANSWERED, "");
    value = web_reply_header(&visit.request, "retry-after", NULL, &length);
    assert_non_null(value);
    assert_int_equal(length, 1);
    assert_memory_equal(value, "7", 1);
    assert_null(web_reply_header(&visit.request, "retry-after", value, &length));
    assert_null(web_reply_header(&visit.request, "retry", NULL, &length));
    assert_true(visit.request.first_byte_ns >= visit.request.connected_ns);
    assert_true(visit.request.total_ns >= visit.request.first_byte_ns);
    visit_expect_reply(&visit, 429, "<html>");
}

static void test_methods_bodies_and_types_go_out_as_they_were_given(void **state) {
    static const char *const headers[] = {"Content-Type: application/json", "X-Empty:", NULL};
    struct visit visit;

    visit_prepare(&visit, "POST", url_of("/echo"));
    visit.request.headers = headers;
    visit.request.body = "{\"a\":1}";
    visit.request.body_length = 7;
    visit_start(&visit);
    visit_expect_reply(&visit, 201, "application/json|{\"a\":1}");
    visit_prepare(&visit, "POST", url_of("/echo"));
    visit_start(&visit);
    visit_expect_reply(&visit, 201, "-|");
    visit_prepare(&visit, "DELETE", url_of("/echo"));
    visit_start(&visit);
    visit_expect_reply(&visit, 201, "-|");
}

static void test_each_visitor_has_cookies_of_its_own(void **state) {
    struct web_visitor *first = visitor;
    struct buffer value = {0};
    struct visit visit;

    for (int i = 0; i < 3; i++) {
        visitor = i < 2 ? first : web_visitor_open(client);
        visit_prepare(&visit, "GET", url_of("/greet"));
        visit_start(&visit);
        visit_expect_reply(&visit, 200, i == 1 ? "cart=abc" : "no cookie");
    }
    web_visitor_close(visitor);
    visitor = first;
    assert_int_equal(web_visitor_cookie(visitor, "cart", &value), 1);
    assert_true(buffer_append(&value, "", 1));
    assert_string_equal(value.bytes, "abc");
    assert_int_equal(web_visitor_cookie(visitor, "car", &value), 0);
    buffer_free(&value);
}

static void test_redirects_are_followed_only_if_asked(void **state) {
    struct visit visit;

    visit_prepare(&visit, "POST", url_of("/away"));
    visit_start(&visit);
    visit_expect_reply(&visit, 303, "away");
    visit_prepare(&visit, "POST", url_of("/away"));
    visit.request.follows = true;
    visit_start(&visit);
    visit_expect_reply(&visit, 200, "no cookie");
}

static void test_a_body_over_the_limit_ends_the_request(void **state) {
    visit_to_error(url_of("/large"), WEB_UNKNOWN, "more than 1048576 bytes");
    visit_to_error(url_of("/packed"), WEB_UNKNOWN, "more than 1048576 bytes");
}

static void test_compressed_bodies_arrive_plain(void **state) {
    struct visit visit;

    web_visitor_close(visitor);
    web_client_close(client, on_closed, &is_client_closed);
    WAIT_FOR(&caller.loop, is_client_closed);
    is_client_closed = false;
    open_web((struct web_client_options){.reply_limit = LARGE});
    visit_prepare(&visit, "GET", url_of("/packed"));
    visit_start(&visit);
    visit_expect(&visit, WEB_ANSWERED, "");
    assert_int_equal(visit.request.reply.length, LARGE);
    assert_memory_equal(visit.request.reply.bytes, large, LARGE);
    web_request_free(&visit.request);
}

static void test_a_thousand_visitors_at_once(void **state) {
    static struct visit visits[CROWD];
    static struct web_visitor *visitors[CROWD];
    struct web_visitor *own = visitor;

    for (int i = 0; i < CROWD; i++) {
        visitors[i] = visitor = web_visitor_open(client);
        visit_prepare(&visits[i], "POST", url_of("/echo"));
        visit_start(&visits[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        visit_expect_reply(&visits[i], 201, "-|");
        web_visitor_close(visitors[i]);
    }
    assert_int_equal(posts, CROWD);
    visitor = own;
}

/* ---- a far end that behaves badly */

/* Where the machine stalls, nothing leaves in time. Then the next visit has twice the time. */
static void test_silence_is_unknown(void **state) {
    struct visit visit;
    int64_t timeout_ms = 25;

    do {
        int fd;

        timeout_ms *= 2;
        visit_prepare(&visit, "GET", url_of("/x"));
        visit.request.timeout_ms = timeout_ms;
        visit_start(&visit);
        fd = accept_one();
        WAIT_FOR(&caller.loop, visit.callbacks > 0);
        visit_expect(&visit, visit.request.outcome, "imed out");
        (void)close(fd);
        web_request_free(&visit.request);
    } while (visit.request.outcome == WEB_NOT_SENT && timeout_ms < PATIENCE_MS);
    assert_int_equal(visit.request.outcome, WEB_UNKNOWN);
}

static void test_a_connection_that_ends_in_the_reply_is_unknown(void **state) {
    const struct linger reset = {.l_onoff = 1};

    for (int i = 0; i < 2; i++) {
        struct visit visit;
        int fd;

        visit_prepare(&visit, "GET", url_of("/x"));
        visit_start(&visit);
        fd = accept_request();
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\nhalf");
        WAIT_FOR(&caller.loop, visit.request.reply.length == 4);
        if (i == 1)
            assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
        (void)close(fd);
        visit_expect(&visit, WEB_UNKNOWN, "");
        assert_int_equal(visit.request.status, 200);
        web_request_free(&visit.request);
    }
}

static void test_a_slow_reply_arrives(void **state) {
    struct visit visit;
    int fd;

    visit_prepare(&visit, "GET", url_of("/x"));
    visit_start(&visit);
    fd = accept_request();
    for (const char *at = OK_REPLY; *at != '\0'; at++)
        say_in_two(fd, (char[]){*at, '\0'}, 1);
    visit_expect_reply(&visit, 200, "ok");
    (void)close(fd);
}

static void test_a_request_on_a_kept_connection_is_sent_once(void **state) {
    struct visit visit;
    int fd;

    visit_prepare(&visit, "POST", url_of("/x"));
    visit_start(&visit);
    fd = accept_request();
    say(fd, OK_REPLY);
    visit_expect_reply(&visit, 200, "ok");
    visit_prepare(&visit, "POST", url_of("/x"));
    visit_start(&visit);
    expect_request(fd);
    (void)close(fd);
    visit_expect(&visit, WEB_UNKNOWN, "is not sent again");
    web_request_free(&visit.request);
    visit_prepare(&visit, "POST", url_of("/x"));
    visit_start(&visit);
    do /* libcurl may have opened a connection for the repetition, on which nothing was sent */
        fd = accept_one();
    while (visit.callbacks == 0 && recv(fd, (char[1]){0}, 1, MSG_PEEK) == 0);
    expect_request(fd);
    say(fd, OK_REPLY);
    visit_expect_reply(&visit, 200, "ok");
    (void)close(fd);
}

static void test_a_refused_connection_was_not_sent(void **state) {
    (void)close(caller.listener);
    caller.listener = -1;
    visit_to_error(url_of("/x"), WEB_NOT_SENT, "connect");
}

/* ---- requests that are refused */

static void test_public_addresses_are_refused(void **state) {
    visit_to_error("http://192.0.2.1/", WEB_NOT_SENT, "192.0.2.1 is neither loopback nor private");
    visit_to_error("http://169.254.169.254/", WEB_NOT_SENT, "neither loopback nor private");
    visit_to_error("http://[2001:db8::1]/", WEB_NOT_SENT, "2001:db8::1 is neither");
}

static void test_only_http_and_only_whole_headers(void **state) {
    static const char *const bad[][2] = {
        {"X-A: b\r\nX-C: d", "control character"},
        {"X-A: b\tc\r\nX-C: d", "control character"}, /* a tab is allowed, CR and LF are not */
        {"x", "`Name: value`"}};
    struct visit visit;

    visit_to_error("file:///etc/passwd", WEB_NOT_SENT, "rotocol");
    visit_to_error("http://127.0.0.1:1/\r\nX: y", WEB_NOT_SENT, "");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        visit_prepare(&visit, "GET", url_of("/x"));
        visit.request.headers = (const char *const[]){bad[i][0], NULL};
        visit_start(&visit);
        visit_expect(&visit, WEB_NOT_SENT, bad[i][1]);
    }
    visit_prepare(&visit, "HEAD", url_of("/x"));
    visit.request.body = "x";
    visit.request.body_length = 1;
    visit_start(&visit);
    visit_expect(&visit, WEB_NOT_SENT, "HEAD has no body");
}

static void test_proxies_of_the_environment_are_not_used(void **state) {
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    assert_int_equal(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
    {
        struct visit visit;

        visit_prepare(&visit, "GET", url_of("/greet"));
        visit_start(&visit);
        visit_expect_reply(&visit, 200, "no cookie");
    }
    (void)unsetenv("http_proxy");
    (void)unsetenv("ALL_PROXY");
}

/* ---- ends */

static void test_a_cancelled_request_ends_once_and_later(void **state) {
    struct visit visit;
    int fd;

    visit_prepare(&visit, "GET", url_of("/x"));
    visit_start(&visit);
    web_request_cancel(&visit.request);
    web_request_cancel(&visit.request);
    assert_int_equal(visit.callbacks, 0);
    visit_expect(&visit, WEB_NOT_SENT, "cancelled");
    web_request_free(&visit.request);
    visit_prepare(&visit, "GET", url_of("/x"));
    visit_start(&visit);
    fd = accept_request();
    web_request_cancel(&visit.request);
    visit_expect(&visit, WEB_UNKNOWN, "cancelled");
    web_request_free(&visit.request);
    (void)close(fd);
}

static void test_a_close_ends_what_runs(void **state) {
    struct visit visit;
    int fd;

    visit_prepare(&visit, "GET", url_of("/x"));
    visit_start(&visit);
    fd = accept_request();
    web_client_close(client, on_closed, &is_client_closed);
    assert_int_equal(visit.callbacks, 0);
    visit_expect(&visit, WEB_UNKNOWN, "cancelled");
    web_request_free(&visit.request);
    web_visitor_close(visitor);
    visitor = NULL;
    WAIT_FOR(&caller.loop, is_client_closed);
    client = NULL;
    (void)close(fd);
}

static void visit_without_memory(void *arg) {
    struct visit visit;

    visit_prepare(&visit, "GET", url_of("/greet"));
    visit_start(&visit);
    WAIT_FOR(&caller.loop, visit.callbacks > 0);
    if (visit.request.outcome != WEB_ANSWERED)
        assert_string_not_equal(visit.request.error, "");
    web_request_free(&visit.request);
}

static void test_short_memory_is_an_error_of_the_request(void **state) {
    fault_each_allocation(visit_without_memory, NULL);
}

static int set_up_all(void **state) {
    large = malloc(LARGE);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    pack();
    return 0;
}

static int tear_down_all(void **state) {
    free(large);
    fiber_cleanup();
    return 0;
}

#define TEST_SERVED(test)  cmocka_unit_test_setup_teardown(test, set_up_serving, tear_down)
#define TEST_BY_HAND(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_SERVED(test_a_reply_has_status_head_body_and_moments),
        TEST_SERVED(test_methods_bodies_and_types_go_out_as_they_were_given),
        TEST_SERVED(test_each_visitor_has_cookies_of_its_own),
        TEST_SERVED(test_redirects_are_followed_only_if_asked),
        TEST_SERVED(test_a_body_over_the_limit_ends_the_request),
        TEST_SERVED(test_compressed_bodies_arrive_plain),
        TEST_SERVED(test_a_thousand_visitors_at_once),
        TEST_SERVED(test_proxies_of_the_environment_are_not_used),
        TEST_SERVED(test_short_memory_is_an_error_of_the_request),
        TEST_BY_HAND(test_silence_is_unknown),
        TEST_BY_HAND(test_a_connection_that_ends_in_the_reply_is_unknown),
        TEST_BY_HAND(test_a_slow_reply_arrives),
        TEST_BY_HAND(test_a_request_on_a_kept_connection_is_sent_once),
        TEST_BY_HAND(test_a_refused_connection_was_not_sent),
        TEST_BY_HAND(test_public_addresses_are_refused),
        TEST_BY_HAND(test_only_http_and_only_whole_headers),
        TEST_BY_HAND(test_a_cancelled_request_ends_once_and_later),
        TEST_BY_HAND(test_a_close_ends_what_runs),
    };

    return cmocka_run_group_tests_name("web_client", tests, set_up_all, tear_down_all);
}
