/* The client's loop, and the far end on plain sockets. */
#include "http_client_fixture.h"

#include "own_port.h"

struct caller caller;

struct http_client_stats stats_of(void) {
    struct http_client_stats stats;

    http_client_stats(caller.client, &stats);
    return stats;
}

void listen_on(int port, int backlog) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1;

    caller.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_true(caller.listener >= 0);
    assert_int_equal(setsockopt(caller.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(caller.listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(caller.listener, backlog), 0);
    assert_int_equal(getsockname(caller.listener, (struct sockaddr *)&address, &length), 0);
    caller.port = ntohs(address.sin_port);
}

void open_client(struct http_client_options options) {
    if (options.host == NULL)
        options.host = "127.0.0.1";
    options.port = caller.port;
    assert_int_equal(http_client_open(&caller.client, &caller.loop, &options), 0);
}

int http_client_set_up(void **state) {
    static int port; /* the same one for all tests */

    caller = (struct caller){.client = NULL};
    assert_int_equal(uv_loop_init(&caller.loop), 0);
    port = port != 0 ? port : own_port();
    listen_on(port, 128);
    return 0;
}

int http_client_set_up_open(void **state) {
    (void)http_client_set_up(state);
    open_client((struct http_client_options){0});
    return 0;
}

void on_client_closed(void *data) {
    caller.is_closed = true;
    caller.client = NULL;
}

void close_client(void) {
    if (caller.client == NULL)
        return;
    caller.is_closed = false;
    http_client_close(caller.client, on_client_closed, NULL);
    assert_false(caller.is_closed);
    WAIT_FOR(&caller.loop, caller.is_closed);
}

int http_client_tear_down(void **state) {
    close_client();
    if (caller.listener >= 0)
        (void)close(caller.listener);
    (void)uv_run(&caller.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&caller.loop), 0);
    return 0;
}

void on_ended(struct http_call *call) {
    struct record *record = call->data;

    record->callbacks++;
    record->nth = ++caller.ended;
    (void)snprintf(record->reply, sizeof record->reply, "%s", call->reply);
}

void call_prepare(struct record *record) {
    *record = (struct record){.call = {.method = "GET",
                                       .target = "/x",
                                       .deadline_ms = clock_now_ms() + PATIENCE_MS,
                                       .data = record}};
}

void call_by(struct record *record, const char *method, int64_t timeout_ms) {
    call_prepare(record);
    record->call.method = method;
    record->call.deadline_ms = clock_now_ms() + timeout_ms;
    http_call_start(caller.client, &record->call, on_ended);
    assert_int_equal(record->callbacks, 0);
}

void call_start(struct record *record) {
    call_by(record, "GET", PATIENCE_MS);
}

void expect(struct record *record, enum http_call_outcome outcome) {
    WAIT_FOR(&caller.loop, record->callbacks > 0);
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

int accept_one(void) {
    int fd = -1;

    WAIT_FOR(&caller.loop,
             (fd = accept4(caller.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
    return fd;
}

void read_request(int fd, char *text, size_t size) {
    size_t length = 0;

    text[0] = '\0';
    wait_until(strstr(text, "\r\n\r\n") != NULL) {
        ssize_t got = recv(fd, text + length, size - 1 - length, 0);

        assert_true(got > 0 || (got < 0 && errno == EAGAIN));
        length += got > 0 ? (size_t)got : 0;
        text[length] = '\0';
    }
}

void expect_request(int fd) {
    char text[4096];

    read_request(fd, text, sizeof text);
}

int accept_request(void) {
    int fd = accept_one();

    expect_request(fd);
    return fd;
}

void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

void say_in_two(int fd, const char *text, size_t split) {
    assert_int_equal(send(fd, text, split, MSG_NOSIGNAL), split);
    for (int i = 0; i < 3; i++)
        (void)uv_run(&caller.loop, UV_RUN_NOWAIT);
    if (text[split] != '\0')
        say(fd, text + split);
}

int call_and_accept(struct record *record) {
    call_start(record);
    return accept_request();
}

void say_ok(struct record *record, int fd) {
    say(fd, OK_REPLY);
    expect_answer(record, 200, "ok");
}

void answer(struct record *record, int fd) {
    expect_request(fd);
    say_ok(record, fd);
}

int accept_and_answer(struct record *record) {
    int fd = accept_one();

    answer(record, fd);
    return fd;
}

void call_to_end(void) {
    struct record record;

    call_start(&record);
    (void)close(accept_and_answer(&record));
}
