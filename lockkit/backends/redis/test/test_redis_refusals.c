/* A Redis server that refuses, is full, or loses its data: the log says so, and it does no harm
 * where it can be avoided. */
#include "fixture.h"
#include "own_redis.h"
#include "said.h"

#include "log.h"

#define TTL_MS       5000
#define RENEWALS     4 /* each renewal at a third of the TTL: past the first TTL */
#define CLIENTS_MOST 32

static struct own_redis own;
static struct fixture fixture;
static lk_client *clients[CLIENTS_MOST];
static size_t client_count;

static int set_up(void **state) {
    own_redis_start(&own);
    log_init("test", LOG_INFO);
    said_start();
    fixture_init(&fixture);
    client_count = 0;
    return 0;
}

static int tear_down(void **state) {
    while (client_count > 0)
        close_client(&fixture, clients[--client_count]);
    fixture_end(&fixture);
    said_stop();
    own_redis_stop(&own);
    return 0;
}

static void open_here(void) {
    fixture.client = open_client(&fixture, own.url);
    fixture.lock = open_lock(&fixture, fixture.client, 5000);
}

/* The server's refusal of a script that asks for the time, without its words about the script. */
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
        const char *word; /* NULL: only this version has these words */
    } cases[] = {
        {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}, "OOM"},
        {{"ACL", "SETUSER", "default", "-time"}, {"ACL", "SETUSER", "default", "+time"}, NULL},
        {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}, "READONLY"}};
    struct caller caller;
    char words[128];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int before = said("redis refuses a lock command");

        open_here();
        use_once(&fixture, fixture.lock, 5000); /* it has the script */
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
    other = fixture.other = open_client(&fixture, own.url);
    obtain(&fixture, &holder, open_lock(&fixture, other, 5000), LK_TRY);
    start(&waiter, fixture.lock, LK_FOREVER);
    WAIT_FOR(&fixture.loop, said("redis refuses subscriptions") == 1);
    assert_int_equal(give(&fixture, &holder), LK_OK);
    WAIT_FOR(&fixture.loop, waiter.calls == 1);
    lk_client_counters(fixture.client, &counters);
    assert_true(counters.polls > 0);
    assert_int_equal(give(&fixture, &waiter), LK_OK);
}

/* Also: earlier requests are answered. */
static void assert_free(void) {
    use_once(&fixture, fixture.lock, 10000);
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
        obtain(&fixture, &caller, fixture.lock, 5000);
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

    obtain(&fixture, &caller, fixture.lock, 5000);
    fence = lk_lease_fence(caller.lease);
    assert_int_equal(give(&fixture, &caller), LK_OK);
    return fence;
}

/* The counter of a replica that was promoted before it got the last grants. */
static void test_fence_rises_when_the_counter_lags(void **state) {
    uint64_t last = 0, counter;

    open_here();
    counter = fence_of_a_grant();
    for (int i = 0; i < 5; i++)
        last = fence_of_a_grant();
    assert_true(last > counter);
    close_client(&fixture, fixture.client); /* the next client has seen no token */
    own_redis_do(&own, "SET lk:{%s}:fence %llu", fixture.name, (unsigned long long)counter);
    open_here();
    assert_true(fence_of_a_grant() > last);
}

/* Pretend that the clock was an hour ahead, and was set back before the keys were lost. */
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
    /* Another client has not seen the token, but the resource has, and tells it. */
    close_client(&fixture, fixture.client);
    own_redis_do(&own, "FLUSHALL");
    open_here();
    obtain(&fixture, &caller, fixture.lock, 5000);
    assert_true(lk_lease_fence(caller.lease) < last);
    lk_lease_saw_fence(caller.lease, last);
    assert_int_equal(give(&fixture, &caller), LK_OK);
    assert_true(fence_of_a_grant() > last);
}

/* A counter that could not count exactly, and a malformed one, grant nothing. */
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

/* ---- At maxmemory, for each kind of lock: held locks are renewed and given back, waiters keep
 * their place, and nothing new is granted. */

