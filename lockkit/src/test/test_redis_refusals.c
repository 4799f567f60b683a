/* A Redis server that refuses, or loses what it was given: said in the log, and harmless where it
 * can be. */
#include "fixture.h"
#include "own_redis.h"
#include "said.h"

#include "log.h"

static struct own_redis own;
static struct fixture fixture;

static int set_up(void **state) {
    (void)state;
    own_redis_start(&own);
    log_init("test", LOG_INFO);
    said_start();
    fixture_init(&fixture);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fixture_end(&fixture);
    said_stop();
    own_redis_stop(&own);
    return 0;
}

static void open_here(void) {
    fixture.client = open_client(&fixture, own.url);
    fixture.lock = open_lock(&fixture, fixture.client, 5000);
}

static void test_a_refusal_is_told_in_the_servers_words_once(void **state) {
    static struct {
        const char *refuse[4], *allow[4];
        const char *word;
    } cases[] = {{{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}, "OOM"},
                 {{"ACL", "SETUSER", "default", "-incr"},
                  {"ACL", "SETUSER", "default", "+incr"},
                  "can't run"},
                 {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}, "READONLY"}};
    struct caller caller;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int before = said("redis refuses a lock command");

        open_here();
        assert_int_equal(take(&fixture, &caller, fixture.lock, 5000), LK_OK); /* has the script */
        assert_int_equal(give(&fixture, &caller), LK_OK);
        freeReplyObject(
            redisCommandArgv(own.admin, cases[i].refuse[3] ? 4 : 3, cases[i].refuse, NULL));
        for (int attempt = 0; attempt < 3; attempt++)
            assert_int_equal(take(&fixture, &caller, fixture.lock, LK_TRY), LK_REFUSED);
        assert_int_equal(said("redis refuses a lock command") - before, 1);
        assert_true(said(cases[i].word) > 0);
        freeReplyObject(
            redisCommandArgv(own.admin, cases[i].allow[3] ? 4 : 3, cases[i].allow, NULL));
        close_client(&fixture, fixture.client);
    }
    open_here();
}

/* The channel is denied, and waiters poll. */
static void test_without_the_right_to_subscribe_waiters_poll(void **state) {
    struct caller holder, waiter;
    struct lk_counters counters;
    lk_client *other;

    (void)state;
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
    (void)state;
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

    (void)state;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_a_refusal_is_told_in_the_servers_words_once),
        TEST(test_without_the_right_to_subscribe_waiters_poll),
        TEST(test_a_server_that_may_evict_is_told_once),
        TEST(test_fence_rises_when_all_keys_are_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
