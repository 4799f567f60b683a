/* How many connections the HTTP client opens, and when; and the freedom of a callback at the end of
 * the read that brought its answer. */
#include "http_client_fixture.h"

#define MANY 6

static void expect_connections(unsigned count, unsigned idle) {
    assert_int_equal(stats_of().connections, count);
    assert_int_equal(stats_of().idle, idle);
}

static void test_warm_opens_missing_connections_up_to_the_most(void **state) {
    static const unsigned asked[] = {2, 1, 2, 4, 100}, kept[] = {2, 2, 2, 4, 5};

    open_client((struct http_client_options){.connections = 5, .opening = 1});
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        http_client_warm(caller.client, asked[i]);
        http_client_warm(caller.client, asked[i]);
        assert_int_equal(stats_of().connections, kept[i]);
        WAIT_FOR(&caller.loop, stats_of().idle == kept[i]);
    }
    assert_int_equal(stats_of().opened, 5);
}

static void test_calls_take_warm_connections(void **state) {
    struct record records[MANY];
    int fds[MANY];

    http_client_warm(caller.client, MANY);
    WAIT_FOR(&caller.loop, stats_of().idle == MANY);
    for (int i = 0; i < MANY; i++)
        call_start(&records[i]);
    assert_int_equal(stats_of().in_flight, MANY);
    for (int i = 0; i < MANY; i++)
        fds[i] = accept_one();
    for (int i = 0; i < MANY; i++) {
        expect_request(fds[i]);
        say(fds[i], OK_REPLY);
    }
    for (int i = 0; i < MANY; i++)
        expect_answer(&records[i], 200, "ok");
    assert_int_equal(stats_of().opened, MANY);
    for (int i = 0; i < MANY; i++)
        (void)close(fds[i]);
}

static void test_warming_without_a_server_fails_no_later_call(void **state) {
    (void)close(caller.listener);
    open_client((struct http_client_options){0});
    http_client_warm(caller.client, 3);
    WAIT_FOR(&caller.loop, stats_of().connections == 0);
    assert_int_equal(stats_of().connect_failures, 3);
    listen_on(caller.port, 128);
    call_to_end();
}

static void test_client_closes_while_it_warms_up(void **state) {
    open_client((struct http_client_options){.host = "localhost"});
    http_client_warm(caller.client, MANY);
    http_client_close(caller.client, on_client_closed, NULL);
    http_client_warm(caller.client, MANY);
    expect_connections(0, 0);
    WAIT_FOR(&caller.loop, caller.is_closed);
}

static void test_so_many_are_opened_at_a_time(void **state) {
    struct record records[MANY];

    open_client((struct http_client_options){.opening = 2});
    for (int i = 0; i < MANY; i++)
        call_start(&records[i]);
    assert_int_equal(stats_of().connections, 2);
    assert_int_equal(stats_of().queued, MANY);
    wait_until(stats_of().in_flight == MANY) {
        struct http_client_stats stats = stats_of();

        assert_true(stats.connections - stats.in_flight - stats.idle <= 2);
    }
    close_client();
    for (int i = 0; i < MANY; i++)
        expect(&records[i], HTTP_CALL_UNKNOWN);
}

static void test_without_a_server_one_attempt_at_a_time_ends_all(void **state) {
    struct record records[MANY];

    (void)close(caller.listener);
    caller.listener = -1;
    open_client((struct http_client_options){.opening = 1});
    for (int i = 0; i < MANY; i++)
        call_start(&records[i]);
    for (int i = 0; i < MANY; i++)
        expect_error(&records[i], HTTP_CALL_NOT_SENT, "refused");
    assert_int_equal(stats_of().connect_failures, 1);
}

/* After the reads of a turn of the loop: no connection is free before its call has been told. */
static void on_checked(uv_check_t *check) {
    if (stats_of().idle > 0)
        assert_int_equal(caller.ended, 1);
}

static void test_answer_is_told_in_the_turn_that_reads_it(void **state) {
    struct record record;
    uv_check_t check;

    call_start(&record);
    WAIT_FOR(&caller.loop, stats_of().in_flight == 1);
    assert_int_equal(uv_check_init(&caller.loop, &check), 0);
    assert_int_equal(uv_check_start(&check, on_checked), 0);
    (void)close(accept_and_answer(&record));
    uv_close((uv_handle_t *)&check, NULL);
    (void)uv_run(&caller.loop, UV_RUN_NOWAIT);
}

/* The callback of an answer acts on the client. A second record follows its own. */
static void on_answered_call(struct http_call *call) {
    struct record *next = (struct record *)call->data + 1;

    on_ended(call);
    call_start(next);
}

static void on_answered_call_and_close(struct http_call *call) {
    on_answered_call(call);
    http_client_close(caller.client, on_client_closed, NULL);
    assert_false(caller.is_closed);
}

static void on_answered_close_and_call(struct http_call *call) {
    on_ended(call);
    http_client_close(caller.client, on_client_closed, NULL);
    call_start((struct record *)call->data + 1);
}

/* Send the first call and answer it with `reply`. Returns the server's end. */
static int answer_first(struct record records[2], http_call_cb cb, const char *reply) {
    int fd;

    open_client((struct http_client_options){.connections = 1});
    call_prepare(&records[0]);
    http_call_start(caller.client, &records[0].call, cb);
    fd = accept_request();
    say(fd, reply);
    expect_answer(&records[0], 200, "ok");
    return fd;
}

static void test_callback_of_an_answer_may_call_again(void **state) {
    struct record records[2];
    int fd = answer_first(records, on_answered_call, OK_REPLY);

    answer(&records[1], fd);
    (void)close(fd);
}

static void test_callback_of_an_answer_may_close(void **state) {
    static const struct {
        http_call_cb cb;
        const char *reply;
        enum http_call_outcome second;
    } ways[] = {
        {on_answered_call_and_close, OK_REPLY, HTTP_CALL_UNKNOWN}, /* it went out at once */
        {on_answered_close_and_call, OK_REPLY, HTTP_CALL_NOT_SENT},
        {on_answered_close_and_call,
         "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", HTTP_CALL_NOT_SENT},
        {on_answered_close_and_call, OK_REPLY OK_REPLY, HTTP_CALL_NOT_SENT},
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct record records[2];
        int fd;

        caller.is_closed = false;
        fd = answer_first(records, ways[i].cb, ways[i].reply);
        WAIT_FOR(&caller.loop, caller.is_closed);
        expect(&records[1], ways[i].second);
        (void)close(fd);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_warm_opens_missing_connections_up_to_the_most),
        TEST_OPEN(test_calls_take_warm_connections),
        TEST(test_warming_without_a_server_fails_no_later_call),
        TEST(test_client_closes_while_it_warms_up),
        TEST(test_so_many_are_opened_at_a_time),
        TEST(test_without_a_server_one_attempt_at_a_time_ends_all),
        TEST_OPEN(test_answer_is_told_in_the_turn_that_reads_it),
        TEST(test_callback_of_an_answer_may_call_again),
        TEST(test_callback_of_an_answer_may_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