static const struct kind {
    const char *url; /* %s: the server's URL */
    struct lk_lock_options options;
} kinds[] = {
    {"%s", {.ttl_ms = TTL_MS}},
    {"%s", {.ttl_ms = TTL_MS, .mode = LK_SHARED}},
    {"%s", {.ttl_ms = TTL_MS, .mode = LK_SHARED, .limit = 3}},
    {"%s", {.ttl_ms = TTL_MS, .mode = LK_SHARED, .limit = 3, .permits = 2}},
    {"%s", {.ttl_ms = TTL_MS, .is_fair = 1}},
    {"%s?handover=4", {.ttl_ms = TTL_MS}},
    {"redis+string:%s", {.ttl_ms = TTL_MS}},
    {"redis+redisson:%s", {.ttl_ms = TTL_MS}},
    {"redlock:%s?quarantine=0", {.ttl_ms = TTL_MS}},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Each caller has a client of its own, and so its own counters. */
static lk_lock *open_kind(const struct kind *kind, const char *name) {
    struct lk_lock_options options = kind->options;
    char url[128];
    lk_lock *lock;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(url, sizeof url, kind->url, own.url);
#pragma GCC diagnostic pop
    assert_true(client_count < CLIENTS_MOST);
    clients[client_count] = open_client(&fixture, url);
    options.size = sizeof options;
    assert_int_equal(lk_lock_open(&lock, clients[client_count++], name, &options), LK_OK);
    return lock;
}

/* The server has forgotten the scripts, too. */
static void fill(void) {
    own_redis_do(&own, "SCRIPT FLUSH");
    own_redis_do(&own, "CONFIG SET maxmemory 1");
}

static void test_what_is_held_is_renewed_past_its_ttl_and_given_back(void **state) {
    struct caller callers[KINDS];
    uint64_t before[KINDS];
    char name[KINDS][8];

    for (size_t i = 0; i < KINDS; i++) {
        (void)snprintf(name[i], sizeof name[i], "held%zu", i);
        obtain(&fixture, &callers[i], open_kind(&kinds[i], name[i]), TTL_MS);
    }
    fill();
    for (size_t i = 0; i < KINDS; i++)
        before[i] = counters(clients[i]).renewed;
    for (size_t i = 0; i < KINDS; i++) {
        WAIT_FOR(&fixture.loop, counters(clients[i]).renewed >= before[i] + RENEWALS);
        assert_int_equal(counters(clients[i]).renew_failed, 0);
        assert_int_equal(lk_lease_check(callers[i].lease, 1), LK_OK);
    }
    for (size_t i = 0; i < KINDS; i++)
        assert_int_equal(give(&fixture, &callers[i]), LK_OK);
    assert_int_equal(said("OOM"), 0);
    own_redis_do(&own, "CONFIG SET maxmemory 0");
    for (size_t i = 0; i < KINDS; i++) {
        use_once(&fixture, open_kind(&kinds[i], name[i]), LK_TRY);
    }
}

static void test_nothing_new_is_granted_and_the_server_says_why(void **state) {
    struct caller caller;

    fill();
    for (size_t i = 0; i < KINDS; i++) {
        const int before = said("OOM command not allowed");

        assert_int_equal(take(&fixture, &caller, open_kind(&kinds[i], "new"), LK_TRY), LK_REFUSED);
        assert_true(said("OOM command not allowed") > before);
    }
    assert_int_equal(own_redis_do(&own, "DBSIZE"), 0);
}

/* It asks again and again, and is then the first. */
static void test_those_in_line_keep_their_place(void **state) {
    static const struct kind polled = {"%s", {.ttl_ms = TTL_MS, .poll_ms = 20, .is_fair = 1}};
    struct caller holder, waiter;
    unsigned trips;

    obtain(&fixture, &holder, open_kind(&kinds[0], "line"), LK_TRY);
    start(&waiter, open_kind(&polled, "line"), LK_FOREVER);
    WAIT_FOR(&fixture.loop, own_redis_do(&own, "ZCARD lk:{line}:queue") == 1);
    fill();
    trips = lk_request_round_trips(waiter.request);
    WAIT_FOR(&fixture.loop, lk_request_round_trips(waiter.request) >= trips + 3);
    assert_int_equal(said("OOM"), 0);
    assert_int_equal(give(&fixture, &holder), LK_OK);
    await_and_give(&fixture, &waiter);
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
        TEST(test_what_is_held_is_renewed_past_its_ttl_and_given_back),
        TEST(test_nothing_new_is_granted_and_the_server_says_why),
        TEST(test_those_in_line_keep_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
