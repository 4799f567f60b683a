/* The Redis client's commands: their replies, their order, their deadlines. */
#include "fiber.h"
#include "redis_answer.h"

static void test_a_command_comes_back_with_its_reply(void **state) {
    struct answer answer;

    start(&answer, 5000, "SET test:a hello");
    assert_answer(&answer, REDIS_IS_OK, "OK");
    start(&answer, 5000, "GET test:a");
    assert_answer(&answer, REDIS_IS_OK, "hello");
    start(&answer, 5000, "DEL test:a");
    assert_answer(&answer, REDIS_IS_OK, "1");
    ask_redis("CLIENT GETNAME", REDIS_IS_OK, client_name);
}

static void test_arguments_may_hold_any_byte_but_nul(void **state) {
    static const char bytes[] = "ab\r\n%s \xff";
    struct answer answer = {
        .call = {.argc = 2, .argv = {"ECHO", bytes}, .deadline_ms = clock_now_ms() + 5000}};

    answer.call.data = &answer;
    redis_call_start(redis, &answer.call, on_answer);
    WAIT_FOR(&loop, answer.times > 0);
    assert_int_equal(answer.length, sizeof bytes - 1);
    assert_memory_equal(answer.text, bytes, sizeof bytes - 1);
}

/* The socket takes it in parts, with waits between them. */
static void test_a_command_may_be_larger_than_the_socket_takes(void **state) {
    const size_t length = (size_t)32 << 20;
    char *large = malloc(length + 1);
    struct answer next, answer = {.call = {.argc = 3,
                                           .argv = {"SET", "test:large", large},
                                           .deadline_ms = clock_now_ms() + 30000}};

    assert_non_null(large);
    memset(large, 'x', length);
    large[length] = '\0';
    open_redis();
    answer.call.data = &answer;
    redis_call_start(redis, &answer.call, on_answer);
    start(&next, 30000, "STRLEN test:large");
    assert_answer(&next, REDIS_IS_OK, "33554432");
    assert_answer(&answer, REDIS_IS_OK, "OK");
    ask_redis("DEL test:large", REDIS_IS_OK, "1");
    free(large);
}

static void test_commands_are_answered_in_the_order_of_their_start(void **state) {
    static struct answer many[1000];
    char words[64];

    proxy = fault_proxy_open_url(&loop, redis_url());
    fault_proxy_listen(proxy);
    open_redis_at(proxy->url); /* the first commands wait for the connection */
    answers = 0;
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(words, sizeof words, "ECHO %d", i);
        start(&many[i], 5000, words);
        if (i % 100 == 99)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    WAIT_FOR(&loop, answers == 1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(many[i].nth, i + 1);
        assert_int_equal(atoi(many[i].text), i);
    }
    assert_int_equal(proxy->clients, 1);
}

static void test_an_error_reply_is_a_rejection_with_its_text(void **state) {
    struct answer wrong, right;

    start(&wrong, 5000, "NOSUCHCOMMAND");
    start(&right, 5000, "ECHO fine");
    assert_answer(&wrong, REDIS_IS_REJECTED, NULL);
    assert_non_null(strstr(wrong.text, "unknown command"));
    assert_answer(&right, REDIS_IS_OK, "fine");
}

static void test_a_late_reply_goes_to_no_later_command(void **state) {
    struct answer late, next;
    int64_t id = connection_id();

    start(&late, 50, "BLPOP test:late 60");
    start(&next, 10000, "ECHO next");
    assert_answer(&late, REDIS_IS_UNKNOWN, "no answer in time");
    assert_int_equal(next.times, 0);
    ORDER("RPUSH test:late x");
    assert_answer(&next, REDIS_IS_OK, "next");
    assert_int_equal(late.times, 1);
    assert_int_equal(connection_id(), id);
}

static void test_deadlines_count_one_by_one(void **state) {
    struct answer block, first, second, third;

    answers = 0;
    start(&block, 10000, "BLPOP test:late 60");
    start(&third, 150, "ECHO 3");
    start(&first, 50, "ECHO 1");
    start(&second, 100, "ECHO 2");
    assert_answer(&third, REDIS_IS_UNKNOWN, NULL);
    assert_int_equal(first.nth, 1);
    assert_int_equal(second.nth, 2);
    assert_int_equal(third.nth, 3);
    ORDER("RPUSH test:late x");
    assert_answer(&block, REDIS_IS_OK, NULL);
}

