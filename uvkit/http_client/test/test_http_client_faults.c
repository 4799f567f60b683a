/* The HTTP client when things go wrong: deadlines, closes, bad replies and lack of memory, each at
 * every stage of a call. */
#include "http_client_fixture.h"

#include "fault.h"

static void run_out(struct record *record, enum http_call_outcome outcome, const char *error) {
    expect_error(record, outcome, error);
    assert_true(clock_now_ms() >= record->call.deadline_ms);
}

static void test_deadline_passed_before_the_start(void **state) {
    struct record record;

    call_by(&record, "GET", -1);
    expect_error(&record, HTTP_CALL_NOT_SENT, "deadline");
    assert_int_equal(stats_of().connections, 0);
}

/* A listener with a full backlog does not answer: connecting takes for ever. */
static void fill_backlog(int fds[3]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    (void)close(caller.listener);
    listen_on(0, 0);
    address.sin_port = htons((uint16_t)caller.port);
    for (int i = 0; i < 3; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fds[i], (struct sockaddr *)&address, sizeof address);
    }
}

static void close_all(int fds[3]) {
    for (int i = 0; i < 3; i++)
        (void)close(fds[i]);
}

static void test_deadline_while_connecting(void **state) {
    struct record record;
    int fds[3];

    fill_backlog(fds);
    open_client((struct http_client_options){.connect_timeout_ms = PATIENCE_MS});
    call_by(&record, "GET", 30);
    run_out(&record, HTTP_CALL_NOT_SENT, "deadline");
    close_all(fds);
}

static void test_connect_timeout_ends_the_calls_that_wait(void **state) {
    struct record records[5];
    int fds[3];

    fill_backlog(fds);
    open_client((struct http_client_options){.connect_timeout_ms = 30, .connections = 2});
    for (int i = 0; i < 5; i++)
        call_start(&records[i]);
    for (int i = 0; i < 5; i++)
        expect_error(&records[i], HTTP_CALL_NOT_SENT, "timed out");
    assert_true(stats_of().connect_failures >= 2);
    close_all(fds);
}

static void test_deadline_in_the_queue(void **state) {
    struct record first, second;
    int fd;

    open_client((struct http_client_options){.connections = 1});
    fd = call_and_accept(&first);
    call_by(&second, "GET", 20);
    run_out(&second, HTTP_CALL_NOT_SENT, "deadline");
    say_ok(&first, fd);
    (void)close(fd);
}

static void expect_end(int fd) {
    char bytes[64];
    ssize_t got = -1;

    wait_until(got == 0) {
        got = recv(fd, bytes, sizeof bytes, 0);
        assert_true(got <= 0);
    }
    (void)close(fd);
}

