/* A client and the far end that the test plays by hand: it accepts, reads and answers with plain
 * sockets, and runs the client's loop while it waits. Every wait has a deadline. */
#ifndef UVKIT_TEST_HTTP_CLIENT_FIXTURE_H
#define UVKIT_TEST_HTTP_CLIENT_FIXTURE_H

#include "clock.h"
#include "http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_MS 20000
#define OK_REPLY    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

struct fixture {
    uv_loop_t loop;
    struct http_client *client;
    int listener, port;
    bool is_closed;
    unsigned ended; /* calls whose callback has run */
};

/* A call and what became of it. */
struct record {
    struct http_call call;
    struct fixture *fixture;
    unsigned callbacks;
    char reply[256];
};

static inline void turn(struct fixture *fixture, int64_t *until_ms) {
    if (*until_ms == 0)
        *until_ms = clock_now_ms() + PATIENCE_MS;
    if (clock_now_ms() > *until_ms)
        fail_msg("waited too long");
    (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    (void)poll(NULL, 0, 1);
}

/* Run the loop until `condition`; the body runs before each turn. */
#define wait_until(fixture, condition)                                                             \
    for (int64_t until_ms = 0; !(condition); turn((fixture), &until_ms))

static inline struct http_client_stats stats_of(struct fixture *fixture) {
    struct http_client_stats stats;

    http_client_stats(fixture->client, &stats);
    return stats;
}

static inline void listen_on(struct fixture *fixture, int port, int backlog) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1;

    fixture->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(fixture->listener >= 0);
    assert_int_equal(setsockopt(fixture->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(fixture->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fixture->listener, backlog), 0);
    assert_int_equal(getsockname(fixture->listener, (struct sockaddr *)&address, &length), 0);
    fixture->port = ntohs(address.sin_port);
}

static inline void open_client(struct fixture *fixture, struct http_client_options options) {
    if (options.host == NULL)
        options.host = "127.0.0.1";
    options.port = fixture->port;
    assert_int_equal(http_client_open(&fixture->client, &fixture->loop, &options), 0);
}

static inline int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    listen_on(fixture, 0, 128);
    *state = fixture;
    return 0;
}

static inline void on_client_closed(void *data) {
    struct fixture *fixture = data;

    fixture->is_closed = true;
    fixture->client = NULL;
}

static inline void close_client(struct fixture *fixture) {
    if (fixture->client == NULL)
        return;
    fixture->is_closed = false;
    http_client_close(fixture->client, on_client_closed, fixture);
    assert_false(fixture->is_closed);
    wait_until(fixture, fixture->is_closed) {
    }
}

static inline int tear_down(void **state) {
    struct fixture *fixture = *state;

    close_client(fixture);
    if (fixture->listener >= 0)
        (void)close(fixture->listener);
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    free(fixture);
    return 0;
}

static inline void on_ended(struct http_call *call) {
    struct record *record = call->data;

    record->callbacks++;
    record->fixture->ended++;
    (void)snprintf(record->reply, sizeof record->reply, "%s", call->reply);
}

static inline void call_by(struct fixture *fixture, struct record *record, const char *method,
                           int64_t timeout_ms) {
    *record = (struct record){.call = {.method = method,
                                       .target = "/x",
                                       .deadline_ms = clock_now_ms() + timeout_ms,
                                       .data = record},
                              .fixture = fixture};
    http_call_start(fixture->client, &record->call, on_ended);
    assert_int_equal(record->callbacks, 0);
}

static inline void call_start(struct fixture *fixture, struct record *record) {
    call_by(fixture, record, "GET", PATIENCE_MS);
}

static inline void expect(struct record *record, enum http_call_outcome outcome) {
    wait_until(record->fixture, record->callbacks > 0) {
    }
    assert_int_equal(record->callbacks, 1);
    assert_int_equal(record->call.outcome, outcome);
    assert_true((record->call.error == NULL) == (outcome == HTTP_CALL_ANSWERED));
    assert_true((record->call.sent_ns == 0) == (outcome == HTTP_CALL_NOT_SENT));
    assert_true(record->call.received_ns >= record->call.sent_ns);
}

static inline void expect_answer(struct record *record, int status, const char *reply) {
    expect(record, HTTP_CALL_ANSWERED);
    assert_int_equal(record->call.status, status);
    assert_string_equal(record->reply, reply);
}

static inline void expect_error(struct record *record, enum http_call_outcome outcome,
                                const char *error) {
    expect(record, outcome);
    if (strstr(record->call.error, error) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", record->call.error, error);
}

static inline int accept_one(struct fixture *fixture) {
    int fd = -1;

    wait_until(fixture,
               (fd = accept4(fixture->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    }
    return fd;
}

/* One whole request without a body; it is left in `text`. */
static inline void read_request(struct fixture *fixture, int fd, char *text, size_t size) {
    size_t length = 0;

    text[0] = '\0';
    wait_until(fixture, strstr(text, "\r\n\r\n") != NULL) {
        ssize_t got = recv(fd, text + length, size - 1 - length, 0);

        assert_true(got > 0 || (got < 0 && errno == EAGAIN));
        length += got > 0 ? (size_t)got : 0;
        text[length] = '\0';
    }
}

static inline void expect_request(struct fixture *fixture, int fd) {
    char text[4096];

    read_request(fixture, fd, text, sizeof text);
}

static inline void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The next request on `fd` is that of `record`, and is answered. */
static inline void answer(struct record *record, int fd) {
    expect_request(record->fixture, fd);
    say(fd, OK_REPLY);
    expect_answer(record, 200, "ok");
}

/* The same on a new connection, which is returned. */
static inline int accept_and_answer(struct record *record) {
    int fd = accept_one(record->fixture);

    answer(record, fd);
    return fd;
}

#endif
