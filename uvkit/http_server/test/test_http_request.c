/* Headers that a request may have once, and bodies without a byte. */
#include "http_fixture.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define HOST "Host: localhost\r\n"
#define KEY  "0190b2a8-7f00-7000-8000-000000000001"

static int set_up(void **state) {
    const struct http_server_options limits = {0};

    *state = http_fixture_open(&limits);
    return 0;
}

static int tear_down(void **state) {
    http_fixture_close(*state);
    return 0;
}

/* The status of a GET with these header lines besides Host, on a connection of its own. */
static int status_of(struct http_fixture *fixture, const char *lines, char *reply, size_t size) {
    char request[512];

    (void)snprintf(request, sizeof request, "GET / HTTP/1.1\r\n" HOST "%s\r\n", lines);
    http_peer_close(&fixture->peer);
    http_peer_open(&fixture->peer, &fixture->loop, fixture->port);
    http_peer_say(&fixture->peer, request);
    return http_peer_reply(&fixture->peer, reply, size);
}

static void test_a_field_that_decides_something_and_comes_twice_is_400(void **state) {
    static const struct {
        const char *lines, *name;
    } cases[] = {
        {"Idempotency-Key: " KEY "\r\nIdempotency-Key: " KEY "\r\n", "idempotency-key"},
        {"Idempotency-Key: " KEY "\r\nX: y\r\nIDEMPOTENCY-KEY: other\r\n", "idempotency-key"},
        {"Idempotency-Key: " KEY ", " KEY "\r\n", "idempotency-key"},
        {"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", "authorization"},
        {"Content-Type: application/json\r\nContent-Type: text/plain\r\n", "content-type"},
        {"Content-Type: application/json , text/plain\r\n", "content-type"},
        {"Content-Type: application/json; charset=utf-8, text/plain\r\n", "content-type"},
        {"Origin: http://localhost\r\nOrigin: http://localhost\r\n", "origin"},
        {"Origin: http://localhost, http://localhost\r\n", "origin"},
        {"Host: localhost\r\n", "host"},
        {"Expect: 100-continue\r\nExpect: x\r\n", "expect"},
        {"X-Class-Token: a\r\nX-Class-Token: b\r\n", "x-class-token"},
        {"Content-Length: 0\r\nContent-Length: 0\r\n", ""},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", ""},
        {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", ""},
    };
    char reply[1024];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (status_of(*state, cases[i].lines, reply, sizeof reply) != 400 ||
            strstr(reply, cases[i].name) == NULL)
            fail_msg("%s is answered %s", cases[i].lines, reply);
    }
}

static void test_other_fields_may_come_twice(void **state) {
    assert_int_equal(
        status_of(*state,
                  "Accept: a/b\r\nAccept: c/d\r\nVia: a\r\nVia: b\r\n"
                  "Cookie: a=b\r\nCookie: c=d\r\nX: a, b\r\nAuthorization: Bearer a,b\r\n",
                  NULL, 0),
        200);
}

/* The 400 says where the JSON ends, whatever ends the connection. */
static void test_an_empty_body_is_no_json_and_no_null(void **state) {
    static const char *const lines[] = {
        "Content-Length: 0\r\n\r\n",
        "Connection: close\r\nContent-Length: 0\r\n\r\n",
        "\r\n",
        "Connection: close\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nConnection: close\r\n\r\n",
    };
    struct http_fixture *fixture = *state;
    char request[256], reply[1024];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        (void)snprintf(request, sizeof request, "POST /json HTTP/1.1\r\n" HOST "%s", lines[i]);
        http_peer_close(&fixture->peer);
        http_peer_open(&fixture->peer, &fixture->loop, fixture->port);
        http_peer_say(&fixture->peer, request);
        assert_int_equal(http_peer_reply(&fixture->peer, reply, sizeof reply), 400);
        if (strstr(reply, "not valid JSON: line 1, column 0: ") == NULL)
            fail_msg("%s is answered %s", lines[i], reply);
    }
}

/* The NUL behind it is there on every connection. */
static void test_a_body_ends_with_a_nul_on_a_connection_that_ends(void **state) {
    struct http_fixture *fixture = *state;
    char reply[1024];

    http_peer_say(&fixture->peer, "POST /echo HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(http_peer_reply(&fixture->peer, reply, sizeof reply), 200);
    http_peer_expect_end(&fixture->peer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_field_that_decides_something_and_comes_twice_is_400,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_fields_may_come_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_empty_body_is_no_json_and_no_null, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_body_ends_with_a_nul_on_a_connection_that_ends,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
