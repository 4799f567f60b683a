/* The Redis client's commands: order, deadlines, and what is known of each when things break. */
#include "fault.h"
#include "fiber.h"
#include "redis_fixture.h"

struct answer {
    struct redis_call call;
    enum redis_status status;
    char text[256];
    size_t length;
    int times; /* that the callback ran */
    int nth;   /* of all answers */
};

static int answers;

static void on_answer(struct redis_call *call, const redisReply *reply) {
    struct answer *answer = call->data;

    answer->times++;
    answer->nth = ++answers;
    answer->status = call->status;
    assert_int_equal(call->status == REDIS_IS_OK, reply != NULL);
    (void)snprintf(answer->text, sizeof answer->text, "%s", call->message);
    if (!reply)
        return;
    answer->length = reply->len;
    if (reply->type == REDIS_REPLY_INTEGER)
        (void)snprintf(answer->text, sizeof answer->text, "%lld", reply->integer);
    else if (reply->str)
        memcpy(answer->text, reply->str, reply->len < 255 ? reply->len + 1 : 255);
}

/* Start `words`, separated by spaces; the callback does not come inside. */
static void start(struct answer *answer, int64_t within_ms, const char *words) {
    char copy[256], *save = NULL;

    memset(answer, 0, sizeof *answer);
    (void)snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        answer->call.argv[answer->call.argc++] = word;
    answer->call.deadline_ms = clock_now_ms() + within_ms;
    answer->call.data = answer;
    redis_call_start(redis, &answer->call, on_answer);
    assert_int_equal(answer->times, 0);
}

static void assert_answer(struct answer *answer, enum redis_status status, const char *text) {
    WAIT_FOR(answer->times > 0);
    if (answer->status != status)
        fail_msg("status %d, not %d: %s", (int)answer->status, (int)status, answer->text);
    if (text)
        assert_string_equal(answer->text, text);
}

static void test_a_command_comes_back_with_its_reply(void **state) {
    struct answer answer;

    (void)state;
    open_redis();
    start(&answer, 5000, "SET test:a hello");
    assert_answer(&answer, REDIS_IS_OK, "OK");
    start(&answer, 5000, "GET test:a");
    assert_answer(&answer, REDIS_IS_OK, "hello");
    start(&answer, 5000, "DEL test:a");
    assert_answer(&answer, REDIS_IS_OK, "1");
    start(&answer, 5000, "CLIENT GETNAME");
    assert_answer(&answer, REDIS_IS_OK, client_name);
}

static void test_arguments_may_hold_any_byte(void **state) {
    static const char bytes[] = "a\0b\r\n%s \xff";
    struct answer answer = {.call = {.argc = 2,
                                     .argv = {"ECHO", bytes},
                                     .lengths = {0, sizeof bytes - 1},
                                     .deadline_ms = clock_now_ms() + 5000}};

    (void)state;
    open_redis();
    answer.call.data = &answer;
    redis_call_start(redis, &answer.call, on_answer);
    WAIT_FOR(answer.times > 0);
    assert_int_equal(answer.length, sizeof bytes - 1);
    assert_memory_equal(answer.text, bytes, sizeof bytes - 1);
}

static void test_commands_are_answered_in_the_order_of_their_start(void **state) {
    static struct answer many[1000];
    struct redis_stats stats;
    char words[64];

    (void)state;
    open_redis_at(test_url()); /* the first ones wait for the connection */
    answers = 0;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(words, sizeof words, "ECHO %d", i);
        start(&many[i], 5000, words);
        if (i % 100 == 99)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    WAIT_FOR(answers == 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(many[i].nth, i + 1);
        assert_int_equal(atoi(many[i].text), i);
    }
    redis_stats(redis, &stats);
    assert_true(stats.is_connected);
    assert_int_equal(stats.commands, 1000);
    assert_int_equal(stats.pending, 0);
    assert_int_equal(stats.reconnects, 0);
}

