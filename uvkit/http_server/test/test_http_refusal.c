/* Refusals of the HTTP server before a handler runs: status, reason, Connection. */
#include "fault.h"
#include "http_fixture.h"

#include <poll.h>

#define LIMIT 1024

static struct http_server_options limits = {.header_limit = LIMIT, .body_limit = 4096};

static struct http_server_options hasty = {.header_timeout_ms = 40},
                                  impatient = {.header_timeout_ms = 5000, .idle_timeout_ms = 40},
                                  for_two = {.connection_limit = 2};

static int set_up_with_few_descriptors(void **state) {
    rlim_t limit = fault_descriptors(40);

    (void)http_fixture_set_up(state);
    (void)fault_descriptors(limit);
    return 0;
}

static char reply[2048]; /* the last refusal */

static void expect_refusal(struct http_peer *peer, const char *request, int status,
                           const char *code) {
    char error[64];
    int got = http_peer_reply(peer, reply, sizeof reply);

    (void)snprintf(error, sizeof error, "{\"error\":\"%s\",\"message\":\"", code);
    if (got != status || strstr(reply, error) == NULL || strstr(reply, "application/json") == NULL)
        fail_msg("%d, not %d, or no %s: %s%s", got, status, error, request, reply);
}

/* The refusal ends the connection, and the client can read it. */
static void refuses(const char *request, int status, const char *code) {
    http_fixture_reconnect();
    http_peer_say(&http.peer, request);
    expect_refusal(&http.peer, request, status, code);
    if (strstr(reply, "Connection: close") == NULL)
        fail_msg("the connection goes on: %s%s", request, reply);
    http_peer_expect_end(&http.peer);
    assert_int_equal(http.peer.length, 0);
}

#define ECHO_POST "POST /echo HTTP/1.1\r\n" HOST
#define CHUNKED   ECHO_POST "Transfer-Encoding: chunked\r\n\r\n"
#define MALFORMED 400, "bad_request"

