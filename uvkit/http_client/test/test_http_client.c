/* The HTTP client at work: connections are reused and bounded, and every framing of replies works.
 */
#include "http_client_fixture.h"

#include "fiber.h"
#include "http_server.h"

static void test_origin_is_split(void **state) {
    char host[64];
    int port;

    assert_int_equal(http_origin_parse("http://127.0.0.1:8001", host, sizeof host, &port), 0);
    assert_string_equal(host, "127.0.0.1");
    assert_int_equal(port, 8001);
    assert_int_equal(http_origin_parse("http://inventory-1", host, sizeof host, &port), 0);
    assert_string_equal(host, "inventory-1");
    assert_int_equal(port, 80);
    assert_int_equal(http_origin_parse("http://[::1]:81", host, sizeof host, &port), 0);
    assert_string_equal(host, "::1");
    assert_int_equal(port, 81);
}

static void test_bad_origin_is_refused(void **state) {
    static const char *const bad[] = {"",
                                      "127.0.0.1:80",
                                      "https://x",
                                      "http://",
                                      "http://x:",
                                      "http://x:0",
                                      "http://x:65536",
                                      "http://x:8k",
                                      "http://x/y",
                                      "http://a b",
                                      "http://x\r\ny",
                                      "http://[::1",
                                      "http://u@x",
                                      "http://:80",
                                      "http://0123456789abcdefg"};
    char host[16];
    int port;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(http_origin_parse(bad[i], host, sizeof host, &port), UV_EINVAL);
}

static void test_connection_is_used_again(void **state) {
    struct record record;
    char text[512];
    int fd;

    call_start(&record);
    fd = accept_one();
    for (int i = 0; i < 3; i++) {
        read_request(fd, text, sizeof text);
        assert_non_null(strstr(text, "GET /x HTTP/1.1\r\nHost: 127.0.0.1:"));
        say_ok(&record, fd);
        if (i < 2)
            call_start(&record);
    }
    assert_int_equal(stats_of().opened, 1);
    assert_int_equal(stats_of().idle, 1);
    (void)close(fd);
}

static void test_body_and_headers_are_sent(void **state) {
    struct record record;
    char text[512];
    int fd;

    call_prepare(&record);
    record.call.method = "POST";
    record.call.headers = "A: 1\r\nB:\t2\r\n";
    record.call.body = "{}\r\n\r\n";
    record.call.body_length = 6;
    http_call_start(caller.client, &record.call, on_ended);
    fd = accept_one();
    read_request(fd, text, sizeof text);
    assert_non_null(strstr(text, "\r\nA: 1\r\nB:\t2\r\nContent-Length: 6\r\n\r\n{}"));
    say_ok(&record, fd);
    (void)close(fd);
}

static void test_calls_run_in_parallel_and_the_rest_wait(void **state) {
    enum { CALLS = 12, CONNECTIONS = 4 };
    struct record records[CALLS];
    int fds[CONNECTIONS];

    open_client((struct http_client_options){.connections = CONNECTIONS});
    for (int i = 0; i < CALLS; i++)
        call_start(&records[i]);
    for (int i = 0; i < CONNECTIONS; i++)
        fds[i] = accept_one();
    for (int i = 0; i < CALLS; i++) {
        expect_request(fds[i % CONNECTIONS]);
        say(fds[i % CONNECTIONS], OK_REPLY);
    }
    for (int i = 0; i < CALLS; i++)
        expect_answer(&records[i], 200, "ok");
    assert_int_equal(stats_of().opened, CONNECTIONS);
    for (int i = 0; i < CONNECTIONS; i++)
        (void)close(fds[i]);
}

static void test_queue_is_bounded_and_in_order(void **state) {
    struct record records[4];
    int fd;

    open_client((struct http_client_options){.connections = 1, .queue = 2});
    for (int i = 0; i < 4; i++)
        call_start(&records[i]);
    expect_error(&records[3], HTTP_CALL_NOT_SENT, "queue is full");
    fd = accept_one();
    for (int i = 0; i < 3; i++) {
        expect_request(fd);
        assert_int_equal(records[i].callbacks, 0);
        say_ok(&records[i], fd);
    }
    (void)close(fd);
}

static void test_urgent_calls_go_before_others_that_wait(void **state) {
    static const int in_order[] = {0, 3, 4, 1, 2};
    struct record records[5];
    int fd;

    open_client((struct http_client_options){.connections = 1});
    call_start(&records[0]);
    fd = accept_one();
    expect_request(fd);
    for (int i = 1; i < 5; i++) {
        call_prepare(&records[i]);
        records[i].call.is_urgent = i >= 3;
        http_call_start(caller.client, &records[i].call, on_ended);
    }
    for (int i = 0; i < 5; i++) {
        if (i > 0)
            expect_request(fd);
        for (int j = i; j < 5; j++)
            assert_int_equal(records[in_order[j]].callbacks, 0);
        say_ok(&records[in_order[i]], fd);
    }
    (void)close(fd);
}

