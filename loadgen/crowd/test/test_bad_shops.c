/* Crowds of customers against bad shops: slow ones, broken ones, and one that restarts. Each
 * customer ends with the right word. */
#include "crowd_fixture.h"
#include "fault.h"
#include "test.h"
#include "utf8.h"
#include "wait.h"

/* A crowd of 10 with these steps of `order`: each customer ends in the same way, and the shop was
 * asked once for each. */
static void expect_orders(const char *steps, enum record_outcome outcome, int status) {
    char sections[4096];

    sale.asked = 0;
    (void)snprintf(sections, sizeof sections, "== order ==\n%s" SALE_OUTCOME, steps);
    sale_run(10, 1000, sections);
    sale_expect_all(outcome);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(sale.recorder->records[i].status, status);
    assert_true(sale.asked == 0 || sale.asked == 10);
    sale_close();
}

static void test_each_reply_gives_its_word(void **state) {
    expect_orders(SALE_POST("/order") SALE_CAPTURE, RECORD_SOLD, 200);
    expect_orders(SALE_GET("/slow") SALE_CAPTURE, RECORD_SOLD, 200);
    expect_orders(SALE_GET("/large?size=8192") SALE_CAPTURE, RECORD_SOLD, 200);
    expect_orders(SALE_GET("/said?reply=no+stock"), RECORD_SOLD_OUT, 200);
    expect_orders(SALE_GET("/said?status=429"), RECORD_BUSY, 429);
    expect_orders(SALE_GET("/said?status=400&reply=<html>"), RECORD_REFUSED, 400);
    expect_orders(SALE_GET("/said?status=503"), RECORD_UNKNOWN, 503);
    expect_orders(SALE_GET("/said?reply={\"state\":"), RECORD_UNKNOWN, 200);
    expect_orders(SALE_POST("/bad"), RECORD_UNKNOWN, 500);
}

static void test_no_reply_is_refused_before_the_mark_and_unknown_from_it_on(void **state) {
    static const char *const bad[] = {SALE_GET("/drop"), SALE_GET("/large?size=8388608")};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char steps[256];

        (void)snprintf(steps, sizeof steps, "%s" SALE_MARK SALE_POST("/order"), bad[i]);
        expect_orders(steps, RECORD_REFUSED, 0);
        (void)snprintf(steps, sizeof steps, SALE_GET("/said") SALE_MARK "%s", bad[i]);
        expect_orders(steps, RECORD_UNKNOWN, 0);
    }
}

/* Where the machine stalls, a request does not leave in time. Then the next crowd has twice the
 * time. */
static void expect_timeouts(const char *sections, enum record_outcome outcome) {
    for (sale.timeout_ms = 50; sale.timeout_ms < PATIENCE_MS; sale.timeout_ms *= 2) {
        bool was_sent = true;
        size_t count;

        sale_run(5, 1000, sections);
        for (size_t i = 0; i < 5; i++)
            was_sent = was_sent && sale.recorder->records[i].outcome != RECORD_UNREACHED;
        if (was_sent) {
            sale_expect_all(outcome);
            assert_int_equal(crowd_counts(sale.crowd)->silent, 5);
            assert_int_equal(crowd_steps(sale.crowd, &count)->no_reply, 5);
            assert_int_equal(crowd_steps(sale.crowd, &count)->time->count, 0);
            assert_non_null(strstr(crowd_counts(sale.crowd)->why_silent.text, "imed out"));
        }
        sale_close();
        if (was_sent)
            return;
    }
    fail_msg("no crowd was sent in time");
}

static void test_a_timeout_is_refused_before_the_mark_and_unknown_from_it_on(void **state) {
    expect_timeouts("== order ==\n" SALE_GET("/silent") SALE_MARK SALE_POST("/order") SALE_OUTCOME,
                    RECORD_REFUSED);
    expect_timeouts("== order ==\n" SALE_GET("/silent") SALE_OUTCOME, RECORD_UNKNOWN);
    fiber_event_set(&sale.gate);
}

/* ---- a shop that breaks connections, and one that is away */

/* A far end that reads a request, writes `raw`, and closes; or resets the connection. */
static struct {
    uv_tcp_t listener;
    const char *raw;
    size_t length;
    bool resets;
} broken;

static void on_broken_closed(uv_handle_t *handle) {
    if (handle != (uv_handle_t *)&broken.listener)
        free(handle);
    sale.closing--;
}

