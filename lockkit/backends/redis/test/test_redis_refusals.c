/* A Redis server that refuses, or loses what it was given: said in the log, and harmless where it
 * can be. */
#include "fixture.h"
#include "own_redis.h"
#include "said.h"

#include "log.h"

static struct own_redis own;
static struct fixture fixture;

static int set_up(void **state) {
    own_redis_start(&own);
    log_init("test", LOG_INFO);
    said_start();
    fixture_init(&fixture);
    return 0;
}

static int tear_down(void **state) {
    fixture_end(&fixture);
    said_stop();
    own_redis_stop(&own);
    return 0;
}

static void open_here(void) {
    fixture.client = open_client(&fixture, own.url);
    fixture.lock = open_lock(&fixture, fixture.client, 5000);
}

/* The server's refusal of a script that asks for the time, without what it says of the script. */
static void ask_for_words(char *words, size_t size) {
    redisReply *reply = redisCommand(own.admin, "EVAL %s 0", "return redis.call('TIME')");

    (void)snprintf(words, size, "%s", reply->str != NULL ? reply->str : "");
    if (strstr(words, " script: ") != NULL)
        *strstr(words, " script: ") = '\0';
    freeReplyObject(reply);
}

static void test_a_refusal_is_told_in_the_servers_words_once(void **state) {
    static struct {
        const char *refuse[4], *allow[4];
        const char *word; /* NULL: no version has those of another */
    } cases[] = {
        {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}, "OOM"},
        {{"ACL", "SETUSER", "default", "-time"}, {"ACL", "SETUSER", "default", "+time"}, NULL},
        {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}, "READONLY"}};
    struct caller caller;
    char words[128];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int before = said("redis refuses a lock command");

        open_here();
        assert_int_equal(take(&fixture, &caller, fixture.lock, 5000), LK_OK); /* has the script */
        assert_int_equal(give(&fixture, &caller), LK_OK);
        freeReplyObject(
            redisCommandArgv(own.admin, cases[i].refuse[3] != NULL ? 4 : 3, cases[i].refuse, NULL));
        for (int attempt = 0; attempt < 3; attempt++)
            assert_int_equal(take(&fixture, &caller, fixture.lock, LK_TRY), LK_REFUSED);
        assert_int_equal(said("redis refuses a lock command") - before, 1);
        ask_for_words(words, sizeof words);
        assert_true(said(cases[i].word ? cases[i].word : words) > 0);
        freeReplyObject(
            redisCommandArgv(own.admin, cases[i].allow[3] != NULL ? 4 : 3, cases[i].allow, NULL));
        close_client(&fixture, fixture.client);
    }
    open_here();
}

/* The channel is denied, and waiters poll. */
static void test_without_the_right_to_subscribe_waiters_poll(void **state) {
    struct caller holder, waiter;
    struct lk_counters counters = {.size = sizeof counters};
    lk_client *other;

    own_redis_do(&own, "ACL SETUSER default resetchannels");
    open_here();
    other = open_client(&fixture, own.url);
    assert_int_equal(take(&fixture, &holder, open_lock(&fixture, other, 5000), LK_TRY), LK_OK);
    start(&waiter, fixture.lock, LK_FOREVER);
    WAIT_FOR(&fixture.loop, said("redis refuses subscriptions") == 1);
    assert_int_equal(give(&fixture, &holder), LK_OK);
    WAIT_FOR(&fixture.loop, waiter.calls == 1);
    lk_client_counters(fixture.client, &counters);
    assert_true(counters.polls > 0);
    assert_int_equal(give(&fixture, &waiter), LK_OK);
    close_client(&fixture, other);
}

/* Also: what was sent before is answered. */
static void assert_free(void) {
    struct caller caller;

    assert_int_equal(take(&fixture, &caller, fixture.lock, 10000), LK_OK);
    assert_int_equal(give(&fixture, &caller), LK_OK);
}

