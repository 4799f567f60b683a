/* Replies in parts: they arrive whole, hold little for a peer that does not read, and do not stop
 * other replies. test_http_closing.c has their ends when either side closes. */
#include "http_fixture.h"

static struct http_server_options limits = {.idle_timeout_ms = 100};

static struct http_peer *open_other(void) {
    struct http_peer *other = calloc(1, sizeof *other);

    assert_non_null(other);
    http_peer_open(other, &http.loop, http.port);
    return other;
}

static void test_all_parts_arrive_and_the_connection_goes_on(void **state) {
    struct http_peer *peer = &http.peer;
    size_t left = HTTP_FIXTURE_PARTS * 64 * 1024;
    char *body;

    http_peer_say(peer, "GET /parts HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(peer, "\r\n\r\n");
    assert_non_null(strstr(peer->text, "Content-Length: 33554432\r\n"));
    body = strstr(peer->text, "\r\n\r\n") + 4;
    peer->length -= (size_t)(body - peer->text);
    memmove(peer->text, body, peer->length + 1);
    while (left > 0) {
        assert_int_equal(strspn(peer->text, "x"), peer->length);
        assert_true(peer->length <= left && !peer->is_ended);
        left -= peer->length;
        peer->length = 0;
        peer->text[0] = '\0';
        if (left > 0)
            http_peer_turn(peer);
    }
    http_peer_ask(peer, GET_HELLO, 200, "");
}

static const struct {
    const char *name, *request, *has, *lacks, *rest;
} replies[] = {
    {"the length of parts, and none of them", "HEAD /parts HTTP/1.0\r\n\r\n",
     "Content-Length: 33554432\r\n", NULL, ""},
    {"a reply that is not whole", "GET /cut HTTP/1.1\r\n" HOST "\r\n", "Content-Length: 10\r\n",
     NULL, "hello"},
    {"a stream without a length", "GET /stream?n=3 HTTP/1.1\r\n" HOST "\r\n",
     "Connection: close\r\n", "Content-Length", "tick\ntick\ntick\n"},
    {"no part of a stream", "HEAD /stream HTTP/1.1\r\n" HOST "\r\n", "", NULL, ""},
    {"no chunk", "HEAD /chunks HTTP/1.1\r\n" HOST "\r\n", "", NULL, ""},
};

static void test_what_came_when_the_connection_has_ended(void **state) {
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        const char *text = http.peer.text, *end;

        http_fixture_reconnect();
        http_peer_say(&http.peer, replies[i].request);
        http_peer_expect_end(&http.peer);
        end = strstr(text, "\r\n\r\n");
        if (end == NULL || strcmp(end + 4, replies[i].rest) != 0 ||
            strstr(text, replies[i].has) == NULL ||
            (replies[i].lacks != NULL && strstr(text, replies[i].lacks) != NULL))
            fail_msg("%s: %s", replies[i].name, text);
    }
}

static void test_others_are_served_while_a_peer_does_not_read(void **state) {
    struct http_peer *other = open_other();

    http_peer_say(&http.peer, "GET /parts HTTP/1.1\r\n" HOST "\r\n");
    http_peer_ask(other, GET_HELLO, 200, "");
    http_peer_close(other);
    free(other);
}

static void test_a_peer_that_reads_nothing_is_given_up(void **state) {
    http_peer_say(&http.peer, "GET /parts HTTP/1.1\r\n" HOST "\r\n");
    WAIT_FOR(&http.loop, http.parts_left > 0);
    http_fixture_wait_for_connections(0);
}

static void test_a_stream_goes_on_until_its_reader_is_gone(void **state) {
    struct http_peer *other = open_other();

    http_peer_say(other, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(other, "tick\ntick\ntick\n");
    assert_int_equal(http.streams, 1);
    http_peer_close(other);
    WAIT_FOR(&http.loop, http.streams == 0);
    free(other);
}

static void test_chunks_of_a_turn_come_together_and_the_connection_goes_on(void **state) {
    struct http_peer *peer = &http.peer;

    http_peer_say(peer, "GET /chunks HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(peer, "\r\n\r\n");
    assert_non_null(strstr(peer->text, "Transfer-Encoding: chunked\r\n"));
    assert_null(strstr(peer->text, "Content-Length"));
    assert_string_equal(strstr(peer->text, "\r\n\r\n"), "\r\n\r\n3\r\none\r\n3\r\ntwo\r\n");
    http_fixture_let_go();
    http_peer_expect(peer, "two\r\n5\r\nthree\r\n0\r\n\r\n");
    peer->length = 0;
    http_peer_ask(peer, GET_HELLO, 200, "");
}

/* Its first line did not announce an end, so its peer may ask again at once. */
static void test_drain_answers_a_request_behind_chunks_that_had_begun(void **state) {
    struct http_peer *peer = &http.peer;
    char reply[512];

    http_peer_say(peer, "GET /chunks HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(peer, "two\r\n");
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    http_fixture_let_go();
    http_peer_expect(peer, "two\r\n5\r\nthree\r\n0\r\n\r\n");
    http_peer_turn(peer);
    peer->length = 0;
    http_peer_say(peer, GET_HELLO);
    assert_int_equal(http_peer_reply(peer, reply, sizeof reply), 200);
    assert_non_null(strstr(reply, "Connection: close"));
    http_peer_expect_end(peer);
    http_peer_close(peer);
    WAIT_FOR(&http.loop, http.is_closed);
}

static void test_a_request_behind_one_with_chunks_waits_for_the_last(void **state) {
    struct http_peer *peer = &http.peer;

    http_peer_say(peer, "GET /chunks HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(peer, "two\r\n");
    http_fixture_let_go();
    http_peer_expect(peer, "5\r\nthree\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n");
}

static void test_to_http_1_0_chunks_are_a_stream(void **state) {
    http_peer_say(&http.peer, "GET /chunks HTTP/1.0\r\n\r\n");
    http_peer_expect(&http.peer, "\r\n\r\nonetwo");
    http_fixture_let_go();
    http_peer_expect_end(&http.peer);
    assert_null(strstr(http.peer.text, "chunked"));
    assert_string_equal(strstr(http.peer.text, "\r\n\r\n"), "\r\n\r\nonetwothree");
}

static void test_chunks_for_a_peer_that_is_gone_go_nowhere(void **state) {
    struct http_peer *other = open_other();

    http_peer_say(other, "GET /chunks HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect(other, "two\r\n");
    http_peer_reset(other);
    http_fixture_wait_for_connections(1);
    http_fixture_let_go();
    http_ask(GET_HELLO, 200, "");
    free(other);
}

#define TEST(name) HTTP_TEST(name, &limits)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_all_parts_arrive_and_the_connection_goes_on),
        TEST(test_what_came_when_the_connection_has_ended),
        TEST(test_others_are_served_while_a_peer_does_not_read),
        TEST(test_a_peer_that_reads_nothing_is_given_up),
        TEST(test_a_stream_goes_on_until_its_reader_is_gone),
        TEST(test_chunks_of_a_turn_come_together_and_the_connection_goes_on),
        TEST(test_drain_answers_a_request_behind_chunks_that_had_begun),
        TEST(test_a_request_behind_one_with_chunks_waits_for_the_last),
        TEST(test_to_http_1_0_chunks_are_a_stream),
        TEST(test_chunks_for_a_peer_that_is_gone_go_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
