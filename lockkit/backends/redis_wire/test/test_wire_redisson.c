/* redis+redisson: against its layout, with the commands that Redisson's own scripts run on a lock,
 * and a subscriber to its channel. */
#include "fault_proxy.h"
#include "fixture.h"
#include "own_redis.h"

#define THEM "b983c153-7421-469a-addb-44fb92259a1b:1" /* a thread of theirs */

static struct {
    struct fixture fixture;
    struct own_redis own;
    redisContext *subscriber;
} t;

/* A command with the lock's name as its key. Returns the integer, or the string as a number, or -1.
 */
static long long ask(const char *command, const char *more) {
    char words[256];
    redisReply *reply;
    long long answer = -1;

    (void)snprintf(words, sizeof words, "%s %s %s", command, t.fixture.name, more);
    reply = redisCommand(t.own.admin, words);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", words, reply->str);
    if (reply->type == REDIS_REPLY_INTEGER)
        answer = reply->integer;
    if (reply->type == REDIS_REPLY_STRING)
        answer = strtoll(reply->str, NULL, 10);
    freeReplyObject(reply);
    return answer;
}

/* They take it, or take it again. */
static void they_take(const char *ttl_ms) {
    (void)ask("HINCRBY", THEM " 1");
    assert_int_equal(ask("PEXPIRE", ttl_ms), 1);
}

static void publish(void) {
    freeReplyObject(
        redisCommand(t.own.admin, "PUBLISH redisson_lock__channel:{%s} 0", t.fixture.name));
}

/* They give it back as often as they took it, and publish that. */
static void they_give(void) {
    if (ask("HINCRBY", THEM " -1") > 0)
        return;
    assert_int_equal(ask("DEL", ""), 1);
    publish();
}

/* They listen like a waiter. */
static void they_listen(void) {
    t.subscriber = redisConnect("127.0.0.1", t.own.port);
    assert_non_null(t.subscriber);
    (void)redisSetTimeout(t.subscriber, (struct timeval){.tv_sec = 10});
    freeReplyObject(
        redisCommand(t.subscriber, "SUBSCRIBE redisson_lock__channel:{%s}", t.fixture.name));
}

static void assert_they_hear(void) {
    redisReply *reply = NULL;

    assert_int_equal(redisGetReply(t.subscriber, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->elements, 3);
    assert_string_equal(reply->element[2]->str, "0");
    freeReplyObject(reply);
}

static int set_up(void **state) {
    char url[128];

    own_redis_start(&t.own);
    (void)snprintf(url, sizeof url, "redis+redisson://127.0.0.1:%d", t.own.port);
    fixture_init(&t.fixture);
    t.fixture.client = open_client(&t.fixture, url);
    /* Only an event or the end of a TTL makes a waiter ask again. */
    t.fixture.lock = open_lock_as(&t.fixture, t.fixture.client,
                                  (struct lk_lock_options){.ttl_ms = 5000, .poll_ms = 600000});
    t.subscriber = NULL;
    return 0;
}

static int tear_down(void **state) {
    assert_int_equal(ask("EXISTS", ""), 0);
    if (t.subscriber != NULL)
        redisFree(t.subscriber);
    fixture_end(&t.fixture);
    own_redis_stop(&t.own);
    return 0;
}

static void test_ours_looks_like_theirs(void **state) {
    struct caller caller;
    redisReply *reply;

    obtain(&t.fixture, &caller, t.fixture.lock, LK_TRY);
    reply = redisCommand(t.own.admin, "HGETALL %s", t.fixture.name);
    assert_int_equal(reply->elements, 2);
    assert_int_equal(reply->element[0]->str[8], '-');
    assert_non_null(strchr(reply->element[0]->str, ':'));
    assert_string_equal(reply->element[1]->str, "1");
    freeReplyObject(reply);
    assert_int_equal(ask("HEXISTS", THEM), 0);
    assert_true(ask("PTTL", "") > 0);
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
}

static void test_their_message_wakes_us(void **state) {
    struct caller caller;

    they_take("30000");
    they_take("30000");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_BUSY);
    start(&caller, t.fixture.lock, LK_FOREVER);
    WAIT_FOR(&t.fixture.loop,
             own_redis_do(&t.own, "PUBLISH redisson_lock__channel:{%s} 0", t.fixture.name) == 1);
    they_give();
    assert_int_equal(caller.calls, 0);
    they_give();
    await_and_give(&t.fixture, &caller);
}

static void test_our_message_wakes_them(void **state) {
    they_listen();
    use_once(&t.fixture, t.fixture.lock, LK_TRY);
    assert_they_hear();
    assert_int_equal(ask("EXISTS", ""), 0);
}

static void test_their_end_of_ttl_is_awaited(void **state) {
    struct caller caller;

    they_take("300");
    obtain(&t.fixture, &caller, t.fixture.lock, 10000);
    assert_int_equal(ask("HEXISTS", THEM), 0);
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
}

