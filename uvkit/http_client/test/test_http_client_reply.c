/* Replies of the HTTP client. A call may keep one header. A long reply arrives piece by piece, and
 * either side may break it off. */
#include "http_client_fixture.h"

static void ask(struct record *record, const char *want_header) {
    call_prepare(record);
    record->call.want_header = want_header;
    http_call_start(caller.client, &record->call, on_ended);
}

/* Answer one call with `wire`, cut in two at `split`, and compare the kept header with `expected`.
 */
static void expect_kept(const char *wire, size_t split, const char *expected) {
    struct record record;
    int fd;

    ask(&record, "Server-Timing");
    fd = accept_request();
    say_in_two(fd, wire, split);
    expect_answer(&record, 200, "ok");
    assert_string_equal(record.call.header, expected);
    (void)close(fd);
    WAIT_FOR(&caller.loop, stats_of().connections == 0);
}

#define REPLY(headers) "HTTP/1.1 200 OK\r\n" headers "Content-Length: 2\r\n\r\nok"

static const struct {
    const char *wire, *kept;
} replies[] = {
    {REPLY("Server-Timing: a;dur=1\r\n"), "a;dur=1"},
    {REPLY("sERVER-tIMING:a\r\nX: y\r\n"), "a"},
    {REPLY("X: y\r\n"), ""},
    {REPLY("Server-Timing:\r\n"), ""},
    {REPLY("Server-Timin: no\r\nServer-Timings: no\r\nServer: no\r\nServer-Timing: yes\r\n"),
     "yes"},
    {REPLY("Server-Timing: a\r\nX: y\r\nServer-Timing: b\r\n"), "a, b"},
    {"HTTP/1.1 103 Hints\r\nServer-Timing: early\r\n\r\n" REPLY("Server-Timing: a\r\n"), "a"},
    {"HTTP/1.1 103 Hints\r\nServer-Timing: early\r\n\r\n" REPLY(""), ""},
    {"HTTP/1.1 200 OK\r\nServer-Timing: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
     "Server-Timing: trailer\r\n\r\n",
     "a"},
};

static void test_wanted_header_is_kept_wherever_it_is_split(void **state) {
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++)
        for (size_t split = 1; split <= strlen(replies[i].wire); split++)
            expect_kept(replies[i].wire, split, replies[i].kept);
}

/* Compare the kept part of the header lines with the start of `value`. */
static void expect_start(const char *lines, const char *value) {
    char wire[2048], kept[HTTP_CALL_HEADER_BYTES] = "";

    assert_true(snprintf(wire, sizeof wire, "HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\n\r\nok",
                         lines) < (int)sizeof wire);
    expect_kept(wire, 40, strncat(kept, value, sizeof kept - 1));
}

/* A value of `length` letters, once in one header and once with another after it. */
static void expect_cut(size_t length) {
    char lines[1200], value[1024];

    memset(value, 'v', length);
    value[length] = '\0';
    assert_true(snprintf(lines, sizeof lines, "Server-Timing: %s\r\n", value) > 0);
    expect_start(lines, value);
    strcat(lines, "Server-Timing: w\r\n");
    expect_start(lines, strcat(value, ", w"));
}

static void test_long_header_is_cut(void **state) {
    for (size_t length = HTTP_CALL_HEADER_BYTES - 6; length < HTTP_CALL_HEADER_BYTES + 6; length++)
        expect_cut(length);
    expect_cut(900);
}

/* The same call once more, for another header; `wire` answers it on the same connection. */
static void ask_again(struct record *record, int fd, const char *want_header, const char *wire) {
    record->callbacks = 0;
    record->call.want_header = want_header;
    http_call_start(caller.client, &record->call, on_ended);
    expect_request(fd);
    say(fd, wire);
}

static void test_no_header_is_kept_unasked_nor_from_the_call_before(void **state) {
    static const char *const others[] = {NULL, "X-Other"};
    struct record record;
    int fd = -1;

    open_client((struct http_client_options){.connections = 1});
    for (size_t i = 0; i < 2; i++) {
        ask(&record, "Server-Timing");
        if (i == 0)
            fd = accept_request();
        say(fd, replies[0].wire);
        expect_answer(&record, 200, "ok");
        assert_string_equal(record.call.header, "a;dur=1");
        ask_again(&record, fd, others[i], replies[0].wire);
        expect_answer(&record, 200, "ok");
        assert_string_equal(record.call.header, "");
    }
    (void)close(fd);
}

static void test_header_of_a_reply_that_breaks_off_is_not_kept(void **state) {
    static const char *const starts[] = {
        "HTTP/1.1 200 OK\r\nServer-Timing: a;dur=1",
        "HTTP/1.1 200 OK\r\nServer-Timing: a;dur=12\r\nContent-Length: 2\r\n\r\no"};
    struct record record;

    for (size_t i = 0; i < 2; i++) {
        int fd;

        ask(&record, "Server-Timing");
        fd = accept_request();
        say(fd, starts[i]);
        (void)close(fd);
        expect_error(&record, HTTP_CALL_UNKNOWN, "in the middle");
        assert_string_equal(record.call.header, "");
    }
}

#define STREAM_HEAD "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

struct stream {
    struct record record;
    char parts[64];
    char stop_at; /* break off at a part that begins with it */
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

    call_start(&record); /* waits: there is only one connection */
    http_call_cancel(caller.client, &stream.record.call);
    assert_int_equal(stream.record.callbacks, 0);
    expect_broken_off(&stream);
    next = accept_and_answer(&record);
    http_call_cancel(caller.client, &stream.record.call); /* it has ended: nothing happens */
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
    const struct CMUnitTest tests[] = {
        TEST_OPEN(test_wanted_header_is_kept_wherever_it_is_split),
        TEST_OPEN(test_long_header_is_cut),
        TEST(test_no_header_is_kept_unasked_nor_from_the_call_before),
        TEST_OPEN(test_header_of_a_reply_that_breaks_off_is_not_kept),
        TEST(test_reply_is_told_in_parts_of_any_length),
        TEST(test_part_may_break_the_call_off),
        TEST(test_cancelled_call_gives_its_connection_to_the_next),
        TEST(test_cancelled_call_that_waits_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
