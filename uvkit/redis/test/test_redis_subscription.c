/* Redis subscriptions: each is told when it takes effect, several share a channel, and they survive
 * a broken connection. */
#include "fault.h"
#include "redis_fixture.h"

struct listener {
    struct redis_subscription subscription;
    int begun;    /* times that it was told that it is effective */
    int messages; /* since then */
    char last[64];
    /* Its reaction to a message. */
    struct listener *drops;
    struct listener *joins;
    bool closes;
};

static char channel[64], other_channel[64];

static void listen_to(struct listener *listener, const char *name);

static void on_message(struct redis_subscription *subscription, const char *message) {
    struct listener *listener = subscription->data;

    if (message == NULL) {
        listener->begun++;
        return;
    }
    assert_true(listener->begun > 0);
    listener->messages++;
    (void)snprintf(listener->last, sizeof listener->last, "%s", message);
    if (listener->drops != NULL)
        redis_unsubscribe(redis, &listener->drops->subscription);
    if (listener->joins != NULL)
        listen_to(listener->joins, channel);
    if (listener->closes)
        redis_close(redis, on_closed, NULL);
}

static void listen_to(struct listener *listener, const char *name) {
    int begun = listener->begun;

    listener->subscription.channel = name;
    listener->subscription.on_message = on_message;
    listener->subscription.data = listener;
    assert_int_equal(redis_subscribe(redis, &listener->subscription), 0);
    assert_int_equal(listener->begun, begun);
}

/* Subscribe, and wait until that is effective. */
static void begin_to_listen(struct listener *listener, const char *name) {
    int begun = listener->begun;

    listen_to(listener, name);
    WAIT_FOR(&loop, listener->begun == begun + 1);
}

/* The number of connections to which the server passes it on. */
static long long publish(const char *name, const char *message) {
    redisReply *reply = order("PUBLISH %s %s", name, message);
    long long receivers = reply->integer;

    freeReplyObject(reply);
    return receivers;
}

static long long subscribed(void) {
    redisReply *reply = order("PUBSUB NUMSUB %s", channel);
    long long count = reply->element[1]->integer;

    freeReplyObject(reply);
    return count;
}

static void test_all_subscribers_of_a_channel_share_one_subscription(void **state) {
    struct listener a = {.begun = 0}, b = {.begun = 0}, elsewhere = {.begun = 0};

    listen_to(&a, channel);
    listen_to(&b, channel);
    listen_to(&elsewhere, other_channel);
    WAIT_FOR(&loop, a.begun == 1 && b.begun == 1 && elsewhere.begun == 1);
    assert_int_equal(publish(channel, "hello there"), 1);
    WAIT_FOR(&loop, a.messages == 1 && b.messages == 1);
    assert_string_equal(a.last, "hello there");
    redis_unsubscribe(redis, &a.subscription);
    assert_int_equal(publish(channel, "b only"), 1);
    WAIT_FOR(&loop, b.messages == 2);
    assert_int_equal(a.messages, 1);
    redis_unsubscribe(redis, &b.subscription);
    WAIT_FOR(&loop, subscribed() == 0);
    assert_int_equal(publish(other_channel, "x"), 1);
    WAIT_FOR(&loop, elsewhere.messages == 1);
    redis_unsubscribe(redis, &elsewhere.subscription);
}

static void test_one_that_comes_later_is_told_that_it_is_effective(void **state) {
    struct listener a = {.begun = 0}, late = {.begun = 0}, gone = {.begun = 0};

    begin_to_listen(&a, channel);
    listen_to(&late, channel);
    listen_to(&gone, channel);
    redis_unsubscribe(redis, &gone.subscription);
    WAIT_FOR(&loop, late.begun == 1);
    publish(channel, "x");
    WAIT_FOR(&loop, a.messages == 1 && late.messages == 1);
    assert_int_equal(a.begun, 1);
    assert_int_equal(gone.begun, 0);
    close_redis();
}