static void test_deadline_after_sending_closes_the_connection(void **state) {
    static const char *const parts[] = {"", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"};
    static const char *const errors[] = {"before the reply", "in the middle"};
    struct record late, next;
    int fd;

    open_client((struct http_client_options){.connections = 1});
    for (int i = 0; i < 2; i++) {
        call_by(&late, "GET", 700);
        fd = accept_request();
        say(fd, parts[i]);
        call_start(&next);
        run_out(&late, HTTP_CALL_UNKNOWN, errors[i]);
        expect_end(fd);
        fd = accept_one(); /* the waiting call gets a new connection */
        expect_request(fd);
        say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        expect_answer(&next, 200, "ok");
        (void)close(fd);
    }
}

static void test_server_is_down_then_up_again(void **state) {
    struct record records[8];
    int port = caller.port, fd;

    (void)close(caller.listener);
    open_client((struct http_client_options){.connections = 3});
    for (int i = 0; i < 8; i++)
        call_start(&records[i]);
    for (int i = 0; i < 8; i++)
        expect_error(&records[i], HTTP_CALL_NOT_SENT, "refused");
    assert_int_equal(stats_of().connections, 0);
    assert_true(stats_of().connect_failures <= 8);
    listen_on(port, 128);
    call_start(&records[0]);
    fd = accept_and_answer(&records[0]);
    assert_int_equal(stats_of().connect_failures, 0);
    (void)close(fd);
}

static void test_server_closes_at_each_stage(void **state) {
    static const struct {
        const char *part, *error;
        bool is_reset;
    } stages[] = {
        {"", "before the reply", false},
        {"", "reset", true},
        {"HTTP/1.1 2", "in the middle", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "in the middle", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", "in the middle", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok", "in the middle", false},
        {"HTTP/1.1 100 Continue\r\n\r\n", "in the middle", false}};
    struct linger reset = {.l_onoff = 1};
    struct record record;

    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        int fd = call_and_accept(&record);

        say(fd, stages[i].part);
        if (stages[i].is_reset)
            (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        (void)close(fd);
        expect_error(&record, HTTP_CALL_UNKNOWN, stages[i].error);
    }
    assert_int_equal(stats_of().connections, 0);
}

static void end_a_connection(bool is_reset) {
    struct linger linger = {.l_onoff = is_reset};
    struct record record;
    int fd;

    call_start(&record);
    fd = accept_and_answer(&record);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    (void)close(fd);
}

/* The loop has not run since, so the client must look before it writes. */
static void test_call_on_a_connection_that_was_just_ended_gets_another(void **state) {
    for (int is_reset = 0; is_reset <= 1; is_reset++) {
        end_a_connection(is_reset);
        call_to_end();
    }
}

static void test_bad_replies_are_unknown(void **state) {
    static const char *const bad[] = {
        "hello\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\nghijk\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokXY0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\n\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length:\r\n\t2\r\n\r\nok",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok",
        "RTSP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "ICE/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/0.9 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\n\r\nabcdefghijk",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n"};
    struct record record;

    open_client((struct http_client_options){.reply_limit = 10});
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd = call_and_accept(&record);

        say(fd, bad[i]);
        expect(&record, HTTP_CALL_UNKNOWN);
        (void)close(fd);
    }
}

static void test_connection_that_says_more_than_asked_is_not_used_again(void **state) {
    struct record record;
    int fd = call_and_accept(&record);

    say(fd, OK_REPLY OK_REPLY);
    expect_answer(&record, 200, "ok");
    assert_int_equal(stats_of().connections, 0);
    (void)close(fd);
}

static void test_bad_requests_are_not_sent(void **state) {
    static const char *const bad[][3] = {{"", "/", NULL},
                                         {"GE T", "/", NULL},
                                         {"GET\r\n", "/", NULL},
                                         {"GET", "", NULL},
                                         {"GET", "x", NULL},
                                         {"GET", "/a b", NULL},
                                         {"GET", "/\r\nA:", NULL},
                                         {"GET", "/", "A: b"},
                                         {"GET", "/", "A: b\n"},
                                         {"GET", "/", "A\r\n"},
                                         {"GET", "/", "A: b\nC: d\r\n"},
                                         {"GET", "/", ": b\r\n"},
                                         {"GET", "/", "A : b\r\n"},
                                         {"GET", "/", "A: b\r\n\r\n"},
                                         {"GET", "/", "A: \rb\r\n"}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct record record;

        call_prepare(&record);
        record.call.method = bad[i][0];
        record.call.target = bad[i][1];
        record.call.headers = bad[i][2];
        http_call_start(caller.client, &record.call, on_ended);
        expect_error(&record, HTTP_CALL_NOT_SENT, "bad ");
    }
    assert_int_equal(stats_of().connections, 0);
}

/* A body that no socket buffer takes at once. Then an early answer, a deadline, or all of it. */
static void test_large_body_is_written_in_pieces(void **state) {
    enum { BYTES = 32 * 1024 * 1024 };
    char *body = calloc(1, BYTES), *bytes = malloc(1024 * 1024);
    size_t total = 0;

    assert_true(body != NULL && bytes != NULL);
    open_client((struct http_client_options){0});
    for (int way = 0; way < 3; way++) {
        struct record record;
        int fd;

        call_prepare(&record);
        record.call.method = "POST";
        record.call.body = body;
        record.call.body_length = BYTES;
        if (way == 1)
            record.call.deadline_ms = clock_now_ms() + 1000;
        http_call_start(caller.client, &record.call, on_ended);
        fd = accept_one();
        if (way == 0)
            say(fd, "HTTP/1.1 413 Too large\r\nContent-Length: 0\r\n\r\n");
        if (way == 2) {
            wait_until(total > BYTES) {
                ssize_t got = recv(fd, bytes, 1024 * 1024, 0);

                total += got > 0 ? (size_t)got : 0;
            }
            say(fd, OK_REPLY);
        }
        expect(&record, way == 1 ? HTTP_CALL_UNKNOWN : HTTP_CALL_ANSWERED);
        assert_int_equal(stats_of().idle, way == 2);
        (void)close(fd);
    }
    free(bytes);
    free(body);
}

