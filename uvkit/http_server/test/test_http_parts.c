/* Replies in parts: they arrive whole, hold little for a peer that does not read, and others go on
 * meanwhile. How they end when either side closes is in test_http_closing.c. */
#include "http_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOST "Host: localhost\r\n"

static int set_up(void **state) {
    const struct http_server_options limits = {.idle_timeout_ms = 100};

    *state = http_fixture_open(&limits);
    return 0;
}

static int tear_down(void **state) {
    http_fixture_close(*state);
    return 0;
}

static struct http_peer *open_other(struct http_fixture *fixture) {
    struct http_peer *other = calloc(1, sizeof *other);

    assert_non_null(other);
    http_peer_open(other, &fixture->loop, fixture->port);
    return other;
}

static void test_all_parts_arrive_and_the_connection_goes_on(void **state) {
    struct http_fixture *fixture = *state;
    struct http_peer *peer = &fixture->peer;
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
    http_peer_say(peer, "GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(http_peer_reply(peer, NULL, 0), 200);
}

static void test_head_has_the_length_and_no_part(void **state) {
    struct http_fixture *fixture = *state;

    http_peer_say(&fixture->peer, "HEAD /parts HTTP/1.0\r\n\r\n");
    http_peer_expect_end(&fixture->peer);
    assert_non_null(strstr(fixture->peer.text, "Content-Length: 33554432\r\n"));
    assert_string_equal(strstr(fixture->peer.text, "\r\n\r\n"), "\r\n\r\n");
}

static void test_others_are_served_while_a_peer_does_not_read(void **state) {
    struct http_fixture *fixture = *state;
    struct http_peer *other = open_other(fixture);

    http_peer_say(&fixture->peer, "GET /parts HTTP/1.1\r\n" HOST "\r\n");
    http_peer_say(other, "GET / HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(http_peer_reply(other, NULL, 0), 200);
    http_peer_close(other);
    free(other);
}

static void test_a_peer_that_reads_nothing_is_given_up(void **state) {
    struct http_fixture *fixture = *state;

    http_peer_say(&fixture->peer, "GET /parts HTTP/1.1\r\n" HOST "\r\n");
    WAIT_FOR(&fixture->loop, fixture->parts_left > 0);
    http_fixture_wait_for_connections(fixture, 0);
}

static void test_a_reply_that_is_not_whole_ends_the_connection(void **state) {
    struct http_fixture *fixture = *state;

    http_peer_say(&fixture->peer, "GET /cut HTTP/1.1\r\n" HOST "\r\n");
    http_peer_expect_end(&fixture->peer);
    assert_non_null(strstr(fixture->peer.text, "Content-Length: 10\r\n"));
    assert_string_equal(strstr(fixture->peer.text, "\r\n\r\n"), "\r\n\r\nhello");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_all_parts_arrive_and_the_connection_goes_on),
        TEST(test_head_has_the_length_and_no_part),
        TEST(test_others_are_served_while_a_peer_does_not_read),
        TEST(test_a_peer_that_reads_nothing_is_given_up),
        TEST(test_a_reply_that_is_not_whole_ends_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