static void test_an_error_reply_is_a_rejection_with_its_text(void **state) {
    struct answer wrong, right;

    (void)state;
    open_redis();
    start(&wrong, 5000, "NOSUCHCOMMAND");
    start(&right, 5000, "ECHO fine");
    assert_answer(&wrong, REDIS_IS_REJECTED, NULL);
    assert_non_null(strstr(wrong.text, "unknown command"));
    assert_answer(&right, REDIS_IS_OK, "fine");
}

static void test_a_late_reply_goes_to_no_later_command(void **state) {
    struct answer late, next;
    struct redis_stats stats;

    (void)state;
    open_redis();
    start(&late, 50, "BLPOP test:nothing 0.5");
    start(&next, 10000, "ECHO next");
    assert_answer(&late, REDIS_IS_UNKNOWN, "no answer in time");
    assert_int_equal(next.times, 0);
    assert_answer(&next, REDIS_IS_OK, "next");
    assert_int_equal(late.times, 1);
    redis_stats(redis, &stats);
    assert_int_equal(stats.reconnects, 0);
}

static void test_deadlines_count_one_by_one(void **state) {
    struct answer block, first, second, third;

    (void)state;
    open_redis();
    answers = 0;
    start(&block, 10000, "BLPOP test:nothing 0.5");
    start(&third, 150, "ECHO 3");
    start(&first, 50, "ECHO 1");
    start(&second, 100, "ECHO 2");
    assert_answer(&third, REDIS_IS_UNKNOWN, NULL);
    assert_int_equal(first.nth, 1);
    assert_int_equal(second.nth, 2);
    assert_int_equal(third.nth, 3);
    assert_answer(&block, REDIS_IS_OK, NULL);
}

static void test_a_broken_connection_leaves_unknown_and_recovers(void **state) {
    struct answer cut, after;
    struct redis_stats stats;

    (void)state;
    open_redis();
    start(&cut, 10000, "BLPOP test:nothing 5");
    for (int i = 0; i < 5; i++)
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    kill_clients("normal");
    assert_answer(&cut, REDIS_IS_UNKNOWN, NULL);
    assert_false(redis_is_up(redis));
    start(&after, 10000, "ECHO again");
    assert_answer(&after, REDIS_IS_OK, "again");
    assert_int_equal(cut.times, 1);
    redis_stats(redis, &stats);
    assert_int_equal(stats.reconnects, 1);
}

static void test_commands_wait_for_a_server_that_is_not_there_yet(void **state) {
    struct relay relay;
    struct answer early, patient;

    (void)state;
    relay_open(&relay);
    open_redis_at(relay.url);
    start(&early, 50, "ECHO early");
    start(&patient, 10000, "ECHO patient");
    assert_answer(&early, REDIS_IS_NOT_SENT, "not connected: Connection refused");
    assert_false(redis_is_up(redis));
    relay_listen(&relay);
    assert_answer(&patient, REDIS_IS_OK, "patient");
    relay_close(&relay);
}

static void test_a_server_that_never_greets_is_tried_again(void **state) {
    struct relay relay;
    struct answer answer;
    struct redis_options options = {.url = relay.url, .connect_timeout_ms = 50};

    (void)state;
    relay_open(&relay);
    relay_listen(&relay);
    relay.is_silent = true;
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    start(&answer, 10000, "ECHO me");
    WAIT_FOR(relay.accepted >= 3);
    assert_false(redis_is_up(redis));
    relay.is_silent = false;
    assert_answer(&answer, REDIS_IS_OK, "me");
    relay_close(&relay);
}

static void test_a_server_that_falls_silent_is_connected_to_again(void **state) {
    struct relay relay;
    struct answer lost, long_lost, found;

    (void)state;
    relay_open(&relay);
    relay_listen(&relay);
    open_redis_at(relay.url);
    WAIT_FOR(redis_is_up(redis));
    relay.is_silent = true;
    start(&lost, 50, "ECHO lost");
    start(&long_lost, 60000, "ECHO lost");
    assert_answer(&lost, REDIS_IS_UNKNOWN, "no answer in time");
    assert_true(redis_is_up(redis));
    assert_answer(&long_lost, REDIS_IS_UNKNOWN, "no answer to anything");
    relay.is_silent = false;
    start(&found, 10000, "ECHO found");
    assert_answer(&found, REDIS_IS_OK, "found");
    relay_close(&relay);
}

