/* The client's loop, and the far end on plain sockets. */
#include "http_client_fixture.h"

#include "own_port.h"

struct http_client_stats stats_of(struct fixture *fixture) {
    struct http_client_stats stats;

    http_client_stats(fixture->client, &stats);
    return stats;
}

void listen_on(struct fixture *fixture, int port, int backlog) {
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

void open_client(struct fixture *fixture, struct http_client_options options) {
    if (options.host == NULL)
        options.host = "127.0.0.1";
    options.port = fixture->port;
    assert_int_equal(http_client_open(&fixture->client, &fixture->loop, &options), 0);
}

int http_client_set_up(void **state) {
    static int port; /* the same for all tests */
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    port = port != 0 ? port : own_port();
    listen_on(fixture, port, 128);
    *state = fixture;
    return 0;
}

int http_client_set_up_open(void **state) {
    (void)http_client_set_up(state);
    open_client(*state, (struct http_client_options){0});
    return 0;
}

void on_client_closed(void *data) {
    struct fixture *fixture = data;

    fixture->is_closed = true;
    fixture->client = NULL;
}

void close_client(struct fixture *fixture) {
    if (fixture->client == NULL)
        return;
    fixture->is_closed = false;
    http_client_close(fixture->client, on_client_closed, fixture);
    assert_false(fixture->is_closed);
    WAIT_FOR(&fixture->loop, fixture->is_closed);
}

int http_client_tear_down(void **state) {
    struct fixture *fixture = *state;

    close_client(fixture);
    if (fixture->listener >= 0)
        (void)close(fixture->listener);
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    free(fixture);
    return 0;
}

void on_ended(struct http_call *call) {
    struct record *record = call->data;

    record->callbacks++;
    record->nth = ++record->fixture->ended;
    (void)snprintf(record->reply, sizeof record->reply, "%s", call->reply);
}

void call_prepare(struct fixture *fixture, struct record *record) {
    *record = (struct record){.call = {.method = "GET",
                                       .target = "/x",
                                       .deadline_ms = clock_now_ms() + PATIENCE_MS,
                                       .data = record},
                              .fixture = fixture};
}

void call_by(struct fixture *fixture, struct record *record, const char *method,
             int64_t timeout_ms) {
    call_prepare(fixture, record);
    record->call.method = method;
    record->call.deadline_ms = clock_now_ms() + timeout_ms;
    http_call_start(fixture->client, &record->call, on_ended);
    assert_int_equal(record->callbacks, 0);
}

void call_start(struct fixture *fixture, struct record *record) {
    call_by(fixture, record, "GET", PATIENCE_MS);
}

void expect(struct record *record, enum http_call_outcome outcome) {
    WAIT_FOR(&record->fixture->loop, record->callbacks > 0);
    assert_int_equal(record->callbacks, 1);
    assert_int_equal(record->call.outcome, outcome);
    assert_true((record->call.error == NULL) == (outcome == HTTP_CALL_ANSWERED));
    assert_true((record->call.sent_ns == 0) == (outcome == HTTP_CALL_NOT_SENT));
    assert_true(record->call.received_ns >= record->call.sent_ns);
}

void expect_answer(struct record *record, int status, const char *reply) {
    expect(record, HTTP_CALL_ANSWERED);
    assert_int_equal(record->call.status, status);
    assert_string_equal(record->reply, reply);
}

void expect_error(struct record *record, enum http_call_outcome outcome, const char *error) {
    expect(record, outcome);
    if (strstr(record->call.error, error) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", record->call.error, error);
}

int accept_one(struct fixture *fixture) {
    int fd = -1;

    WAIT_FOR(&fixture->loop,
             (fd = accept4(fixture->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
    return fd;
}

void read_request(struct fixture *fixture, int fd, char *text, size_t size) {
    size_t length = 0;

    text[0] = '\0';
    wait_until(fixture, strstr(text, "\r\n\r\n") != NULL) {
        ssize_t got = recv(fd, text + length, size - 1 - length, 0);

        assert_true(got > 0 || (got < 0 && errno == EAGAIN));
        length += got > 0 ? (size_t)got : 0;
        text[length] = '\0';
    }
}

void expect_request(struct fixture *fixture, int fd) {
    char text[4096];

    read_request(fixture, fd, text, sizeof text);
}

int accept_request(struct fixture *fixture) {
    int fd = accept_one(fixture);

    expect_request(fixture, fd);
    return fd;
}

void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

void say_in_two(struct fixture *fixture, int fd, const char *text, size_t split) {
    assert_int_equal(send(fd, text, split, MSG_NOSIGNAL), split);
    for (int i = 0; i < 3; i++)
        (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    if (text[split] != '\0')
        say(fd, text + split);
}

int call_and_accept(struct fixture *fixture, struct record *record) {
    call_start(fixture, record);
    return accept_request(fixture);
}

void say_ok(struct record *record, int fd) {
    say(fd, OK_REPLY);
    expect_answer(record, 200, "ok");
}

void answer(struct record *record, int fd) {
    expect_request(record->fixture, fd);
    say_ok(record, fd);
}

int accept_and_answer(struct record *record) {
    int fd = accept_one(record->fixture);

    answer(record, fd);
    return fd;
}