static void on_broken_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer) {
    static char bytes[4096];

    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_broken_written(uv_write_t *write, int status) {
    uv_handle_t *peer = (uv_handle_t *)write->handle;

    free(write);
    if (!uv_is_closing(peer)) {
        sale.closing++;
        uv_close(peer, on_broken_closed);
    }
}

static void on_broken_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
    uv_buf_t reply = uv_buf_init((char *)(uintptr_t)broken.raw, (unsigned)broken.length);
    uv_write_t *write;

    (void)uv_read_stop(stream);
    sale.asked++;
    if (broken.resets) {
        sale.closing++;
        (void)uv_tcp_close_reset((uv_tcp_t *)stream, on_broken_closed);
        return;
    }
    write = malloc(sizeof *write);
    assert_non_null(write);
    assert_int_equal(uv_write(write, stream, &reply, 1, on_broken_written), 0);
}

static void on_broken_connection(uv_stream_t *listener, int status) {
    uv_tcp_t *peer = malloc(sizeof *peer);

    assert_non_null(peer);
    assert_int_equal(uv_tcp_init(&sale.loop, peer), 0);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)peer), 0);
    assert_int_equal(uv_read_start((uv_stream_t *)peer, on_broken_room, on_broken_read), 0);
}

static void open_broken(void) {
    struct sockaddr_in any;
    int length = sizeof any;

    assert_int_equal(uv_tcp_init(&sale.loop, &broken.listener), 0);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &any), 0);
    assert_int_equal(uv_tcp_bind(&broken.listener, (struct sockaddr *)&any, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&broken.listener, 128, on_broken_connection), 0);
    assert_int_equal(uv_tcp_getsockname(&broken.listener, (struct sockaddr *)&any, &length), 0);
    sale.port = ntohs(any.sin_port);
}

static void close_broken(void) {
    sale.closing++;
    uv_close((uv_handle_t *)&broken.listener, on_broken_closed);
    WAIT_FOR(&sale.loop, sale.closing == 0);
}