static void close_after(int stage) {
    struct record records[3];
    int fd = -1;

    open_client((struct http_client_options){.connections = 1});
    for (int i = 0; i < 3 && stage > 0; i++)
        call_start(&records[i]);
    if (stage > 1)
        fd = accept_one();
    if (stage > 2)
        expect_request(fd);
    if (stage > 3)
        say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    for (int i = 0; i < 5 && stage > 3; i++)
        (void)uv_run(&caller.loop, UV_RUN_NOWAIT);
    http_client_close(caller.client, on_client_closed, NULL);
    http_client_close(caller.client, on_client_closed, NULL); /* nothing more happens */
    caller.is_closed = false;
    WAIT_FOR(&caller.loop, caller.is_closed);
    for (int i = 0; i < 3 && stage > 0; i++)
        expect(&records[i], i == 0 && stage > 2 ? HTTP_CALL_UNKNOWN : HTTP_CALL_NOT_SENT);
    if (fd >= 0)
        (void)close(fd);
    else if (stage == 1)
        (void)close(accept_one());
}

static void test_client_closes_at_each_stage(void **state) {
    for (int stage = 0; stage < 5; stage++)
        if (stage != 2) /* there the request may have left, or not */
            close_after(stage);
}

static void test_client_closes_while_a_name_is_resolved(void **state) {
    struct record record;

    open_client((struct http_client_options){.host = "localhost"});
    call_start(&record);
    close_client();
    expect_error(&record, HTTP_CALL_NOT_SENT, "closing");
}

static void on_ended_close(struct http_call *call) {
    struct record *record = call->data;

    on_ended(call);
    http_client_close(caller.client, on_client_closed, NULL);
    http_call_start(caller.client, &(record + 1)->call, on_ended);
}

static void test_callback_may_close_and_call_again(void **state) {
    struct record records[2] = {{.callbacks = 0}};

    for (int i = 0; i < 2; i++)
        records[i].call = (struct http_call){
            .method = "GET", .target = "/", .deadline_ms = 0, .data = &records[i]};
    open_client((struct http_client_options){0});
    http_call_start(caller.client, &records[0].call, on_ended_close);
    WAIT_FOR(&caller.loop, caller.is_closed);
    expect(&records[0], HTTP_CALL_NOT_SENT);
    expect_error(&records[1], HTTP_CALL_NOT_SENT, "closing");
}

static void call_once(void *arg) {
    struct http_client_options options = {.host = "localhost", .port = caller.port};
    struct record record;
    int fd = -1;

    if (http_client_open(&caller.client, &caller.loop, &options) != 0)
        return;
    call_start(&record);
    wait_until(record.callbacks > 0) {
        char bytes[256];

        if (fd < 0)
            fd = accept4(caller.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        else if (recv(fd, bytes, sizeof bytes, 0) > 0)
            say(fd, OK_REPLY);
    }
    close_client();
    if (fd >= 0)
        (void)close(fd);
}

static void test_no_memory_at_any_allocation(void **state) {
    fault_each_allocation(call_once, *state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_OPEN(test_deadline_passed_before_the_start),
        TEST(test_deadline_while_connecting),
        TEST(test_connect_timeout_ends_the_calls_that_wait),
        TEST(test_deadline_in_the_queue),
        TEST(test_deadline_after_sending_closes_the_connection),
        TEST(test_server_is_down_then_up_again),
        TEST_OPEN(test_server_closes_at_each_stage),
        TEST_OPEN(test_call_on_a_connection_that_was_just_ended_gets_another),
        TEST(test_bad_replies_are_unknown),
        TEST_OPEN(test_connection_that_says_more_than_asked_is_not_used_again),
        TEST_OPEN(test_bad_requests_are_not_sent),
        TEST(test_large_body_is_written_in_pieces),
        TEST(test_client_closes_at_each_stage),
        TEST(test_client_closes_while_a_name_is_resolved),
        TEST(test_callback_may_close_and_call_again),
        TEST(test_no_memory_at_any_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