static void test_calls_end_in_the_order_of_their_deadlines(void **state) {
    static const int64_t timeouts_ms[] = {300, 100, 500, 200, 400};
    static const unsigned in_order[] = {1, 3, 0, 4, 2};
    struct record records[5];

    open_client((struct http_client_options){.connections = 1});
    for (unsigned i = 0; i < 5; i++)
        call_by(&records[i], "GET", timeouts_ms[i]); /* never answered */
    WAIT_FOR(&caller.loop, caller.ended == 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(records[in_order[i]].nth, i + 1);
}

static void test_last_used_connection_goes_first(void **state) {
    struct record first, second, third;
    int a, b;

    a = call_and_accept(&first);
    b = call_and_accept(&second);
    say_ok(&second, b);
    say_ok(&first, a);
    call_start(&third);
    expect_request(a);
    say_ok(&third, a);
    (void)close(a);
    (void)close(b);
}

static void test_idle_connection_is_dropped_when_the_server_closes_it(void **state) {
    for (int i = 0; i < 3; i++) {
        call_to_end();
        WAIT_FOR(&caller.loop, stats_of().connections == 0);
    }
}

static void test_idle_connection_is_closed_in_time(void **state) {
    struct record record;
    int fd;

    open_client((struct http_client_options){.idle_ms = 20});
    call_start(&record);
    fd = accept_and_answer(&record);
    WAIT_FOR(&caller.loop, stats_of().connections == 0);
    (void)close(fd);
}

/* Every framing of a reply, and whether its connection may be reused. */
static const struct {
    const char *method, *wire, *reply;
    int status;
    bool keeps, closes; /* closes: the end of the connection is the end of the reply */
} framings[] = {
    {"GET", OK_REPLY, "ok", 200, true, false},
    {"GET",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
     "chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nT: 1\r\n\r\n",
     "hello", 200, true, false},
    {"GET", "HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", 200, false, true},
    {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 200, false, false},
    {"GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "ok", 200, false,
     false},
    {"POST", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" OK_REPLY, "ok",
     200, true, false},
    {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n", "", 200, true, false},
    {"DELETE", "HTTP/1.1 204 No Content\r\n\r\n", "", 204, true, false},
    {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "", 304, true, false},
    {"GET", "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "", 503, true, false},
};

/* Answer one call with the wire text, cut in two at `split`. */
static void answer_in_two(size_t which, size_t split) {
    struct record record;
    int fd;

    call_by(&record, framings[which].method, PATIENCE_MS);
    fd = accept_request();
    say_in_two(fd, framings[which].wire, split);
    if (framings[which].closes)
        (void)close(fd);
    expect_answer(&record, framings[which].status, framings[which].reply);
    assert_int_equal(stats_of().idle, framings[which].keeps);
    if (!framings[which].closes)
        (void)close(fd);
    WAIT_FOR(&caller.loop, stats_of().connections == 0);
}

static void test_replies_of_every_framing_split_at_every_byte(void **state) {
    for (size_t i = 0; i < sizeof framings / sizeof *framings; i++)
        for (size_t split = 1; split <= strlen(framings[i].wire); split++)
            answer_in_two(i, split);
}

static void test_names_are_resolved_and_every_address_is_tried(void **state) {
    open_client((struct http_client_options){.host = "localhost"});
    call_to_end();
}

static void test_unknown_name_is_not_sent(void **state) {
    struct record record;

    open_client((struct http_client_options){.host = "no-such-host.invalid",
                                             .connect_timeout_ms = PATIENCE_MS});
    call_start(&record);
    expect(&record, HTTP_CALL_NOT_SENT);
}

static void reply_hello(struct http_exchange *exchange, void *data) {
    http_reply(exchange, 200, "text/plain", "hello", 5);
}

static void on_server_closed(void *data) {
    caller.is_closed = true;
}

struct awaiting {
    struct http_client *client;
    int answered;
    bool is_over;
};

static void await_hellos(void *arg) {
    struct awaiting *awaiting = arg;

    for (int i = 0; i < 20; i++) {
        struct http_call call = {
            .method = "GET", .target = "/", .deadline_ms = clock_now_ms() + PATIENCE_MS};

        if (http_call_await(awaiting->client, &call) == HTTP_CALL_ANSWERED &&
            strcmp(call.reply, "hello") == 0)
            awaiting->answered++;
        http_call_done(&call);
    }
    awaiting->is_over = true;
}

static void test_fibers_await_answers_of_our_own_server(void **state) {
    static const struct http_route routes[] = {{"GET", "/", reply_hello}, {NULL, NULL, NULL}};
    struct awaiting awaiting[10] = {{0}};
    struct http_server *server;

    assert_int_equal(
        http_server_open(&server, &caller.loop, &(struct http_server_options){.routes = routes}),
        0);
    assert_int_equal(http_server_listen(server, "127.0.0.1", 0), 0);
    caller.port = http_server_port(server);
    open_client((struct http_client_options){.connections = 3});
    for (int i = 0; i < 10; i++) {
        awaiting[i].client = caller.client;
        assert_int_equal(fiber_start(await_hellos, &awaiting[i]), 0);
    }
    for (int i = 0; i < 10; i++) {
        WAIT_FOR(&caller.loop, awaiting[i].is_over);
        assert_int_equal(awaiting[i].answered, 20);
    }
    close_client();
    caller.is_closed = false;
    http_server_close(server, on_server_closed, NULL);
    WAIT_FOR(&caller.loop, caller.is_closed);
    fiber_cleanup();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_origin_is_split),
        cmocka_unit_test(test_bad_origin_is_refused),
        TEST_OPEN(test_connection_is_used_again),
        TEST_OPEN(test_body_and_headers_are_sent),
        TEST(test_calls_run_in_parallel_and_the_rest_wait),
        TEST(test_queue_is_bounded_and_in_order),
        TEST(test_urgent_calls_go_before_others_that_wait),
        TEST(test_calls_end_in_the_order_of_their_deadlines),
        TEST_OPEN(test_last_used_connection_goes_first),
        TEST_OPEN(test_idle_connection_is_dropped_when_the_server_closes_it),
        TEST(test_idle_connection_is_closed_in_time),
        TEST_OPEN(test_replies_of_every_framing_split_at_every_byte),
        TEST(test_names_are_resolved_and_every_address_is_tried),
        TEST(test_unknown_name_is_not_sent),
        TEST(test_fibers_await_answers_of_our_own_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
