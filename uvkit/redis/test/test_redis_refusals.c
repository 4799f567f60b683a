/* What a Redis server says instead of doing as told: a replica, rights that are missing, a
 * password.
 */
#include "own_redis.h"
#include "redis_answer.h"
#include "said.h"

#include "log.h"

#include <signal.h>

static struct own_redis own;

static int set_up(void **state) {
    own_redis_start(&own);
    log_init("test", LOG_INFO);
    said_start();
    return redis_set_up(state);
}

static int tear_down(void **state) {
    int status = redis_tear_down(state);

    said_stop();
    own_redis_stop(&own);
    return status;
}

/* A master that became a replica: the next connection may find the one that took over. All that was
 * sent is answered first. */
static void test_a_read_only_server_is_connected_to_again(void **state) {
    static const char *const writes[] = {"SET key value", "EVAL return(redis.call('DEL','key')) 0"};
    struct answer answers_to[4];
    int64_t id;

    (void)state;
    open_redis_at(own.url);
    own_redis_do(&own, "REPLICAOF 127.0.0.1 1");
    for (size_t i = 0; i < 2; i++) {
        id = connection_id();
        for (size_t j = 0; j < 4; j++)
            start(&answers_to[j], 10000, writes[i]);
        for (size_t j = 0; j < 4; j++) {
            assert_answer(&answers_to[j], REDIS_IS_REJECTED, NULL);
            assert_non_null(strstr(answers_to[j].text, "READONLY"));
        }
        assert_int_not_equal(connection_id(), id);
    }
    own_redis_do(&own, "REPLICAOF NO ONE");
    start(&answers_to[0], 10000, writes[0]);
    assert_answer(&answers_to[0], REDIS_IS_OK, "OK");
}

static void test_what_the_server_repeats_of_a_command_is_cut(void **state) {
    struct answer answer;

    (void)state;
    open_redis_at(own.url);
    start(&answer, 10000, "NOSUCHTHING secret");
    assert_answer(&answer, REDIS_IS_REJECTED, "ERR unknown command 'NOSUCHTHING'");
}

static int messages;

static void on_message(struct redis_subscription *subscription, const char *message) {
    (void)subscription;
    assert_null(message);
    messages++;
}

static void test_a_subscription_that_is_refused_is_left_for_a_while(void **state) {
    struct redis_subscription subscription = {.channel = "news", .on_message = on_message};
    struct redis_connection *connection;
    struct answer answer;

    (void)state;
    own_redis_do(&own, "ACL SETUSER default resetchannels");
    open_redis_at(own.url);
    connection = &redis->subscriptions.connection;
    assert_int_equal(redis_subscribe(redis, &subscription), 0);
    for (int i = 0; i < 3; i++) { /* each of them told to, at once */
        WAIT_FOR(&loop, said("NOPERM") > 0 && connection->watcher == NULL);
        assert_true(uv_timer_get_due_in(&connection->timer) > 10000);
        start(&answer, 10000, "ECHO me");
        assert_answer(&answer, REDIS_IS_OK, "me");
        assert_int_equal(said("redis refuses subscriptions"), 1);
        assert_int_equal(said("is up") + said("is down"), 0);
        connection->timer.timer_cb(&connection->timer);
        assert_non_null(connection->watcher);
    }
    own_redis_do(&own, "ACL SETUSER default allchannels");
    WAIT_FOR(&loop, connection->watcher == NULL || messages > 0);
    if (messages == 0)
        connection->timer.timer_cb(&connection->timer);
    WAIT_FOR(&loop, messages == 1);
    redis_unsubscribe(redis, &subscription);
}

static void test_another_reason_to_be_down_is_told_too(void **state) {
    struct redis_options options = {.url = own.url, .connect_timeout_ms = 50};

    (void)state;
    own_redis_do(&own, "CONFIG SET requirepass secret");
    (void)kill(own.pid, SIGSTOP);
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    WAIT_FOR(&loop, said("no greeting in time") == 1);
    redis->connection.telling = (struct log_limit){0}; /* as if time had passed */
    (void)kill(own.pid, SIGCONT);
    WAIT_FOR(&loop, said("NOAUTH") == 1);
    assert_int_equal(said("redis is down"), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_read_only_server_is_connected_to_again),
        TEST(test_what_the_server_repeats_of_a_command_is_cut),
        TEST(test_a_subscription_that_is_refused_is_left_for_a_while),
        TEST(test_another_reason_to_be_down_is_told_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
