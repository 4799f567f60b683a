/* Clients that pipeline many requests: each gets all its answers, in order, and does not delay the
 * answers of others. */
#include "http_fixture.h"

#include <sys/socket.h>

#define GREEDY   20
#define REQUESTS 500 /* of each client */
#define SHARE    16  /* most requests of a connection in a turn of the loop */

static uint64_t begun(void) {
    struct http_server_stats stats;

    http_server_stats(http.server, &stats);
    return stats.requests;
}

/* All in one write. */
static void pipeline(struct http_peer *peer, int count) {
    char *text = malloc((size_t)count * 80), *to = text;

    assert_non_null(text);
    for (int i = 0; i < count; i++)
        to += sprintf(to, "GET /items/%d HTTP/1.1\r\n" HOST "\r\n", i);
    http_peer_send(peer, text, (size_t)(to - text));
    free(text);
}

static void expect_answers(struct http_peer *peer, int from, int to) {
    char reply[512], body[64];

    for (int i = from; i < to; i++) {
        (void)snprintf(body, sizeof body, "\r\n\r\n%d|none", i);
        assert_int_equal(http_peer_reply(peer, reply, sizeof reply), 200);
        assert_non_null(strstr(reply, body));
    }
}

static struct http_peer *open_greedy(void) {
    struct http_peer *greedy = calloc(GREEDY, sizeof *greedy);

    assert_non_null(greedy);
    for (int i = 0; i < GREEDY; i++)
        http_peer_open(&greedy[i], &http.loop, http.port);
    http_fixture_wait_for_connections(GREEDY + 1);
    return greedy;
}

static void close_greedy(struct http_peer *greedy) {
    for (int i = 0; i < GREEDY; i++)
        http_peer_close(&greedy[i]);
    free(greedy);
}

/* In the turn that reads its request, the others may have had their share before. */
static void test_others_wait_for_no_more_than_a_share(void **state) {
    struct http_peer *greedy = open_greedy();
    uint64_t before;

    for (int i = 0; i < GREEDY; i++)
        pipeline(&greedy[i], REQUESTS);
    before = begun();
    http_ask(GET_HELLO, 200, "");
    assert_in_range(begun() - before, 1, 2 * GREEDY * SHARE + 1);
    for (int i = 0; i < GREEDY; i++)
        expect_answers(&greedy[i], 0, REQUESTS);
    close_greedy(greedy);
}

static void test_a_turn_serves_a_share_of_a_connection(void **state) {
    int turns = 0;

    pipeline(&http.peer, REQUESTS);
    while (begun() < REQUESTS) {
        uint64_t before = begun();

        (void)uv_run(&http.loop, UV_RUN_NOWAIT);
        assert_in_range(begun() - before, 0, SHARE);
        turns++;
    }
    assert_true(turns >= REQUESTS / SHARE);
    expect_answers(&http.peer, 0, REQUESTS);
}

/* More than is kept for one connection: reading stops, and goes on when that is answered. */
static void test_long_pipelines_are_answered_in_order(void **state) {
    for (int round = 0; round < 3; round++) {
        pipeline(&http.peer, 3000);
        expect_answers(&http.peer, 0, 3000);
    }
}

static void test_pipeline_is_answered_when_its_client_has_closed_its_side(void **state) {
    pipeline(&http.peer, REQUESTS);
    assert_int_equal(shutdown(http.peer.fd, SHUT_WR), 0);
    expect_answers(&http.peer, 0, REQUESTS);
    http_peer_expect_end(&http.peer);
}

static void test_client_may_go_before_its_share_comes(void **state) {
    struct http_peer *greedy = open_greedy();

    for (int i = 0; i < GREEDY; i++)
        pipeline(&greedy[i], REQUESTS);
    for (int i = 0; i < GREEDY; i++) {
        (void)uv_run(&http.loop, UV_RUN_NOWAIT);
        http_peer_reset(&greedy[i]);
    }
    http_fixture_wait_for_connections(1);
    free(greedy);
}

/* The next answer is the last, and says so. */
static void test_drain_ends_a_pipeline_with_an_answer(void **state) {
    char reply[512];
    int answers = 0;

    pipeline(&http.peer, REQUESTS);
    WAIT_FOR(&http.loop, begun() > 0);
    assert_true(begun() < REQUESTS);
    http_server_drain(http.server, 60000, on_http_fixture_closed, &http);
    do {
        assert_int_equal(http_peer_reply(&http.peer, reply, sizeof reply), 200);
        answers++;
    } while (strstr(reply, "Connection: close\r\n") == NULL);
    assert_true(answers < REQUESTS);
    http_peer_expect_end(&http.peer);
    WAIT_FOR(&http.loop, http.is_closed);
}

#define TEST(name) HTTP_TEST(name, NULL)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_others_wait_for_no_more_than_a_share),
        TEST(test_a_turn_serves_a_share_of_a_connection),
        TEST(test_long_pipelines_are_answered_in_order),
        TEST(test_pipeline_is_answered_when_its_client_has_closed_its_side),
        TEST(test_client_may_go_before_its_share_comes),
        TEST(test_drain_ends_a_pipeline_with_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