static void test_a_broken_connection_is_subscribed_again_and_told(void **state) {
    struct listener a = {.begun = 0}, b = {.begun = 0}, elsewhere = {.begun = 0};

    listen_to(&a, channel);
    listen_to(&b, channel);
    listen_to(&elsewhere, other_channel);
    WAIT_FOR(&loop, a.begun == 1 && b.begun == 1 && elsewhere.begun == 1);
    for (int round = 2; round < 5; round++) {
        kill_clients("pubsub");
        WAIT_FOR(&loop, a.begun == round && b.begun == round && elsewhere.begun == round);
        assert_int_equal(publish(channel, "again"), 1);
        WAIT_FOR(&loop, a.messages == round - 1 && b.messages == round - 1);
    }
    assert_true(redis->connection.is_up);
    close_redis();
}

/* The next server may be another one, and the messages must come from the server of the commands.
 */
static void test_channels_are_of_the_server_that_takes_commands(void **state) {
    struct listener a = {.begun = 0};

    begin_to_listen(&a, channel);
    kill_clients("normal");
    WAIT_FOR(&loop, a.begun == 2 && redis->connection.is_up);
    assert_int_equal(publish(channel, "again"), 1);
    WAIT_FOR(&loop, a.messages == 1);
    close_redis();
}

static void test_one_that_left_while_down_is_not_subscribed_again(void **state) {
    struct listener a = {.begun = 0}, b = {.begun = 0};

    listen_to(&a, channel);
    listen_to(&b, other_channel);
    WAIT_FOR(&loop, a.begun == 1 && b.begun == 1);
    fault_proxy_cut(proxy);
    WAIT_FOR(&loop, !redis->connection.is_up);
    redis_unsubscribe(redis, &a.subscription);
    WAIT_FOR(&loop, b.begun == 2 && subscribed() == 0);
    redis_unsubscribe(redis, &b.subscription);
}

static void on_answer(struct redis_call *call, const redisReply *reply) {
    bool *is_answered = call->data;

    assert_null(reply);
    *is_answered = true;
}

static void test_a_server_that_falls_silent_is_subscribed_to_again(void **state) {
    struct listener a = {.begun = 0};
    bool is_answered = false;
    struct redis_call call = {.argc = 1, .argv = {"PING"}, .data = &is_answered};

    listen_to(&a, channel);
    WAIT_FOR(&loop, a.begun == 1 && redis->connection.is_up);
    fault_proxy_set(proxy, PROXY_HOLDS);
    call.deadline_ms = clock_now_ms() + 60000;
    redis_call_start(redis, &call, on_answer);
    WAIT_FOR(&loop, is_answered);
    fault_proxy_set(proxy, PROXY_PASSES);
    WAIT_FOR(&loop, a.begun == 2);
    redis_unsubscribe(redis, &a.subscription);
}

static void test_subscribers_may_leave_in_a_callback(void **state) {
    for (int victim = 0; victim < 3; victim++) {
        struct listener all[3] = {{.begun = 0}};

        open_redis();
        for (int i = 0; i < 3; i++)
            listen_to(&all[i], channel);
        WAIT_FOR(&loop, all[0].begun && all[1].begun && all[2].begun);
        all[1].drops = &all[victim];
        publish(channel, "x");
        WAIT_FOR(&loop, all[1].messages == 1 && (victim == 2 || all[2].messages == 1));
        all[1].drops = NULL;
        publish(channel, "y");
        WAIT_FOR(&loop, all[victim == 1 ? 2 : 1].messages == 2);
        for (int i = 0; i < 3; i++)
            assert_int_equal(all[i].messages, i != victim ? 2 : victim == 2 ? 0 : 1);
        close_redis();
    }
}

static void test_one_that_leaves_and_comes_back_in_a_callback_is_told_again(void **state) {
    struct listener a = {.begun = 0};

    begin_to_listen(&a, channel);
    a.drops = a.joins = &a;
    publish(channel, "x");
    WAIT_FOR(&loop, a.begun == 2);
    assert_int_equal(a.messages, 1);
    assert_int_equal(publish(channel, "x"), 1);
    WAIT_FOR(&loop, a.begun == 3);
    close_redis();
}

