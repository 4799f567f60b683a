/* A client, and the far end, which the test plays by hand: it accepts, reads and answers with plain
 * sockets, and runs the client's loop while it waits. Every wait has a deadline. */
#ifndef UVKIT_TEST_HTTP_CLIENT_FIXTURE_H
#define UVKIT_TEST_HTTP_CLIENT_FIXTURE_H

#include "clock.h"
#include "http_client.h"
#include "test.h"
#include "wait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define OK_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

struct caller {
    uv_loop_t loop;
    struct http_client *client;
    int listener, port;
    bool is_closed;
    unsigned ended; /* calls with a callback that has run */
};

extern struct caller caller; /* of the test that runs */

/* A call and its result. */
struct record {
    struct http_call call;
    unsigned callbacks, nth; /* its place in the order of endings */
    char reply[256];
};

int http_client_set_up(void **state);
int http_client_set_up_open(void **state); /* with a client of default options */
int http_client_tear_down(void **state);
#define TEST(test) cmocka_unit_test_setup_teardown(test, http_client_set_up, http_client_tear_down)
#define TEST_OPEN(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, http_client_set_up_open, http_client_tear_down)

/* Run the loop until `condition`. The body runs before each turn. */
#define wait_until(condition)                                                                      \
    for (int64_t until_ms_ = wait_deadline_ms(); !(condition);                                     \
         wait_turn(&caller.loop, until_ms_, #condition, __FILE__, __LINE__))

/* Port 0: any. */
void listen_on(int port, int backlog);
void open_client(struct http_client_options options);
void close_client(void);
void on_client_closed(void *data);
struct http_client_stats stats_of(void);

/* A call, GET of /x, that has plenty of time. */
void call_prepare(struct record *record);
/* Start a call. */
void call_start(struct record *record);
void call_by(struct record *record, const char *method, int64_t timeout_ms);
void on_ended(struct http_call *call);

/* Start it, and take it at the far end on a new connection. Returns the connection. */
int call_and_accept(struct record *record);

/* Wait for its end. */
void expect(struct record *record, enum http_call_outcome outcome);
void expect_answer(struct record *record, int status, const char *reply);
void expect_error(struct record *record, enum http_call_outcome outcome, const char *error);

int accept_one(void);
/* The same, and the request. */
int accept_request(void);
/* Read one whole request without a body into `text`. */
void read_request(int fd, char *text, size_t size);
void expect_request(int fd);
void say(int fd, const char *text);
/* Send its first `split` bytes, and the rest once the client has read these. */
void say_in_two(int fd, const char *text, size_t split);
/* The last request on `fd` was that of `record`: answer it. */
void say_ok(struct record *record, int fd);
/* The next request on `fd` is that of `record`: read and answer it. */
void answer(struct record *record, int fd);
/* The same on a new connection. Returns the connection. */
int accept_and_answer(struct record *record);
/* A call from beginning to end, on a new connection, which also ends. */
void call_to_end(void);

#endif
