/* Replies that go on for long: they are told piece by piece, and broken off from either side. */
#include "http_client_fixture.h"

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

struct stream {
    struct record record;
    char parts[64];
    char stop_at; /* break off when a part begins with it */
};

static bool on_part(struct http_call *call, const char *bytes, size_t length) {
    struct stream *stream = call->data;

    assert_true(length < sizeof stream->parts - strlen(stream->parts));
    (void)strncat(stream->parts, bytes, length);
    return bytes[0] != stream->stop_at;
}

static void on_stream_ended(struct http_call *call) {
    struct stream *stream = call->data;

    stream->record.callbacks++;
}

static int start_stream(struct stream *stream) {
    int fd;

    open_client((struct http_client_options){.connections = 1, .reply_limit = 4});
    call_prepare(&stream->record);
    stream->record.call.deadline_ms = INT64_MAX;
    stream->record.call.data = stream;
    stream->record.call.on_part = on_part;
    http_call_start(caller.client, &stream->record.call, on_stream_ended);
    fd = accept_request();
    say(fd, STREAM_HEAD);
    return fd;
}

static void expect_broken_off(struct stream *stream) {
    WAIT_FOR(&caller.loop, stream->record.callbacks == 1);
    assert_int_equal(stream->record.call.outcome, HTTP_CALL_UNKNOWN);
    assert_string_equal(stream->record.call.error, "broken off");
}

static void test_reply_is_told_in_parts_of_any_length(void **state) {
    struct stream stream = {0};
    int fd = start_stream(&stream);

    say(fd, "6\r\nfirst,\r\n");
    WAIT_FOR(&caller.loop, strcmp(stream.parts, "first,") == 0);
    assert_int_equal(stream.record.callbacks, 0);
    say(fd, "6\r\nsecond\r\n0\r\n\r\n");
    WAIT_FOR(&caller.loop, stream.record.callbacks == 1);
    assert_string_equal(stream.parts, "first,second");
    assert_int_equal(stream.record.call.outcome, HTTP_CALL_ANSWERED);
    assert_int_equal(stream.record.call.reply_length, 0);
    assert_int_equal(stats_of().idle, 1);
    (void)close(fd);
}

static void test_part_may_break_the_call_off(void **state) {
    struct stream stream = {.stop_at = '!'};
    int fd = start_stream(&stream);

    say(fd, "1\r\n!\r\n");
    expect_broken_off(&stream);
    assert_int_equal(stats_of().connections, 0);
    (void)close(fd);
}

static void test_cancelled_call_gives_its_connection_to_the_next(void **state) {
    struct stream stream = {0};
    struct record record;
    int fd = start_stream(&stream), next;

    call_start(&record); /* waits, as there is but one connection */
    http_call_cancel(caller.client, &stream.record.call);
    assert_int_equal(stream.record.callbacks, 0);
    expect_broken_off(&stream);
    next = accept_and_answer(&record);
    http_call_cancel(caller.client, &stream.record.call); /* has ended: nothing happens */
    assert_int_equal(stream.record.callbacks, 1);
    (void)close(next);
    (void)close(fd);
}

static void test_cancelled_call_that_waits_is_not_sent(void **state) {
    struct stream stream = {0};
    struct record record;
    int fd = start_stream(&stream);

    call_start(&record);
    http_call_cancel(caller.client, &record.call);
    expect_error(&record, HTTP_CALL_NOT_SENT, "broken off");
    assert_int_equal(stream.record.callbacks, 0);
    close_client();
    assert_int_equal(stream.record.callbacks, 1);
    (void)close(fd);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_reply_is_told_in_parts_of_any_length),
        TEST(test_part_may_break_the_call_off),
        TEST(test_cancelled_call_gives_its_connection_to_the_next),
        TEST(test_cancelled_call_that_waits_is_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