static void test_coming_back_while_leaving_ends_subscribed(void **state) {
    struct listener a = {.begun = 0};

    for (int round = 1; round <= 20; round++) {
        begin_to_listen(&a, channel);
        redis_unsubscribe(redis, &a.subscription);
        for (int flip = 0; flip < round % 4; flip++) {
            listen_to(&a, channel);
            (void)uv_run(&loop, UV_RUN_NOWAIT);
            redis_unsubscribe(redis, &a.subscription);
        }
        a.begun = round;
    }
    begin_to_listen(&a, channel);
    assert_int_equal(publish(channel, "x"), 1);
    WAIT_FOR(&loop, a.messages == 1);
    redis_unsubscribe(redis, &a.subscription);
    WAIT_FOR(&loop, subscribed() == 0);
}

static void test_a_client_can_be_closed_in_on_message(void **state) {
    struct listener a = {.begun = 0}, b = {.begun = 0};

    listen_to(&a, channel);
    listen_to(&b, channel);
    WAIT_FOR(&loop, a.begun == 1 && b.begun == 1);
    a.closes = true;
    publish(channel, "x");
    WAIT_FOR(&loop, a.messages == 1);
    assert_int_equal(b.messages, 0);
    assert_int_equal(redis_subscribe(redis, &a.subscription), UV_ECANCELED);
    redis_unsubscribe(redis, &a.subscription);
    redis_unsubscribe(redis, &b.subscription);
    WAIT_FOR(&loop, is_closed);
    redis = NULL;
}

static void test_close_works_at_every_stage_of_a_subscription(void **state) {
    for (int stage = 0; stage < 40; stage++) {
        struct listener a = {.begun = 0}, b = {.begun = 0};

        open_redis_at(stage % 4 == 3 ? "redis://127.0.0.1:1" : redis_url());
        listen_to(&a, channel);
        for (int turn = 0; turn < stage; turn++)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
        listen_to(&b, channel);
        if (stage % 2 == 0)
            redis_unsubscribe(redis, &a.subscription);
        close_redis();
    }
}

static void use_all(void *arg) {
    struct listener a = {.subscription = {.channel = channel, .on_message = on_message}};
    int status;

    if (!redis_opens())
        return;
    a.subscription.data = &a;
    status = redis_subscribe(redis, &a.subscription);
    if (status == 0)
        WAIT_FOR(&loop, a.begun == 1);
    else
        assert_int_equal(status, UV_ENOMEM);
    close_redis();
}

static void test_a_failed_allocation_is_survived(void **state) {
    fault_each_allocation(use_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST_OPEN(test_all_subscribers_of_a_channel_share_one_subscription),
        TEST_OPEN(test_one_that_comes_later_is_told_that_it_is_effective),
        TEST_OPEN(test_a_broken_connection_is_subscribed_again_and_told),
        TEST_OPEN(test_channels_are_of_the_server_that_takes_commands),
        TEST_FAR(test_one_that_left_while_down_is_not_subscribed_again),
        TEST_FAR(test_a_server_that_falls_silent_is_subscribed_to_again),
        TEST(test_subscribers_may_leave_in_a_callback),
        TEST_OPEN(test_one_that_leaves_and_comes_back_in_a_callback_is_told_again),
        TEST_OPEN(test_coming_back_while_leaving_ends_subscribed),
        TEST_OPEN(test_a_client_can_be_closed_in_on_message),
        TEST(test_close_works_at_every_stage_of_a_subscription),
        TEST(test_a_failed_allocation_is_survived),
    };

    (void)snprintf(channel, sizeof channel, "test:channel:%ld", (long)getpid());
    (void)snprintf(other_channel, sizeof other_channel, "test:other:%ld", (long)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