static const struct {
    int status;
    const char *code, *request;
} refusals[] = {
    {MALFORMED, "BREW / HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "get / HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "\x16\x03\x01\x02"},
    {MALFORMED, "GET / HTTP/1.1\nHost: localhost\n\n"},
    {MALFORMED, "GET / HTTP/1.1\nHost: localhost\r\n\r\n"},
    {MALFORMED, "GET / HTTP/1.0\n\r\n"},
    {MALFORMED, "GET noslash HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "CONNECT test:80 HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET http://localhost HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET / HTTP/1.1\r\n" HOST "X Y: z\r\n\r\n"},
    {MALFORMED, "GET / HTTP/1.1\r\n" HOST "X : z\r\n\r\n"},
    {MALFORMED, "GET / HTTP/1.1\r\n" HOST ": z\r\n\r\n"},
    {MALFORMED, "GET / HTTP/1.1\r\n" HOST "X: a\x01z\r\n\r\n"},
    {MALFORMED, "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n"},
    {MALFORMED, "GET /items/a\fb HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET /items/a\tb HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET /items/a?q=\f HTTP/1.1\r\n" HOST "\r\n"},
    /* ---- a missing or second Host */
    {MALFORMED, "GET / HTTP/1.1\r\n\r\n"},
    {MALFORMED, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
    {MALFORMED, "GET / HTTP/1.0\r\n" HOST HOST "\r\n"},
    /* ---- bad escapes */
    {MALFORMED, "GET /items/%zz HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET /items/%4 HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET /items/a%00b HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET /items/a?q=%00 HTTP/1.1\r\n" HOST "\r\n"},
    {MALFORMED, "GET /items/a?q=% HTTP/1.1\r\n" HOST "\r\n"},
    /* ---- cases in which two readers could disagree on the end of the request */
    {MALFORMED, ECHO_POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    {MALFORMED, ECHO_POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"},
    {MALFORMED, ECHO_POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
    {MALFORMED, ECHO_POST "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"},
    {MALFORMED, ECHO_POST "Content-Length: 3, 3\r\n\r\nabc"},
    {MALFORMED, ECHO_POST "Content-Length: +3\r\n\r\nabc"},
    {MALFORMED, ECHO_POST "Content-Length: -3\r\n\r\nabc"},
    {MALFORMED, ECHO_POST "Content-Length:\r\n\r\nabc"},
    {MALFORMED, ECHO_POST "Content-Length : 3\r\n\r\nabc"},
    {MALFORMED, ECHO_POST "Content-Length: 99999999999999999999\r\n\r\nabc"},
    {MALFORMED, "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
    /* ---- bad chunks */
    {MALFORMED, CHUNKED "x\r\n"},
    {MALFORMED, CHUNKED "-1\r\n"},
    {MALFORMED, CHUNKED "\r\n"},
    {MALFORMED, CHUNKED "3 \r\nabc\r\n"},
    {MALFORMED, CHUNKED "3\nabc\r\n"},
    {MALFORMED, CHUNKED "3\r\nabcd\r\n"},
    {MALFORMED, CHUNKED "3\r\nabcXY0\r\n\r\n"},
    {MALFORMED, CHUNKED "3\r\nabc\rY0\r\n\r\n"},
    {MALFORMED, CHUNKED "3\r\nabc\n\n0\r\n\r\n"},
    {MALFORMED, CHUNKED "3\rXabc\r\n0\r\n\r\n"},
    {MALFORMED, CHUNKED "0\r\n\rX"},
    {MALFORMED, CHUNKED "fffffffffffffffff\r\n"},
    /* ---- unknown transfer codings */
    {501, "transfer_encoding", ECHO_POST "Transfer-Encoding: gzip\r\n\r\n"},
    {501, "transfer_encoding", ECHO_POST "Transfer-Encoding: gzip, chunked\r\n\r\n"},
    {501, "transfer_encoding", ECHO_POST "Transfer-Encoding: xchunked\r\n\r\n"},
    /* ---- other versions of HTTP */
    {505, "http_version", "GET / HTTP/2.0\r\n" HOST "\r\n"},
    {505, "http_version", "GET / HTTP/1.2\r\n" HOST "\r\n"},
    {505, "http_version", "GET / HTTP/x.1\r\n" HOST "\r\n"},
    {505, "http_version", "GET / HTTP/0.9\r\n\r\n"},
    {505, "http_version", "GET /\r\n\r\n"},
    {505, "http_version", "GET / RTSP/1.0\r\n" HOST "\r\n"},
    {505, "http_version", "OPTIONS / RTSP/1.1\r\n" HOST "\r\n"},
    {505, "http_version", "SOURCE / ICE/1.0\r\n" HOST "\r\n"},
    {505, "http_version", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    /* ---- a large body, before it arrives */
    {413, "too_large", ECHO_POST "Content-Length: 4097\r\n\r\n"},
    {413, "too_large", ECHO_POST "Content-Length: 4097\r\nExpect: 100-continue\r\n\r\n"},
    {413, "too_large", ECHO_POST "Content-Length: 1099511627776\r\n\r\n"},
    {413, "too_large", ECHO_POST "Content-Length: 18446744073709551615\r\n\r\n"},
    {413, "too_large", CHUNKED "1001\r\n"},
    {413, "too_large", CHUNKED "1\r\nx\r\nffffffffffffffff\r\n"},
};

static void test_each_refusal_has_its_status_and_code(void **state) {
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        refuses(refusals[i].request, refusals[i].status, refusals[i].code);
}

/* As a whole, and byte by byte: wherever one line is broken, the next one is seen. */
static void test_folded_headers_are_400(void **state) {
    static const char *const folded[] = {
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n \r\n\r\n0\r\n\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length:\r\n\t3\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n \r\n\r\nabc",
        "GET / HTTP/1.1\r\nX: y\r\n Host: localhost\r\n" HOST "\r\n",
        "GET / HTTP/1.1\r\n " HOST "\r\n",
    };

    for (size_t i = 0; i < sizeof folded / sizeof *folded; i++) {
        refuses(folded[i], 400, "bad_request");
        http_fixture_reconnect();
        for (const char *at = folded[i]; *at != '\0' && http.peer.length == 0; at++) {
            http_peer_send(&http.peer, at, 1);
            http_peer_turn(&http.peer);
        }
        expect_refusal(&http.peer, "", 400, "bad_request");
    }
}

static void test_unknown_path_and_method_keep_the_connection(void **state) {
    http_peer_say(&http.peer, "GET /none HTTP/1.1\r\n" HOST "\r\n"
                              "POST /items HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc"
                              "GET /items/ HTTP/1.1\r\n" HOST "\r\n"
                              "GET // HTTP/1.1\r\n" HOST "\r\n");
    for (int i = 0; i < 4; i++)
        expect_refusal(&http.peer, "", 404, "not_found");
    http_peer_say(&http.peer, "PUT /items/1 HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(&http.peer, "Allow: GET, HEAD, DELETE\r\n");
    expect_refusal(&http.peer, "", 405, "method_not_allowed");
    http_peer_say(&http.peer, "HEAD /echo HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(&http.peer, "Allow: POST\r\n");
}

static void test_large_headers_are_431(void **state) {
    char request[2 * LIMIT], filler[LIMIT + 1];

    memset(filler, 'a', LIMIT);
    filler[LIMIT] = '\0';
    (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\n" HOST "X: %s\r\n\r\n", filler);
    refuses(request, 431, "headers_too_large");
    (void)snprintf(request, sizeof request, "GET /%s HTTP/1.1\r\n" HOST "\r\n", filler);
    refuses(request, 431, "headers_too_large");
    memset(filler, ' ', LIMIT);
    (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\n" HOST "X: %s\r\n\r\n", filler);
    refuses(request, 431, "headers_too_large");
}

static void test_large_chunked_body_is_413(void **state) {
    char request[8192];
    size_t length = (size_t)snprintf(request, sizeof request, CHUNKED "1001\r\n");

    memset(request + length, 'x', 0x1001);
    request[length + 0x1001] = '\0';
    refuses(request, 413, "too_large");
}

static void test_endless_trailers_and_chunk_extensions_are_431(void **state) {
    char request[4 * LIMIT] = CHUNKED "1;";

    memset(request + strlen(request), 'a', 2 * LIMIT);
    refuses(request, 431, "headers_too_large");
    (void)strcat(request, "\r\nx\r\n0\r\n\r\n"); /* all in one read */
    refuses(request, 431, "headers_too_large");
    (void)snprintf(request, sizeof request, CHUNKED "0\r\n");
    for (int i = 0; i < 2 * LIMIT / 6; i++)
        (void)strcat(request, "A: b\r\n");
    refuses(request, 431, "headers_too_large");
}

static void test_body_may_come_in_chunks_of_a_byte(void **state) {
    http_peer_say(&http.peer, CHUNKED);
    for (int i = 0; i < 4096; i++)
        http_peer_say(&http.peer, "1\r\nx\r\n");
    http_ask("0\r\n\r\n", 200, "");
}

/* Then llhttp accepts no further request. */
static void test_trailer_may_end_the_connection(void **state) {
    http_peer_say(&http.peer, CHUNKED "0\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n");
    assert_int_equal(http_peer_reply(&http.peer, reply, sizeof reply), 200);
    assert_non_null(strstr(reply, "Connection: close\r\n"));
    http_peer_expect_end(&http.peer);
}

static void test_client_that_sends_on_still_reads_its_413(void **state) {
    static char body[256 * 1024];

    http_peer_say(&http.peer, ECHO_POST "Content-Length: 262144\r\n\r\n");
    http_peer_send(&http.peer, body, sizeof body);
    expect_refusal(&http.peer, "", 413, "too_large");
    http_peer_close(&http.peer);
    http_fixture_wait_for_connections(0);
}

static void test_client_that_never_stops_sending_is_cut(void **state) {
    static char body[4 * 1024 * 1024];

    http_peer_say(&http.peer, ECHO_POST "Content-Length: 10000000\r\n\r\n");
    http_peer_send(&http.peer, body, sizeof body);
    http_fixture_wait_for_connections(0);
}

static void test_slow_headers_and_slow_bodies_are_408(void **state) {
    refuses("G", 408, "timeout");
    refuses("GET / HTTP/1.1\r\nHost: te", 408, "timeout");
    refuses(ECHO_POST "Content-Length: 3\r\n\r\nab", 408, "timeout");
    refuses(ECHO_POST "Transfer-Encoding: chunked\r\n\r\n3\r\nab", 408, "timeout");
}

static void test_input_that_came_during_a_stall_is_in_time(void **state) {
    char rest[] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc";

    http_peer_say(&http.peer, GET_HELLO);
    http_peer_send(&http.peer, rest, sizeof rest - 2);
    assert_int_equal(http_peer_reply(&http.peer, NULL, 0), 200);
    http_peer_say(&http.peer, "c");
    (void)poll(NULL, 0, 200); /* the loop does not run, like in a stopped process */
    assert_int_equal(http_peer_reply(&http.peer, NULL, 0), 200);
}

static void test_idle_connection_is_closed_without_a_word(void **state) {
    http_peer_expect_end(&http.peer);
    assert_int_equal(http.peer.length, 0);
    http_fixture_reconnect();
    http_ask(GET_HELLO, 200, "");
    http_peer_expect_end(&http.peer);
    assert_int_equal(http.peer.length, 0);
}

static void test_waiting_handler_is_not_timed_out(void **state) {
    http_peer_say(&http.peer, "GET /wait HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_wait_for_waiters(1);
    for (int i = 0; i < 200; i++) /* each turn waits a millisecond: past the idle timeout */
        http_peer_turn(&http.peer);
    assert_false(http.peer.is_ended);
    http_fixture_let_go();
    assert_int_equal(http_peer_reply(&http.peer, NULL, 0), 200);
}

static void test_peer_that_does_not_read_is_cut(void **state) {
    http_peer_say(&http.peer, "GET /large HTTP/1.1\r\n" HOST "\r\n");
    http_fixture_wait_for_connections(1);
    http_fixture_wait_for_connections(0);
}

static void test_connection_over_the_limit_is_503(void **state) {
    struct http_peer *others = calloc(2, sizeof *others);

    assert_non_null(others);
    http_peer_open(&others[0], &http.loop, http.port);
    http_fixture_wait_for_connections(2);
    http_peer_open(&others[1], &http.loop, http.port);
    http_peer_expect(&others[1], "Connection: close");
    expect_refusal(&others[1], "", 503, "too_many_connections");
    http_peer_expect_end(&others[1]);
    http_peer_close(&others[1]);
    http_fixture_wait_for_connections(2);
    http_peer_close(&others[0]);
    http_fixture_wait_for_connections(1);
    http_peer_open(&others[0], &http.loop, http.port);
    http_peer_ask(&others[0], GET_HELLO, 200, "");
    http_peer_close(&others[0]);
    free(others);
}

static void test_half_of_the_descriptors_are_for_connections(void **state) {
    struct http_peer *others = calloc(20, sizeof *others);

    assert_non_null(others);
    for (int i = 0; i < 20; i++)
        http_peer_open(&others[i], &http.loop, http.port);
    expect_refusal(&others[19], "", 503, "too_many_connections");
    http_peer_ask(&others[18], GET_HELLO, 200, "");
    for (int i = 0; i < 20; i++)
        http_peer_close(&others[i]);
    free(others);
}

static void test_refusals_are_counted(void **state) {
    struct http_server_stats stats;

    refuses("BREW / HTTP/1.1\r\n\r\n", 400, "bad_request");
    http_server_stats(http.server, &stats);
    assert_int_equal(stats.requests, 1);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.by_status_class[4], 1);
}

#define TEST(name)           HTTP_TEST(name, &limits)
#define TEST_IMPATIENT(name) HTTP_TEST(name, &impatient)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_refusal_has_its_status_and_code),
        TEST(test_folded_headers_are_400),
        TEST(test_unknown_path_and_method_keep_the_connection),
        TEST(test_large_headers_are_431),
        TEST(test_large_chunked_body_is_413),
        TEST(test_endless_trailers_and_chunk_extensions_are_431),
        TEST(test_body_may_come_in_chunks_of_a_byte),
        TEST(test_trailer_may_end_the_connection),
        TEST(test_client_that_sends_on_still_reads_its_413),
        TEST(test_client_that_never_stops_sending_is_cut),
        HTTP_TEST(test_slow_headers_and_slow_bodies_are_408, &hasty),
        HTTP_TEST(test_input_that_came_during_a_stall_is_in_time, &hasty),
        TEST_IMPATIENT(test_idle_connection_is_closed_without_a_word),
        TEST_IMPATIENT(test_waiting_handler_is_not_timed_out),
        TEST_IMPATIENT(test_peer_that_does_not_read_is_cut),
        HTTP_TEST(test_connection_over_the_limit_is_503, &for_two),
        cmocka_unit_test_setup_teardown(test_half_of_the_descriptors_are_for_connections,
                                        set_up_with_few_descriptors, http_fixture_tear_down),
        TEST(test_refusals_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
