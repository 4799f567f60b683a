/* The end of connections of the HTTP server: either side may close at any moment, and draining is
 * graceful. */
#include "fault.h"
#include "http_fixture.h"

#include <sys/socket.h>
#include <unistd.h>

#define WAIT "GET /wait HTTP/1.1\r\n" HOST "\r\n"

/* The moments of a connection at which an end can strike. */
enum stage {
    BEFORE_A_BYTE,
    IN_THE_HEADERS,
    IN_THE_BODY,
    KEPT_ALIVE,
    HANDLER_WAITS,
    MORE_IS_PIPELINED,
    REPLY_IS_BEING_WRITTEN,
    PARTS_ARE_BEING_WRITTEN,
    AFTER_THE_LAST_REPLY,
    STAGES
};

static const char *const sent_at[STAGES] = {
    [BEFORE_A_BYTE] = "",
    [IN_THE_HEADERS] = "GET / HTTP/1.1\r\nHo",
    [IN_THE_BODY] = "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nab",
    [KEPT_ALIVE] = GET_HELLO,
    [HANDLER_WAITS] = WAIT,
    [MORE_IS_PIPELINED] = WAIT "GET / HTTP/1.1\r\n" HOST "\r\nGET / HT",
    [REPLY_IS_BEING_WRITTEN] = "GET /large HTTP/1.1\r\n" HOST "\r\n",
    [PARTS_ARE_BEING_WRITTEN] = "GET /parts HTTP/1.1\r\n" HOST "\r\n",
    [AFTER_THE_LAST_REPLY] = "GET / HTTP/1.0\r\n\r\n",
};

static bool has_begun(void) {
    struct http_server_stats stats;

    http_server_stats(http.server, &stats);
    return stats.requests > 0;
}

static void bring_to(enum stage stage) {
    http_fixture_wait_for_connections(1);
    http_peer_say(&http.peer, sent_at[stage]);
    if (stage != BEFORE_A_BYTE)
        WAIT_FOR(&http.loop, has_begun());
    if (stage == HANDLER_WAITS || stage == MORE_IS_PIPELINED)
        http_fixture_wait_for_waiters(1);
    if (stage == KEPT_ALIVE || stage == AFTER_THE_LAST_REPLY)
        assert_int_equal(http_peer_reply(&http.peer, NULL, 0), 200);
}

static void at_stage(enum stage stage, void (*strike)(void)) {
    const struct http_server_options limits = {0};

    http_fixture_open(&limits);
    bring_to(stage);
    strike();
    http_fixture_close(); /* asserts that nothing is left on the loop */
}

static void at_each_stage(void (*strike)(void)) {
    for (enum stage stage = BEFORE_A_BYTE; stage < STAGES; stage++)
        at_stage(stage, strike);
}

static void close_server(void) {
    http_server_close(http.server, on_http_fixture_closed, &http);
    assert_false(http.is_closed); /* it comes later, on the loop */
    http_fixture_let_go();
    WAIT_FOR(&http.loop, http.is_closed);
}

static void test_server_may_close_at_each_stage(void **state) {
    at_each_stage(close_server);
}

static void drain_server_briefly(void) {
    http_server_drain(http.server, 20, on_http_fixture_closed, &http);
    http_fixture_wait_for_connections(0); /* the handler may still wait */
    http_fixture_let_go();
    WAIT_FOR(&http.loop, http.is_closed);
}

static void test_drain_cuts_the_rest_at_each_stage(void **state) {
    at_each_stage(drain_server_briefly);
}

static void expect_server_unharmed(void) {
    http_fixture_wait_for_connections(0);
    http_peer_open(&http.peer, &http.loop, http.port);
    http_ask(GET_HELLO, 200, "");
}

static void close_peer(void) {
    http_peer_close(&http.peer);
    (void)uv_run(&http.loop, UV_RUN_NOWAIT);
    http_fixture_let_go();
    expect_server_unharmed();
}

static void test_peer_may_close_at_each_stage(void **state) {
    at_each_stage(close_peer);
}

static void reset_peer(void) {
    http_peer_reset(&http.peer);
    (void)uv_run(&http.loop, UV_RUN_NOWAIT);
    http_fixture_let_go();
    expect_server_unharmed();
}

static void test_peer_may_reset_at_each_stage(void **state) {
    at_each_stage(reset_peer);
}

static void test_handler_outlives_its_client(void **state) {
    struct http_server_stats stats;

    bring_to(HANDLER_WAITS);
    http_peer_reset(&http.peer);
    http_fixture_wait_for_connections(0);
    http_server_stats(http.server, &stats);
    assert_int_equal(stats.in_flight, 1);
    http_fixture_let_go();
    http_server_stats(http.server, &stats);
    assert_int_equal(stats.in_flight, 0);
    expect_server_unharmed();
}

static void test_half_closed_peer_still_gets_its_answers(void **state) {
    bring_to(MORE_IS_PIPELINED);
    assert_int_equal(shutdown(http.peer.fd, SHUT_WR), 0);
    for (int i = 0; i < 3; i++)
        http_peer_turn(&http.peer);
    http_fixture_let_go();
    assert_int_equal(http_peer_reply(&http.peer, NULL, 0), 200);
    assert_int_equal(http_peer_reply(&http.peer, NULL, 0), 200);
    http_peer_expect_end(&http.peer);
}

/* Its last bytes can still be read, but not answered: not even with a 100. */
static void test_peer_may_reset_before_it_is_told_to_continue(void **state) {
    http_fixture_wait_for_connections(1);
    http_peer_say(&http.peer, "POST /echo HTTP/1.1\r\n" HOST
                              "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi");
    http_peer_reset(&http.peer);
    expect_server_unharmed();
}