static void test_the_database_of_the_url_is_selected(void **state) {
    struct answer answer;
    char url[128];

    (void)snprintf(url, sizeof url, "redis://%s%s%s%s:%d/3", server.password != NULL ? ":" : "",
                   server.password != NULL ? server.password : "",
                   server.password != NULL ? "@" : "", server.host, server.port);
    open_redis_at(url);
    start(&answer, 5000, "CLIENT INFO");
    assert_answer(&answer, REDIS_IS_OK, NULL);
    assert_non_null(strstr(answer.text, " db=3 "));
}

static void test_commands_beyond_the_bound_are_not_sent(void **state) {
    struct redis_options options = {.url = redis_url(), .pending = 2};
    struct answer first, second;

    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    start(&first, 5000, "ECHO 1");
    start(&second, 5000, "ECHO 2");
    ask_redis("ECHO 3", REDIS_IS_NOT_SENT, "too many commands wait for an answer");
    assert_answer(&first, REDIS_IS_OK, "1");
    assert_answer(&second, REDIS_IS_OK, "2");
    ask_redis("ECHO 3", REDIS_IS_OK, "3");
}

static void test_a_command_that_cannot_start_ends_later(void **state) {
    struct answer none, past;

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

    start(&pending, 5000, "ECHO 1");
    WAIT_FOR(&loop, pending.times == 1);
    memset(&closer, 0, sizeof closer);
    closer.call = (struct redis_call){.argc = 1, .argv = {"PING"}, .data = &closer};
    closer.call.deadline_ms = clock_now_ms() + 5000;
    redis_call_start(redis, &closer.call, on_answer_close);
    start(&pending, 5000, "BLPOP test:nothing 5");
    WAIT_FOR(&loop, closer.times == 1);
    start(&after, 5000, "ECHO 1");
    WAIT_FOR(&loop, is_closed);
    assert_int_equal(pending.status, REDIS_IS_UNKNOWN);
    assert_int_equal(after.status, REDIS_IS_NOT_SENT);
    assert_string_equal(after.text, "closing");
    redis = NULL;
}

struct awaits {
    enum redis_status status[3];
    bool is_done;
};

static void awaits(void *arg) {
    static const char *const words[2][2] = {{"ECHO", "me"}, {"INCR", NULL}};
    struct awaits *waiting = arg;
    struct redis_call late = {.argc = 1, .argv = {"PING"}};

    for (int i = 0; i < 2; i++) {
        struct redis_call call = {.argc = 2 - i, .argv = {words[i][0], words[i][1]}};

        call.deadline_ms = clock_now_ms() + 5000;
        waiting->status[i] = redis_call_await(redis, &call);
    }
    waiting->status[2] = redis_call_await(redis, &late);
    waiting->is_done = true;
}

static void test_a_fiber_waits_for_its_reply(void **state) {
    struct awaits waiting = {.is_done = false};

    assert_int_equal(fiber_start(awaits, &waiting), 0);
    WAIT_FOR(&loop, waiting.is_done);
    assert_int_equal(waiting.status[0], REDIS_IS_OK);
    assert_int_equal(waiting.status[1], REDIS_IS_REJECTED);
    assert_int_equal(waiting.status[2], REDIS_IS_NOT_SENT);
    fiber_cleanup();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_OPEN(test_a_command_comes_back_with_its_reply),
        TEST_OPEN(test_arguments_may_hold_any_byte_but_nul),
        TEST(test_a_command_may_be_larger_than_the_socket_takes),
        TEST(test_commands_are_answered_in_the_order_of_their_start),
        TEST_OPEN(test_an_error_reply_is_a_rejection_with_its_text),
        TEST_OPEN(test_a_late_reply_goes_to_no_later_command),
        TEST_OPEN(test_deadlines_count_one_by_one),
        TEST(test_the_database_of_the_url_is_selected),
        TEST(test_commands_beyond_the_bound_are_not_sent),
        TEST_OPEN(test_a_command_that_cannot_start_ends_later),
        TEST_OPEN(test_a_client_can_be_closed_in_a_callback),
        TEST_OPEN(test_a_fiber_waits_for_its_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