/* Our lock has ended under us. */
static void test_what_we_have_lost_stays_theirs(void **state) {
    struct caller caller;

    obtain(&t.fixture, &caller, t.fixture.lock, LK_TRY);
    assert_int_equal(ask("DEL", ""), 1);
    they_take("30000");
    assert_int_equal(give(&t.fixture, &caller), LK_LOST);
    assert_int_equal(ask("HGET", THEM), 1);
    they_give();
}

static void test_theirs_is_shown_and_broken(void **state) {
    struct inspected seen;

    they_take("30000");
    they_listen();
    seen = inspect_lock(&t.fixture, t.fixture.lock);
    assert_int_equal(seen.status, LK_OK);
    assert_int_equal(seen.holders, 1);
    assert_string_equal(seen.owner, THEM);
    assert_string_equal(seen.label, "");
    assert_int_equal(seen.fence, 0);
    assert_int_equal(break_lock(&t.fixture, t.fixture.lock, "somebody else"), LK_LOST);
    assert_int_equal(ask("HGET", THEM), 1);
    assert_int_equal(break_lock(&t.fixture, t.fixture.lock, THEM), LK_OK);
    assert_they_hear();
}

static void test_a_key_of_another_kind_is_left_alone(void **state) {
    struct caller caller;

    (void)ask("SET", "precious");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_REFUSED);
    assert_int_equal(ask("STRLEN", ""), strlen("precious"));
    (void)ask("DEL", "");
}

/* A lock without a TTL would stay for ever. */
static void test_without_the_right_to_a_ttl_there_is_no_lock(void **state) {
    struct caller caller;

    own_redis_do(&t.own, "ACL SETUSER default -pexpire");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_REFUSED);
    assert_int_equal(ask("EXISTS", ""), 0);
}

/* The same token asks again: it finds its lock, which does not count as taken twice. */
static void test_a_grant_whose_reply_was_lost_is_found_again(void **state) {
    struct fault_proxy *proxy = fault_proxy_open_url(&t.fixture.loop, t.own.url);
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 2000};
    struct caller caller;
    char url[600], field[64];
    lk_client *client;
    redisReply *reply;

    fault_proxy_listen(proxy);
    (void)snprintf(url, sizeof url, "redis+redisson:%s", proxy->url);
    assert_int_equal(lk_client_open(&client, &t.fixture.loop, url, &options), LK_OK);
    use_once(&t.fixture, open_lock(&t.fixture, client, 5000), LK_TRY);
    fault_proxy_set(proxy, PROXY_HOLDS_REPLIES);
    start(&caller, open_lock(&t.fixture, client, 5000), LK_FOREVER);
    WAIT_FOR(&t.fixture.loop, ask("EXISTS", "") == 1);
    reply = redisCommand(t.own.admin, "HKEYS %s", t.fixture.name);
    (void)snprintf(field, sizeof field, "%s", reply->element[0]->str);
    freeReplyObject(reply);
    fault_proxy_cut(proxy);
    fault_proxy_set(proxy, PROXY_PASSES);
    WAIT_FOR(&t.fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_OK);
    assert_int_equal(ask("HGET", field), 1);
    assert_int_equal(ask("HLEN", ""), 1);
    assert_true(lk_lease_fence(caller.lease) > 0);
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
    close_client(&t.fixture, client);
    fault_proxy_close(proxy);
}

static void test_a_parameter_that_would_not_be_kept_is_refused(void **state) {
    static const char *const urls[] = {"redis+redisson://h?wait=1",
                                       "redis+string://h/0?db=1&wait=1", "redis+string:h",
                                       "redis+string:"};
    lk_client *client;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_int_equal(lk_client_open(&client, &t.fixture.loop, urls[i], NULL), LK_INVALID);
}

/* Each spelling of a server may stand behind the layout. */
static void test_a_socket_leads_to_the_same_lock(void **state) {
    struct caller caller, other;
    lk_client *client;
    char url[128];

    (void)snprintf(url, sizeof url, "redis+redisson:unix://%s?db=0", t.own.socket);
    client = t.fixture.other = open_client(&t.fixture, url);
    obtain(&t.fixture, &caller, open_lock(&t.fixture, client, 5000), LK_TRY);
    assert_int_equal(take(&t.fixture, &other, t.fixture.lock, LK_TRY), LK_BUSY);
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_ours_looks_like_theirs),
        TEST(test_their_message_wakes_us),
        TEST(test_our_message_wakes_them),
        TEST(test_their_end_of_ttl_is_awaited),
        TEST(test_what_we_have_lost_stays_theirs),
        TEST(test_theirs_is_shown_and_broken),
        TEST(test_a_key_of_another_kind_is_left_alone),
        TEST(test_a_grant_whose_reply_was_lost_is_found_again),
        TEST(test_a_parameter_that_would_not_be_kept_is_refused),
        TEST(test_a_socket_leads_to_the_same_lock),
        TEST(test_without_the_right_to_a_ttl_there_is_no_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
