/* A server with a handler for each thing that a handler may do, for the tests of the HTTP server.
 */
#ifndef TEST_HTTP_FIXTURE_H
#define TEST_HTTP_FIXTURE_H

#include "http_server.h"

#include "fiber.h"
#include "http_peer.h"
#include "test.h"
#include "wait.h"

#define HOST                 "Host: localhost\r\n"
#define GET_HELLO            "GET / HTTP/1.1\r\n" HOST "\r\n"

#define HTTP_FIXTURE_WAITERS 2048
#define HTTP_FIXTURE_PARTS   512

struct http_fixture {
    uv_loop_t loop;
    struct http_server *server;
    struct http_peer peer; /* opened by the set-up */
    int port;
    bool is_closed;
    unsigned waiting;  /* waiting handlers of /wait */
    size_t parts_left; /* not yet sent by /parts */
    unsigned streams;  /* running handlers of /stream */
    struct fiber_event *gates[HTTP_FIXTURE_WAITERS];
};

extern struct http_fixture http; /* of the test that runs */

/* Serves on a free port:
 *   GET /           "hello"                  POST /echo        the body
 *   GET /wait       after ..._let_go()       GET /items/{id}   "<id>|<query parameter q>"
 *   GET /silent     no reply                 GET /large        8 MiB
 *   GET /parts      32 MiB in parts          GET /cut          half of what it begins
 *   GET /drop       http_reply_drop          GET /header?v=    reply header X-Value: v
 *   POST /json      the JSON object          GET /id           the request id
 *   GET /stream?n=  "tick" n times, or until the reader is gone
 *   GET /chunks     "one", "two"; after ..._let_go() "three" */
void http_fixture_open(const struct http_server_options *limits);
void http_fixture_close(void);
/* A test with the open fixture. `limits` are struct http_server_options *, or NULL. */
#define HTTP_TEST(test, limits)                                                                    \
    cmocka_unit_test_prestate_setup_teardown(test, http_fixture_set_up, http_fixture_tear_down,    \
                                             limits)
int http_fixture_set_up(void **state);
int http_fixture_tear_down(void **state);
/* Call http_peer_ask() with its peer. */
void http_ask(const char *request, int status, const char *part);
/* Close the peer, and open it again. */
void http_fixture_reconnect(void);
/* Resume every waiting handler. */
void http_fixture_let_go(void);
void http_fixture_wait_for_waiters(unsigned count);
void http_fixture_wait_for_connections(unsigned count);
void on_http_fixture_closed(void *fixture); /* struct http_fixture * */

#endif
