/* The Redis client when something breaks: the status of each command, and its recovery. */
#include "fault.h"
#include "redis_answer.h"

static void test_a_broken_connection_leaves_unknown_and_recovers(void **state) {
    struct answer cut;

    WAIT_FOR(&loop, redis->connection.is_up);
    start(&cut, 10000, "BLPOP test:nothing 5");
    for (int i = 0; i < 5; i++)
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    kill_clients("normal");
    assert_answer(&cut, REDIS_IS_UNKNOWN, NULL);
    ask_redis("ECHO again", REDIS_IS_OK, "again");
    assert_int_equal(cut.times, 1);
    assert_int_equal(proxy->clients, 2);
}

static void test_commands_wait_for_a_server_that_is_not_there_yet(void **state) {
    struct answer early, patient;

    proxy = fault_proxy_open_url(&loop, redis_url());
    open_redis_at(proxy->url);
    start(&early, 50, "ECHO early");
    start(&patient, 10000, "ECHO patient");
    assert_answer(&early, REDIS_IS_NOT_SENT, NULL);
    assert_non_null(strstr(early.text, "not connected"));
    assert_false(redis->connection.is_up);
    fault_proxy_listen(proxy);
    assert_answer(&patient, REDIS_IS_OK, "patient");
}

static void test_a_server_that_never_greets_is_tried_again(void **state) {
    struct answer answer;
    struct redis_options options = {.connect_timeout_ms = 50};

    proxy = fault_proxy_open_url(&loop, redis_url());
    options.url = proxy->url;
    fault_proxy_listen(proxy);
    fault_proxy_set(proxy, PROXY_HOLDS);
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    start(&answer, 10000, "ECHO me");
    WAIT_FOR(&loop, proxy->clients >= 3);
    assert_false(redis->connection.is_up);
    fault_proxy_set(proxy, PROXY_PASSES);
    assert_answer(&answer, REDIS_IS_OK, "me");
}

static void test_a_server_that_falls_silent_is_connected_to_again(void **state) {
    struct answer lost, long_lost;

    WAIT_FOR(&loop, redis->connection.is_up);
    fault_proxy_set(proxy, PROXY_HOLDS);
    start(&lost, 50, "ECHO lost");
    start(&long_lost, 60000, "ECHO lost");
    assert_answer(&lost, REDIS_IS_UNKNOWN, "no answer in time");
    assert_true(redis->connection.is_up);
    assert_answer(&long_lost, REDIS_IS_UNKNOWN, "the server answered nothing");
    fault_proxy_set(proxy, PROXY_PASSES);
    ask_redis("ECHO found", REDIS_IS_OK, "found");
}

static void test_a_pause_of_this_process_is_not_the_servers_silence(void **state) {
    struct answer answer;
    int64_t id = connection_id();

    start(&answer, 60000, "ECHO me");
    (void)uv_run(&loop, UV_RUN_NOWAIT); /* sent */
    (void)usleep((REDIS_SILENCE_MS + 200) * 1000);
    assert_answer(&answer, REDIS_IS_OK, "me");
    assert_int_equal(connection_id(), id);
}

static void test_an_answer_that_came_in_time_counts_after_a_pause(void **state) {
    struct answer first, second;

    start(&first, 100, "ECHO 1");
    start(&second, 100, "ECHO 2");
    (void)uv_run(&loop, UV_RUN_NOWAIT); /* sent */
    (void)usleep(700 * 1000);
    assert_answer(&first, REDIS_IS_OK, "1");
    assert_answer(&second, REDIS_IS_OK, "2");
}

static void test_a_wrong_password_counts_as_down(void **state) {
    struct answer answer;
    char url[512];

    (void)snprintf(url, sizeof url, "redis://:wr%%6fng@%s:%d", server.host, server.port);
    open_redis_at(url);
    do {
        start(&answer, 100, "ECHO me");
        assert_answer(&answer, REDIS_IS_NOT_SENT, NULL);
    } while (strstr(answer.text, "still connecting"));
    assert_true(strstr(answer.text, "AUTH") || strstr(answer.text, "WRONGPASS"));
    assert_false(redis->connection.is_up);
}

static void test_expired_commands_make_room_while_there_is_no_connection(void **state) {
    struct redis_options options = {.url = "redis://127.0.0.1:1", .pending = 2};
    struct answer first, second, third;

    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    start(&first, 10, "ECHO 1");
    start(&second, 20, "ECHO 2");
    assert_answer(&second, REDIS_IS_NOT_SENT, NULL);
    start(&third, 30, "ECHO 3");
    assert_answer(&third, REDIS_IS_NOT_SENT, NULL);
    assert_non_null(strstr(third.text, "not connected"));
}

static void test_close_ends_every_command_once_at_every_stage(void **state) {
    struct answer some[3];

    for (int stage = 0; stage < 40; stage++) {
        open_redis_at(stage % 4 == 3 ? "redis://127.0.0.1:1" : redis_url());
        start(&some[0], 5000, "ECHO 1");
        start(&some[1], 5000, "BLPOP test:nothing 5");
        for (int turn = 0; turn < stage; turn++)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
        start(&some[2], 5000, "ECHO 2");
        redis_close(redis, on_closed, NULL);
        assert_int_equal(some[1].times + some[2].times, 0);
        WAIT_FOR(&loop, is_closed);
        is_closed = false;
        for (int i = 0; i < 3; i++)
            assert_int_equal(some[i].times, 1);
        if (stage == 0)
            assert_int_equal(some[0].status, REDIS_IS_NOT_SENT);
    }
    redis = NULL;
}

/* Reconnects after a failed allocation, so it always comes through once open. */
static void use_all(void *arg) {
    if (!redis_opens())
        return;
    ask_redis("ECHO me", REDIS_IS_OK, "me");
    close_redis();
}

static void test_a_failed_allocation_is_survived(void **state) {
    fault_each_allocation(use_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_FAR(test_a_broken_connection_leaves_unknown_and_recovers),
        TEST(test_commands_wait_for_a_server_that_is_not_there_yet),
        TEST(test_a_server_that_never_greets_is_tried_again),
        TEST_FAR(test_a_server_that_falls_silent_is_connected_to_again),
        TEST_OPEN(test_a_pause_of_this_process_is_not_the_servers_silence),
        TEST_OPEN(test_an_answer_that_came_in_time_counts_after_a_pause),
        TEST(test_a_wrong_password_counts_as_down),
        TEST(test_expired_commands_make_room_while_there_is_no_connection),
        TEST(test_close_ends_every_command_once_at_every_stage),
        TEST(test_a_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
