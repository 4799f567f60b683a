/* The HTTP client after its process paused, and while new connections cannot be made: an answer
 * that has arrived counts, a late call is not sent, a working connection is used. */
#include "http_client_fixture.h"

#include "fault.h"

/* Like a stopped process: the loop does not run, and time passes. */
static void stand_still_past(int64_t moment_ms) {
    while (clock_now_ms() <= moment_ms)
        (void)poll(NULL, 0, 1);
}

static void test_answer_that_came_during_a_stall_counts(void **state) {
    struct record record;
    int fd;

    call_by(&record, "GET", 500);
    fd = accept_request();
    say(fd, OK_REPLY);
    stand_still_past(record.call.deadline_ms);
    expect_answer(&record, 200, "ok");
    (void)close(fd);
}

static void test_connection_made_during_a_stall_counts(void **state) {
    struct record record;

    open_client((struct http_client_options){.connect_timeout_ms = 50});
    call_start(&record);
    stand_still_past(clock_now_ms() + 100);
    (void)close(accept_and_answer(&record));
}

static void test_call_that_is_late_after_a_stall_is_not_sent(void **state) {
    struct record record;
    char byte;
    int fd;

    call_by(&record, "GET", 50);
    stand_still_past(record.call.deadline_ms);
    expect_error(&record, HTTP_CALL_NOT_SENT, "deadline");
    fd = accept_one();
    assert_int_equal(recv(fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    (void)close(fd);
}

/* One call is out. A second one cannot have a connection of its own. */
static int start_without_descriptors(struct record records[2]) {
    int fd;
    rlim_t limit;

    open_client((struct http_client_options){0});
    fd = call_and_accept(&records[0]);
    limit = fault_descriptors(0);
    call_start(&records[1]);
    for (int i = 0; i < 5; i++)
        (void)uv_run(&caller.loop, UV_RUN_NOWAIT);
    (void)fault_descriptors(limit);
    assert_int_equal(records[1].callbacks, 0);
    assert_int_equal(stats_of().queued, 1);
    assert_int_equal(stats_of().connect_failures, 1);
    return fd;
}

static void test_call_without_a_descriptor_takes_the_next_free_connection(void **state) {
    struct record records[2];
    int fd = start_without_descriptors(records);

    for (int i = 0; i < 2; i++) {
        say_ok(&records[i], fd);
        if (i == 0)
            expect_request(fd);
    }
    assert_int_equal(stats_of().opened, 1);
    (void)close(fd);
}

static void test_connecting_is_tried_again_while_another_call_takes_long(void **state) {
    struct record records[2];
    int first = start_without_descriptors(records);
    int second = accept_one();

    answer(&records[1], second);
    assert_int_equal(stats_of().connect_failures, 0);
    say_ok(&records[0], first);
    (void)close(first);
    (void)close(second);
}

static void test_without_descriptors_and_connections_every_call_ends(void **state) {
    struct record records[3];
    rlim_t limit = fault_descriptors(0);

    for (int i = 0; i < 3; i++)
        call_start(&records[i]);
    for (int i = 0; i < 3; i++)
        expect_error(&records[i], HTTP_CALL_NOT_SENT, "too many open files");
    (void)fault_descriptors(limit);
    assert_int_equal(stats_of().connections, 0);
}

static void test_queue_stays_bounded_while_no_connection_can_be_made(void **state) {
    struct record records[6];
    rlim_t limit;
    int fd;

    open_client((struct http_client_options){.queue = 2});
    fd = call_and_accept(&records[0]);
    limit = fault_descriptors(0);
    for (int i = 1; i < 6; i++)
        call_start(&records[i]);
    for (int i = 3; i < 6; i++)
        expect_error(&records[i], HTTP_CALL_NOT_SENT, "the queue is full");
    (void)fault_descriptors(limit);
    assert_int_equal(stats_of().queued, 2);
    close_client();
    expect_error(&records[0], HTTP_CALL_UNKNOWN, "closing");
    for (int i = 1; i < 3; i++)
        expect_error(&records[i], HTTP_CALL_NOT_SENT, "closing");
    (void)close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_OPEN(test_answer_that_came_during_a_stall_counts),
        TEST(test_connection_made_during_a_stall_counts),
        TEST_OPEN(test_call_that_is_late_after_a_stall_is_not_sent),
        TEST(test_call_without_a_descriptor_takes_the_next_free_connection),
        TEST(test_connecting_is_tried_again_while_another_call_takes_long),
        TEST_OPEN(test_without_descriptors_and_connections_every_call_ends),
        TEST(test_queue_stays_bounded_while_no_connection_can_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