static void test_a_wrong_password_counts_as_down(void **state) {
    struct answer answer;
    char url[64];

    (void)state;
    (void)snprintf(url, sizeof url, "redis://:wr%%6fng@%s:%d", server.host, server.port);
    open_redis_at(url);
    start(&answer, 200, "ECHO me");
    assert_answer(&answer, REDIS_IS_NOT_SENT, NULL);
    assert_true(strstr(answer.text, "AUTH") || strstr(answer.text, "WRONGPASS"));
    assert_false(redis_is_up(redis));
}

static void test_commands_beyond_the_bound_are_not_sent(void **state) {
    struct redis_options options = {.url = test_url(), .pending = 2};
    struct answer first, second, third;

    (void)state;
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    start(&first, 5000, "ECHO 1");
    start(&second, 5000, "ECHO 2");
    start(&third, 5000, "ECHO 3");
    assert_answer(&third, REDIS_IS_NOT_SENT, "too many commands unanswered");
    assert_answer(&first, REDIS_IS_OK, "1");
    assert_answer(&second, REDIS_IS_OK, "2");
    start(&third, 5000, "ECHO 3");
    assert_answer(&third, REDIS_IS_OK, "3");
}

static void test_expired_commands_make_room_while_there_is_no_connection(void **state) {
    struct redis_options options = {.url = "redis://127.0.0.1:1", .pending = 2};
    struct answer first, second, third;

    (void)state;
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    start(&first, 10, "ECHO 1");
    start(&second, 20, "ECHO 2");
    assert_answer(&second, REDIS_IS_NOT_SENT, NULL);
    start(&third, 30, "ECHO 3");
    assert_answer(&third, REDIS_IS_NOT_SENT, "not connected: Connection refused");
}

static void test_a_command_that_cannot_start_ends_later(void **state) {
    struct answer none, past;

    (void)state;
    open_redis();
    start(&none, 5000, "");
    start(&past, -1, "ECHO me");
    assert_answer(&none, REDIS_IS_NOT_SENT, "no command, or too many arguments");
    assert_answer(&past, REDIS_IS_NOT_SENT, "the deadline had passed");
}

static void on_answer_close(struct redis_call *call, const redisReply *reply) {
    on_answer(call, reply);
    redis_close(redis, on_closed, NULL);
    redis_close(redis, on_closed, NULL);
}

static void test_a_client_can_be_closed_in_a_callback(void **state) {
    struct answer closer, pending, after;

    (void)state;
    open_redis();
    start(&pending, 5000, "ECHO 1");
    WAIT_FOR(pending.times == 1);
    memset(&closer, 0, sizeof closer);
    closer.call = (struct redis_call){.argc = 1, .argv = {"PING"}, .data = &closer};
    closer.call.deadline_ms = clock_now_ms() + 5000;
    redis_call_start(redis, &closer.call, on_answer_close);
    start(&pending, 5000, "BLPOP test:nothing 5");
    WAIT_FOR(closer.times == 1);
    start(&after, 5000, "ECHO 1");
    WAIT_FOR(is_closed);
    assert_int_equal(pending.status, REDIS_IS_UNKNOWN);
    assert_int_equal(after.status, REDIS_IS_NOT_SENT);
    assert_string_equal(after.text, "closing");
    redis = NULL;
}

