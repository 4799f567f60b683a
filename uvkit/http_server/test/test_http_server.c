/* The HTTP server at work: keep-alive, pipelining, bodies, decoding, limits, memory, fuzz. */
#include "fault.h"
#include "http_fixture.h"

#include <sys/socket.h>
#include <time.h>

static struct http_server_options limits = {.header_limit = 1024, .body_limit = 4096};

static void test_connection_is_kept_alive(void **state) {
    struct http_server_stats stats;

    for (int i = 0; i < 3; i++)
        http_ask(GET_HELLO, 200, "\r\n\r\nhello");
    http_ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, "Connection: keep-alive");
    http_ask("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", 200, "Connection: close");
    http_peer_expect_end(&http.peer);
    http_server_stats(http.server, &stats);
    assert_int_equal(stats.requests, 5);
    assert_int_equal(stats.by_status_class[2], 5);
    assert_int_equal(stats.in_flight, 0);
}

static void test_http_1_0_is_answered_and_closed(void **state) {
    http_ask("GET / HTTP/1.0\r\n\r\n", 200, "Connection: close");
    http_peer_expect_end(&http.peer);
}

static void test_offer_to_upgrade_is_ignored(void **state) {
    http_ask("GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 200, "hello");
    http_ask(GET_HELLO, 200, "hello");
}

static void test_every_reply_is_dated(void **state) {
    const char *date;
    char reply[512];
    struct tm tm;

    for (int i = 0; i < 2; i++) {
        http_peer_say(&http.peer, i == 0 ? GET_HELLO : "nonsense");
        assert_int_equal(http_peer_reply(&http.peer, reply, sizeof reply), i == 0 ? 200 : 400);
        date = strstr(reply, "\r\nDate: ");
        assert_non_null(date);
        date = strptime(date, "\r\nDate: %a, %d %b %Y %H:%M:%S GMT", &tm);
        assert_true(date != NULL && *date == '\r');
        assert_true(timegm(&tm) <= time(NULL) && timegm(&tm) > time(NULL) - 60);
    }
}

static void test_head_gets_no_body(void **state) {
    http_peer_say(&http.peer, "HEAD / HTTP/1.1\r\n" HOST "\r\nHEAD /none HTTP/1.1\r\n" HOST
                              "\r\nGET / HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(&http.peer, "\r\n\r\nhello");
    assert_non_null(strstr(http.peer.text, "Content-Length: 5"));
    assert_null(strstr(http.peer.text, "not_found"));
}

static void test_body_with_a_length_and_in_chunks(void **state) {
    http_ask("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", 200, "\r\n\r\nabc");
    http_ask("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n"
             "3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
             200, "\r\n\r\nabc0123456789");
    http_ask("POST /echo HTTP/1.1\r\n" HOST "\r\n", 200, "Content-Length: 0");
}

static void test_100_continue_is_answered_before_the_body(void **state) {
    http_ask("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n",
             100, "Continue");
    http_ask("abc", 200, "\r\n\r\nabc");
    http_ask("POST /none HTTP/1.1\r\n" HOST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n",
             404, "Connection: close");
}

static const char pipeline[] = "GET /items/1 HTTP/1.1\r\n" HOST "\r\n"
                               "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\ntwo2\r\n"
                               "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
                               "5\r\nthree\r\n0\r\n\r\n"
                               "GET /items/4?q=5 HTTP/1.1\r\n" HOST "\r\n";

static void expect_pipeline(struct http_peer *peer) {
    http_peer_expect_reply(peer, 200, "\r\n\r\n1|none");
    http_peer_expect_reply(peer, 200, "\r\n\r\ntwo2");
    http_peer_expect_reply(peer, 200, "\r\n\r\nthree");
    http_peer_expect_reply(peer, 200, "\r\n\r\n4|5");
}

static void test_pipelined_requests_are_answered_in_order(void **state) {
    http_peer_say(&http.peer, pipeline);
    expect_pipeline(&http.peer);
}

static void test_requests_may_be_split_at_every_byte(void **state) {
    for (size_t at = 1; at < sizeof pipeline - 1; at++) {
        http_peer_send(&http.peer, pipeline, at);
        (void)uv_run(&http.loop, UV_RUN_NOWAIT);
        (void)uv_run(&http.loop, UV_RUN_NOWAIT);
        http_peer_send(&http.peer, pipeline + at, sizeof pipeline - 1 - at);
        expect_pipeline(&http.peer);
    }
}

static void test_requests_may_come_byte_by_byte(void **state) {
    for (size_t at = 0; at < sizeof pipeline - 1; at++) {
        http_peer_send(&http.peer, pipeline + at, 1);
        (void)uv_run(&http.loop, UV_RUN_NOWAIT);
    }
    expect_pipeline(&http.peer);
}

static void test_pipelined_requests_wait_for_a_slow_handler(void **state) {
    http_peer_say(&http.peer, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    http_peer_say(&http.peer, pipeline);
    http_fixture_wait_for_waiters(1);
    http_peer_turn(&http.peer);
    assert_int_equal(http.peer.length, 0);
    http_fixture_let_go();
    http_peer_expect_reply(&http.peer, 200, "waited");
    expect_pipeline(&http.peer);
}

static void test_reading_paused_for_a_slow_handler_goes_on(void **state) {
    unsigned sent = 0;

    http_peer_say(&http.peer, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_wait_for_waiters(1);
    for (; sent < 2000; sent++) {
        http_peer_say(&http.peer, GET_HELLO);
        (void)uv_run(&http.loop, UV_RUN_NOWAIT);
    }
    http_fixture_let_go();
    http_peer_expect_reply(&http.peer, 200, "waited");
    for (; sent > 0; sent--)
        http_peer_expect_reply(&http.peer, 200, "hello");
}

static void test_path_and_query_are_decoded(void **state) {
    http_ask("GET /items/a%2Fb%20c?x=1&q=%C3%A4+%26&y HTTP/1.1\r\n" HOST "\r\n", 200,
             "a/b c|\xc3\xa4 &");
    http_ask("GET http://localhost/items/7?q= HTTP/1.1\r\n" HOST "\r\n", 200, "\r\n\r\n7|");
    http_ask("GET /items/7?q HTTP/1.1\r\n" HOST "\r\n", 200, "\r\n\r\n7|");
}

static void test_reply_header_cannot_be_injected(void **state) {
    http_ask("GET /header?v=a%0D%0AEvil:%201%0Ab HTTP/1.1\r\n" HOST "\r\n", 200,
             "X-Value: a  Evil: 1 b\r\n");
}

static void test_request_id_is_the_clients_when_it_is_sane(void **state) {
    http_ask("GET /id HTTP/1.1\r\n" HOST "X-Request-Id: abc-1\r\n\r\n", 200, "\r\n\r\nabc-1");
    http_ask("GET /id HTTP/1.1\r\n" HOST "X-Request-Id: a b\r\n\r\n", 200, "Content-Length: 16");
    http_ask("GET /id HTTP/1.1\r\n" HOST "\r\n", 200, "Content-Length: 16");
}

static void test_handler_without_a_reply_is_a_500(void **state) {
    http_ask("GET /silent HTTP/1.1\r\n" HOST "\r\n", 500, "\"error\":\"failed\"");
    http_ask(GET_HELLO, 200, "hello");
}

static void test_dropped_reply_cuts_the_connection(void **state) {
    http_peer_say(&http.peer, "GET /drop HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect_end(&http.peer);
    assert_int_equal(http.peer.length, 0);
}

static void test_large_reply_arrives_whole(void **state) {
    size_t total = 0;

    http_peer_say(&http.peer, "GET /large HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    while (!http.peer.is_ended) {
        http_peer_turn(&http.peer);
        total += http.peer.length;
        http.peer.length = 0;
    }
    assert_true(total > 8 * 1024 * 1024);
}

static void ask_json(const char *path, const char *type, const char *body, int status,
                     const char *part) {
    char request[2048];

    (void)snprintf(request, sizeof request,
                   "POST %s HTTP/1.1\r\n" HOST "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
                   path, type, strlen(body), body);
    http_ask(request, status, part);
}

static void test_json_body_is_read_or_refused_with_a_reason(void **state) {
    char deep[401];

    memset(deep, '[', 400);
    deep[400] = '\0';
    ask_json("/json", "application/json; charset=utf-8", "{\"a\": \"]{\\\"\"}", 201, "{\"a\":");
    ask_json("/json", "text/plain", "{}", 415, "application/json");
    ask_json("/json", "application/json", "", 400, "line 1, column 0");
    ask_json("/json", "application/json", "{\"a\": 1,}", 400, "line 1, column 9");
    ask_json("/json", "application/json", "{\"a\": 1, \"a\": 2}", 400, "duplicate");
    ask_json("/json", "application/json", "[1]", 400, "object");
    ask_json("/json", "application/json", "{\"a\": \"\xff\"}", 400, "byte 0xff");
    ask_json("/json", "application/json", deep, 400, "nested too deeply");
}

static void test_uuid_of_a_body_is_read_or_refused_with_a_reason(void **state) {
    const char *id = "0190b2a8-7f00-7000-8000-00000000000a";

    ask_json("/uuid", "application/json",
             "{\"id\": \"0190B2A8-7F00-7000-8000-00000000000A\", \"n\": 1}", 200, id);
    ask_json("/uuid", "application/json",
             "{\"n\": [], \"id\": \"0190b2a8-7f00-7000-8000-00000000000\\u0061\"}", 200, id);
    ask_json("/uuid", "application/json", "{\"id\": 1}", 400, "send an id");
    ask_json("/uuid", "application/json", "{\"n\": []}", 400, "send an id");
    ask_json("/uuid", "text/plain", "{}", 415, "application/json");
}

static void test_many_requests_wait_at_once(void **state) {
    enum { COUNT = 400 }; /* of descriptors that any limit allows; both ends are in this process */
    struct http_peer *peers = calloc(COUNT, sizeof *peers);

    assert_non_null(peers);
    for (unsigned i = 0; i < COUNT; i++) {
        http_peer_open(&peers[i], &http.loop, http.port);
        http_peer_say(&peers[i], "GET /wait HTTP/1.1\r\n" HOST "\r\n");
        http_fixture_wait_for_waiters(i + 1);
    }
    http_fixture_let_go();
    for (unsigned i = 0; i < COUNT; i++) {
        http_peer_expect_reply(&peers[i], 200, "waited");
        http_peer_close(&peers[i]);
    }
    free(peers);
}

/* A new connection and one request, with an allocation that fails on the way. */
static void ask_without_memory(void *arg) {
    int status;

    http_peer_open(&http.peer, &http.loop, http.port);
    http_peer_say(&http.peer, "POST /echo?a=b HTTP/1.1\r\n" HOST
                              "Content-Length: 3\r\n\r\nabcGET /large HTTP/1.0\r\n\r\n");
    status = http_peer_reply(&http.peer, NULL, 0);
    assert_true(status == 200 || status == 500 || status == 503 || status == 0);
    while (!http.peer.is_ended) {
        http_peer_turn(&http.peer);
        http.peer.length = 0;
    }
    http_peer_close(&http.peer);
    http_fixture_wait_for_connections(0);
}

static void test_memory_may_fail_at_every_allocation(void **state) {
    http_peer_close(&http.peer);
    http_fixture_wait_for_connections(0);
    fault_each_allocation(ask_without_memory, NULL);
    http_peer_open(&http.peer, &http.loop, http.port);
    http_ask(GET_HELLO, 200, "hello");
}

static void test_connection_that_found_no_memory_is_accepted_later(void **state) {
    struct http_peer *second = calloc(1, sizeof *second);

    assert_non_null(second);
    fault_memory(0, 3); /* the spare of the first, then the second itself */
    http_fixture_wait_for_connections(1);
    http_peer_open(second, &http.loop, http.port);
    for (int i = 0; i < 10; i++)
        http_peer_turn(second);
    assert_true(fault_memory_end());
    http_peer_say(second, GET_HELLO);
    http_peer_expect_reply(second, 200, "hello");
    http_ask(GET_HELLO, 200, "hello");
    http_peer_close(second);
    free(second);
}

static void open_without_memory(void *arg) {
    uv_loop_t *loop = arg;
    const struct http_server_options options = {0};
    struct http_fixture closing = {0};

    if (http_server_open(&closing.server, loop, &options) != 0)
        return;
    http_server_close(closing.server, on_http_fixture_closed, &closing);
    WAIT_FOR(loop, closing.is_closed);
}

static void test_memory_may_fail_while_opening(void **state) {
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    fault_each_allocation(open_without_memory, &loop);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static unsigned next_random(unsigned *seed) {
    *seed = *seed * 1103515245 + 12345;
    return *seed >> 16 & 0x7fff;
}

/* Change, drop, double or cut a few bytes. */
static size_t mutate(char *text, size_t length, unsigned *seed) {
    for (unsigned changes = next_random(seed) % 4 + 1; changes > 0 && length > 1; changes--) {
        size_t at = next_random(seed) % length;

        switch (next_random(seed) % 4) {
        case 0:
            text[at] = (char)next_random(seed);
            break;
        case 1:
            memmove(text + at, text + at + 1, --length - at);
            break;
        case 2:
            memmove(text + at + 1, text + at, length++ - at);
            break;
        case 3:
            length = next_random(seed) % 8 == 0 ? at + 1 : length;
            break;
        }
    }
    return length;
}

static void test_mutated_requests_do_no_harm(void **state) {
    char text[sizeof pipeline + 16];
    unsigned seed = 788;

    for (int i = 0; i < 2000; i++) {
        http_fixture_reconnect();
        memcpy(text, pipeline, sizeof pipeline);
        http_peer_send(&http.peer, text, mutate(text, sizeof pipeline - 1, &seed));
        (void)shutdown(http.peer.fd, SHUT_WR);
        http_peer_expect_end(&http.peer);
        if (http.peer.length > 0)
            assert_memory_equal(http.peer.text, "HTTP/1.1 ", 9);
    }
    http_fixture_reconnect();
    http_ask(GET_HELLO, 200, "hello");
}

#define TEST(name) HTTP_TEST(name, &limits)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_connection_is_kept_alive),
        TEST(test_http_1_0_is_answered_and_closed),
        TEST(test_offer_to_upgrade_is_ignored),
        TEST(test_every_reply_is_dated),
        TEST(test_head_gets_no_body),
        TEST(test_body_with_a_length_and_in_chunks),
        TEST(test_100_continue_is_answered_before_the_body),
        TEST(test_pipelined_requests_are_answered_in_order),
        TEST(test_requests_may_be_split_at_every_byte),
        TEST(test_requests_may_come_byte_by_byte),
        TEST(test_pipelined_requests_wait_for_a_slow_handler),
        TEST(test_reading_paused_for_a_slow_handler_goes_on),
        TEST(test_path_and_query_are_decoded),
        TEST(test_reply_header_cannot_be_injected),
        TEST(test_request_id_is_the_clients_when_it_is_sane),
        TEST(test_handler_without_a_reply_is_a_500),
        TEST(test_dropped_reply_cuts_the_connection),
        TEST(test_large_reply_arrives_whole),
        TEST(test_json_body_is_read_or_refused_with_a_reason),
        TEST(test_uuid_of_a_body_is_read_or_refused_with_a_reason),
        TEST(test_many_requests_wait_at_once),
        TEST(test_memory_may_fail_at_every_allocation),
        TEST(test_connection_that_found_no_memory_is_accepted_later),
        cmocka_unit_test(test_memory_may_fail_while_opening),
        TEST(test_mutated_requests_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