static void test_connections_without_a_descriptor_end_and_the_loop_goes_on(void **state) {
    struct http_peer *others = calloc(3, sizeof *others);
    rlim_t limit;

    assert_non_null(others);
    bring_to(KEPT_ALIVE);
    for (int i = 0; i < 3; i++)
        http_peer_open(&others[i], &http.loop, http.port);
    limit = fault_descriptors((rlim_t)others[2].fd + 1);
    for (int i = 0; i < 3; i++)
        http_peer_expect_end(&others[i]);
    (void)uv_run(&http.loop, UV_RUN_NOWAIT);
    (void)fault_descriptors(limit);
    for (int i = 0; i < 3; i++)
        http_peer_close(&others[i]);
    http_ask(sent_at[KEPT_ALIVE], 200, "");
    http_peer_close(&http.peer);
    expect_server_unharmed();
    free(others);
}

static void expect_last_answer(void) {
    char reply[512];

    assert_int_equal(http_peer_reply(&http.peer, reply, sizeof reply), 200);
    assert_non_null(strstr(reply, "Connection: close"));
    http_peer_expect_end(&http.peer);
    http_peer_close(&http.peer);
    WAIT_FOR(&http.loop, http.is_closed);
}

static void test_drain_lets_a_request_in_flight_finish(void **state) {
    bring_to(HANDLER_WAITS);
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    http_peer_turn(&http.peer);
    assert_false(http.is_closed);
    http_fixture_let_go();
    expect_last_answer();
}

static void test_drain_lets_a_request_that_has_begun_arrive(void **state) {
    bring_to(IN_THE_BODY);
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    http_peer_turn(&http.peer);
    http_ask("c", 200, "");
    http_peer_expect_end(&http.peer);
    http_peer_close(&http.peer);
    WAIT_FOR(&http.loop, http.is_closed);
}

static void test_drain_closes_long_idle_connections_at_once(void **state) {
    struct http_server_stats stats;

    bring_to(KEPT_ALIVE);
    (void)usleep(600 * 1000); /* over QUIET_MS */
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    (void)uv_run(&http.loop, UV_RUN_NOWAIT);
    if (!http.is_closed) {
        http_server_stats(http.server, &stats);
        assert_int_equal(stats.connections, 0);
    }
    WAIT_FOR(&http.loop, http.is_closed);
    http_peer_expect_end(&http.peer);
}

static void test_drain_answers_a_request_that_was_not_read_yet(void **state) {
    bring_to(KEPT_ALIVE);
    http_peer_say(&http.peer, sent_at[KEPT_ALIVE]);
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    expect_last_answer();
}

static void test_drain_answers_a_connection_that_is_not_accepted_yet(void **state) {
    http_peer_say(&http.peer, sent_at[KEPT_ALIVE]); /* the loop has not run yet */
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    expect_last_answer();
}

/* Their peers do not know that the server stops, so they may send a request at this moment. */
static void ask_once_more(void) {
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    http_peer_turn(&http.peer);
    http_peer_say(&http.peer, sent_at[KEPT_ALIVE]);
    expect_last_answer();
}

static void ask_no_more(void) {
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    WAIT_FOR(&http.loop, http.is_closed);
    http_peer_expect_end(&http.peer);
}

static void test_drain_answers_a_request_of_a_moment_later(void **state) {
    at_stage(BEFORE_A_BYTE, ask_once_more);
    at_stage(KEPT_ALIVE, ask_once_more);
}

static void test_drain_does_not_wait_for_ever_for_a_request(void **state) {
    at_stage(BEFORE_A_BYTE, ask_no_more);
    at_stage(KEPT_ALIVE, ask_no_more);
}

static void test_drain_may_be_cut_short(void **state) {
    bring_to(REPLY_IS_BEING_WRITTEN);
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    http_server_cut(http.server);
    http_server_cut(http.server);
    WAIT_FOR(&http.loop, http.is_closed);
}

static void test_taken_port_is_an_error_that_leaves_the_server_closable(void **state) {
    const struct http_server_options options = {0};
    struct http_fixture second = {0};

    assert_int_equal(http_server_open(&second.server, &http.loop, &options), 0);
    assert_int_equal(http_server_listen(second.server, "127.0.0.1", http.port), UV_EADDRINUSE);
    http_server_close(second.server, on_http_fixture_closed, &second);
    WAIT_FOR(&http.loop, second.is_closed);
    close_peer();
}

#define TEST(name) HTTP_TEST(name, NULL)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_may_close_at_each_stage),
        cmocka_unit_test(test_drain_cuts_the_rest_at_each_stage),
        cmocka_unit_test(test_peer_may_close_at_each_stage),
        cmocka_unit_test(test_peer_may_reset_at_each_stage),
        TEST(test_handler_outlives_its_client),
        TEST(test_half_closed_peer_still_gets_its_answers),
        TEST(test_peer_may_reset_before_it_is_told_to_continue),
        TEST(test_connections_without_a_descriptor_end_and_the_loop_goes_on),
        TEST(test_drain_lets_a_request_in_flight_finish),
        TEST(test_drain_lets_a_request_that_has_begun_arrive),
        TEST(test_drain_closes_long_idle_connections_at_once),
        TEST(test_drain_answers_a_request_that_was_not_read_yet),
        TEST(test_drain_answers_a_connection_that_is_not_accepted_yet),
        cmocka_unit_test(test_drain_answers_a_request_of_a_moment_later),
        cmocka_unit_test(test_drain_does_not_wait_for_ever_for_a_request),
        TEST(test_drain_may_be_cut_short),
        TEST(test_taken_port_is_an_error_that_leaves_the_server_closable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