static void test_close_ends_every_command_once_at_every_stage(void **state) {
    struct answer some[3];

    (void)state;
    for (int stage = 0; stage < 40; stage++) {
        open_redis_at(stage % 4 == 3 ? "redis://127.0.0.1:1" : test_url());
        start(&some[0], 5000, "ECHO 1");
        start(&some[1], 5000, "BLPOP test:nothing 5");
        for (int turn = 0; turn < stage; turn++)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
        start(&some[2], 5000, "ECHO 2");
        redis_close(redis, on_closed, NULL);
        assert_int_equal(some[1].times + some[2].times, 0);
        WAIT_FOR(is_closed);
        is_closed = false;
        for (int i = 0; i < 3; i++)
            assert_int_equal(some[i].times, 1);
        assert_int_equal(some[2].status, stage ? some[2].status : REDIS_IS_NOT_SENT);
    }
    redis = NULL;
}

/* Reconnects after a failed allocation, so it always comes through once open. */
static void use_all(void *arg) {
    struct redis_options options = {.url = test_url(), .name = "test"};
    struct answer answer;
    int status = redis_open(&redis, &loop, &options);

    (void)arg;
    if (status != 0) {
        assert_int_equal(status, UV_ENOMEM);
        redis = NULL;
        return;
    }
    start(&answer, 5000, "ECHO me");
    assert_answer(&answer, REDIS_IS_OK, "me");
    close_redis();
}

static void test_a_failed_allocation_is_survived(void **state) {
    (void)state;
    fault_each_allocation(use_all, NULL);
}

struct awaits {
    char text[3][8];
    bool is_nil[3];
    enum redis_status status[4];
    bool is_done;
};

static void awaits(void *arg) {
    static const char *const words[4][3] = {
        {"ECHO", "0123456789", NULL}, {"DEL", "test:none", NULL}, {"GET", "test:none", NULL}};
    struct awaits *waiting = arg;

    for (int i = 0; i < 3; i++) {
        struct redis_call call = {.argc = 2, .argv = {words[i][0], words[i][1]}};

        call.deadline_ms = clock_now_ms() + 5000;
        waiting->status[i] = redis_call_await(redis, &call, waiting->text[i],
                                              sizeof waiting->text[i], &waiting->is_nil[i]);
    }
    struct redis_call late = {.argc = 1, .argv = {"PING"}};
    waiting->status[3] = redis_call_await(redis, &late, NULL, 0, NULL);
    waiting->is_done = true;
}

static void test_a_fiber_waits_for_its_reply_as_text(void **state) {
    struct awaits waiting = {.is_done = false};

    (void)state;
    open_redis();
    assert_int_equal(fiber_start(awaits, &waiting), 0);
    WAIT_FOR(waiting.is_done);
    assert_string_equal(waiting.text[0], "0123456");
    assert_string_equal(waiting.text[1], "0");
    assert_string_equal(waiting.text[2], "");
    assert_false(waiting.is_nil[0] || waiting.is_nil[1]);
    assert_true(waiting.is_nil[2]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(waiting.status[i], REDIS_IS_OK);
    assert_int_equal(waiting.status[3], REDIS_IS_NOT_SENT);
    fiber_cleanup();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_command_comes_back_with_its_reply),
        TEST(test_arguments_may_hold_any_byte),
        TEST(test_commands_are_answered_in_the_order_of_their_start),
        TEST(test_an_error_reply_is_a_rejection_with_its_text),
        TEST(test_a_late_reply_goes_to_no_later_command),
        TEST(test_deadlines_count_one_by_one),
        TEST(test_a_broken_connection_leaves_unknown_and_recovers),
        TEST(test_commands_wait_for_a_server_that_is_not_there_yet),
        TEST(test_a_server_that_never_greets_is_tried_again),
        TEST(test_a_server_that_falls_silent_is_connected_to_again),
        TEST(test_a_wrong_password_counts_as_down),
        TEST(test_commands_beyond_the_bound_are_not_sent),
        TEST(test_expired_commands_make_room_while_there_is_no_connection),
        TEST(test_a_command_that_cannot_start_ends_later),
        TEST(test_a_client_can_be_closed_in_a_callback),
        TEST(test_close_ends_every_command_once_at_every_stage),
        TEST(test_a_failed_allocation_is_survived),
        TEST(test_a_fiber_waits_for_its_reply_as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