static void test_reset_connections_lose_no_customer(void **state) {
    open_broken();
    broken.resets = true;
    sale_run(10, 1000, "== order ==\n" SALE_POST("/order") SALE_OUTCOME);
    sale_expect_all(RECORD_UNKNOWN);
    assert_non_null(strstr(crowd_counts(sale.crowd)->why_silent.text, "reset by peer"));
    sale_close();
    expect_orders(SALE_GET("/cart") SALE_MARK SALE_POST("/order"), RECORD_REFUSED, 0);
    close_broken();
}

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static void test_broken_replies_are_unknown(void **state) {
    static const struct {
        const char *raw;
        size_t length;
        int status; /* 0: it counts as no reply */
    } rows[] = {
#define ROW(raw, status) {raw, sizeof raw - 1, status}
        ROW("", 0),
        ROW("no HTTP \x1b[2J\r\n", 0),
        ROW("HTTP/1.1 200", 0),
        ROW(OK_HEAD "Content-Length: 100\r\n\r\n{\"state\": \"paid\"}", 0),
        ROW(OK_HEAD "Content-Length: -5\r\n\r\n{\"state\": \"paid\"}", 0),
        ROW(OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", 0),
        ROW(OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd", 0),
        ROW("HTTP/1.1 999 \x1b[2J\r\nContent-Length: 0\r\n\r\n", 999),
        ROW("HTTP/1.1 302 Away\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n", 302),
        ROW(OK_HEAD "Content-Length: 9\r\n\r\n{\0\x1b[2J\xff}\n", 200),
        ROW(OK_HEAD "Content-Length: 8\r\n\r\n[[[[[[[[", 200),
#undef ROW
    };

    open_broken();
    broken.resets = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        broken.raw = rows[i].raw;
        broken.length = rows[i].length;
        sale.asked = 0;
        sale_run(10, 1000, "== order ==\n" SALE_POST("/order") SALE_OUTCOME);
        sale_expect_all(RECORD_UNKNOWN);
        assert_int_equal(sale.asked, 10);
        assert_int_equal(sale.recorder->records[0].status, rows[i].status);
        assert_int_equal(crowd_counts(sale.crowd)->unmatched, rows[i].status != 0 ? 10 : 0);
        assert_int_equal(crowd_counts(sale.crowd)->silent, rows[i].status != 0 ? 0 : 10);
        assert_true(utf8_is_printable(crowd_counts(sale.crowd)->first_unmatched.text));
        assert_true(utf8_is_printable(crowd_counts(sale.crowd)->why_silent.text));
        sale_close();
    }
    close_broken();
}

static void test_a_shop_that_is_away_is_not_reached(void **state) {
    sale.port = 1;
    sale_run(10, 1000, "== order ==\n" SALE_POST("/order") SALE_OUTCOME);
    sale_expect_all(RECORD_UNREACHED);
    assert_int_equal(sale.recorder->records[0].sent_ns, 0);
    assert_int_equal(crowd_counts(sale.crowd)->silent, 10);
    assert_non_null(strstr(crowd_counts(sale.crowd)->why_silent.text, "no reply: "));
    sale_close();
}

/* The plan is long; the test stops it when it has seen enough. */
static void test_a_restart_in_the_middle_ends_and_the_sale_goes_on(void **state) {
    const struct crowd_options options = {0};
    size_t counted = 0, sold;

    sale_open(20000, 1000, "== order ==\n" SALE_POST("/order") SALE_CAPTURE SALE_OUTCOME, &options);
    sale_start();
    WAIT_FOR(&sale.loop, sale.recorder->by_outcome[RECORD_SOLD] >= 20);
    sale_close_server(sale.server);
    WAIT_FOR(&sale.loop, sale.recorder->by_outcome[RECORD_UNREACHED] >= 1);
    sold = sale.recorder->by_outcome[RECORD_SOLD];
    sale.server = sale_open_server(sale.port);
    WAIT_FOR(&sale.loop, sale.recorder->by_outcome[RECORD_SOLD] > sold);
    crowd_stop(sale.crowd, PATIENCE_MS);
    WAIT_FOR(&sale.loop, sale.is_over);
    assert_int_equal(sale.recorder->ended, sale.recorder->count);
    counted = sale.recorder->by_outcome[RECORD_SOLD] + sale.recorder->by_outcome[RECORD_UNREACHED] +
              sale.recorder->by_outcome[RECORD_UNKNOWN] + sale.recorder->by_outcome[RECORD_UNSENT];
    assert_int_equal(counted, sale.recorder->count);
    assert_true(sale.asked >= sale.recorder->by_outcome[RECORD_SOLD]);
    assert_true(sale.asked <=
                sale.recorder->by_outcome[RECORD_SOLD] + sale.recorder->by_outcome[RECORD_UNKNOWN]);
    sale_close();
}

static void crowd_without_memory(void *arg) {
    const struct crowd_options options = {.lanes = 2};

    sale.is_over = false;
    sale.recorder = recorder_make(4);
    if (sale.recorder == NULL)
        return;
    if (crowd_open(&sale.crowd, &sale.loop, sale.flow, &sale.shop, &sale.plan, sale.recorder,
                   &options, &sale.why) == 0) {
        if (fiber_start(sale_go, NULL) == 0)
            WAIT_FOR(&sale.loop, sale.is_over);
        assert_int_equal(sale.recorder->ended, sale.recorder->count);
        assert_int_equal(sale.recorder->count,
                         sale.is_over && sale.prepared == 0 && sale.sent == 0 ? 4 : 0);
        assert_int_equal(sale.recorder->by_outcome[RECORD_SOLD_OUT], 0);
        crowd_close(sale.crowd);
    }
    recorder_free(sale.recorder);
}

/* Without memory for a socket, a request waits until its timeout. */
static void test_short_memory_loses_no_customer(void **state) {
    const struct crowd_options options = {0};

    sale.timeout_ms = 100;
    sale_open(4, 100000,
              "== prepare ==\n" SALE_GET("/said") "== order ==\n" SALE_POST("/order")
                  SALE_CAPTURE SALE_OUTCOME,
              &options);
    crowd_close(sale.crowd);
    recorder_free(sale.recorder);
    fault_each_allocation(crowd_without_memory, NULL);
    sale.recorder = recorder_make(4);
    assert_int_equal(crowd_open(&sale.crowd, &sale.loop, sale.flow, &sale.shop, &sale.plan,
                                sale.recorder, &options, &sale.why),
                     0);
    sale_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SALE(test_each_reply_gives_its_word),
        SALE(test_no_reply_is_refused_before_the_mark_and_unknown_from_it_on),
        SALE(test_a_timeout_is_refused_before_the_mark_and_unknown_from_it_on),
        SALE(test_reset_connections_lose_no_customer),
        SALE(test_broken_replies_are_unknown),
        SALE(test_a_shop_that_is_away_is_not_reached),
        SALE(test_a_restart_in_the_middle_ends_and_the_sale_goes_on),
        SALE(test_short_memory_loses_no_customer),
    };

    return cmocka_run_group_tests_name("bad shops", tests, NULL, NULL);
}