static void test_a_server_that_may_evict_is_told_once(void **state) {
    own_redis_do(&own, "CONFIG SET maxmemory 100mb");
    open_here();
    assert_free();
    assert_int_equal(said("may evict"), 0);
    own_redis_do(&own, "CONFIG SET maxmemory-policy volatile-lru");
    for (int i = 0; i < 3; i++) {
        own_redis_do(&own, "CLIENT KILL TYPE normal SKIPME yes");
        assert_free();
        assert_int_equal(said("may evict"), 1);
    }
    assert_int_equal(said("maxmemory_policy=volatile-lru"), 1);
}

static void test_fence_rises_when_all_keys_are_lost(void **state) {
    struct caller caller;
    uint64_t last = 0;

    open_here();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(take(&fixture, &caller, fixture.lock, 5000), LK_OK);
        assert_true(lk_lease_fence(caller.lease) > last);
        last = lk_lease_fence(caller.lease);
        if (i % 2)
            own_redis_do(&own, "FLUSHALL");
        lk_release(caller.lease, NULL, NULL);
    }
}

static uint64_t fence_of_a_grant(void) {
    struct caller caller;
    uint64_t fence;

    assert_int_equal(take(&fixture, &caller, fixture.lock, 5000), LK_OK);
    fence = lk_lease_fence(caller.lease);
    assert_int_equal(give(&fixture, &caller), LK_OK);
    return fence;
}

/* The counter of a replica that was promoted before it had received the last grants. */
static void test_fence_rises_when_the_counter_lags(void **state) {
    uint64_t last = 0, counter;

    open_here();
    counter = fence_of_a_grant();
    for (int i = 0; i < 5; i++)
        last = fence_of_a_grant();
    assert_true(last > counter);
    close_client(&fixture, fixture.client); /* whoever comes next has seen nothing */
    own_redis_do(&own, "SET lk:{%s}:fence %llu", fixture.name, (unsigned long long)counter);
    open_here();
    assert_true(fence_of_a_grant() > last);
}

/* As if the clock had been an hour ahead, and were set back before the keys were lost. */
static void test_fence_rises_above_what_was_seen_when_the_clock_is_set_back_too(void **state) {
    struct caller caller;
    uint64_t ahead, last;

    open_here();
    ahead = fence_of_a_grant() + 3600000000U;
    own_redis_do(&own, "SET lk:{%s}:fence %llu", fixture.name, (unsigned long long)ahead);
    last = fence_of_a_grant();
    assert_true(last > ahead);
    own_redis_do(&own, "FLUSHALL");
    assert_true(fence_of_a_grant() > last);
    /* Another client has not seen it, but the resource has, and tells. */
    close_client(&fixture, fixture.client);
    own_redis_do(&own, "FLUSHALL");
    open_here();
    assert_int_equal(take(&fixture, &caller, fixture.lock, 5000), LK_OK);
    assert_true(lk_lease_fence(caller.lease) < last);
    lk_lease_saw_fence(caller.lease, last);
    assert_int_equal(give(&fixture, &caller), LK_OK);
    assert_true(fence_of_a_grant() > last);
}

/* What would not count exactly, and what is none, grants nothing. */
static void test_a_counter_that_cannot_rise_grants_nothing(void **state) {
    static const char *const counters[] = {"9007199254740991", "9223372036854775807", "many", "-x"};
    struct caller caller;

    open_here();
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        own_redis_do(&own, "SET lk:{%s}:fence %s", fixture.name, counters[i]);
        assert_int_equal(take(&fixture, &caller, fixture.lock, LK_TRY), LK_REFUSED);
    }
    own_redis_do(&own, "FLUSHALL");
    assert_true(fence_of_a_grant() > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_a_refusal_is_told_in_the_servers_words_once),
        TEST(test_without_the_right_to_subscribe_waiters_poll),
        TEST(test_a_server_that_may_evict_is_told_once),
        TEST(test_fence_rises_when_all_keys_are_lost),
        TEST(test_fence_rises_when_the_counter_lags),
        TEST(test_fence_rises_above_what_was_seen_when_the_clock_is_set_back_too),
        TEST(test_a_counter_that_cannot_rise_grants_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
