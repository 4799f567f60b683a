/* redis+string: against the libraries with that layout, each in a process of its own (test/wire/),
 * on the same server, in both directions. */
#include "peer.h"
#include "redis_admin.h"

static const struct library {
    const char *name, *program, *script;
    const char *prefix; /* of its keys */
    bool tells_lost;    /* when it gives back a lock that it has lost */
} libraries[] = {
    {"redis-py", "/usr/bin/python3", "test/wire/peer.py", "", true}, /* Debian's, with its redis */
    {"redlock", "node", "test/wire/peer.js", "", true},
    {"redis-semaphore", "node", "test/wire/peer.js", "mutex:", false},
};
static const struct library *library = libraries;

static struct {
    struct fixture fixture;
    redisContext *redis;
    struct peer peer;
} t;

static void tell_take(uint32_t ttl_ms, uint32_t wait_ms) {
    peer_tell(&t.peer, "take %s %u %u\n", t.fixture.name, ttl_ms, wait_ms);
}

static int set_up(void **state) {
    char name[sizeof t.fixture.name], url[256];

    t.redis = redis_admin_connect();
    fixture_init(&t.fixture);
    memcpy(name, t.fixture.name, sizeof name);
    (void)snprintf(t.fixture.name, sizeof name, "%s%.50s", library->prefix, name);
    (void)snprintf(url, sizeof url, "redis+string:%s", redis_url());
    t.fixture.client = open_client(&t.fixture, url);
    t.fixture.lock = open_lock(&t.fixture, t.fixture.client, 5000);
    t.peer.loop = &t.fixture.loop;
    if (t.peer.pid == 0) /* it serves all tests of its library */
        peer_start(
            &t.peer, &t.fixture.loop,
            (const char *[]){library->program, library->script, library->name, redis_url(), NULL});
    return 0;
}

/* After each test the name is free. */
static int tear_down(void **state) {
    redisReply *reply = redisCommand(t.redis, "EXISTS %s", t.fixture.name);

    assert_int_equal(reply->integer, 0);
    freeReplyObject(reply);
    freeReplyObject(redisCommand(t.redis, "DEL lk:{%s}:wire", t.fixture.name));
    redisFree(t.redis);
    fixture_end(&t.fixture);
    return 0;
}

static int end_peer(void **state) {
    peer_end(&t.peer);
    return 0;
}

static void test_what_they_hold_is_ours_when_they_give_it(void **state) {
    struct caller caller;

    tell_take(30000, 0);
    peer_assert_answer(&t.peer, "held");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_BUSY);
    start(&caller, t.fixture.lock, LK_FOREVER);
    peer_tell(&t.peer, "give\n");
    peer_assert_answer(&t.peer, "given");
    await_and_give(&t.fixture, &caller);
}

static void test_what_we_hold_is_theirs_when_we_give_it(void **state) {
    struct caller caller;

    obtain(&t.fixture, &caller, t.fixture.lock, LK_TRY);
    tell_take(30000, 0);
    peer_assert_answer(&t.peer, "busy");
    tell_take(30000, 10000);
    assert_int_equal(lk_lease_check(caller.lease, 100), LK_OK);
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
    peer_assert_answer(&t.peer, "held");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_BUSY);
    peer_tell(&t.peer, "give\n");
    peer_assert_answer(&t.peer, "given");
}

/* Their lock has ended, and they do not know: neither their extension nor their release touches
 * ours. */
static void test_what_they_have_lost_stays_ours(void **state) {
    struct caller caller;

    tell_take(200, 10000);
    peer_assert_answer(&t.peer, "held");
    obtain(&t.fixture, &caller, t.fixture.lock, 10000);
    peer_tell(&t.peer, "extend 30000\n");
    peer_assert_answer(&t.peer, "lost");
    peer_tell(&t.peer, "give\n");
    peer_assert_answer(&t.peer, library->tells_lost ? "lost" : "given");
    tell_take(30000, 0);
    peer_assert_answer(&t.peer, "busy");
    assert_int_equal(give(&t.fixture, &caller), LK_OK);
}

/* Our lock has ended, and we find out: neither our renewal nor our release touches theirs. */
static void test_what_we_have_lost_stays_theirs(void **state) {
    const struct lk_lock_options options = {.ttl_ms = 100, .no_renew = 1};
    struct caller caller;

    obtain(&t.fixture, &caller, open_lock_as(&t.fixture, t.fixture.client, options), 10000);
    tell_take(30000, 10000);
    peer_assert_answer(&t.peer, "held");
    assert_int_equal(lk_lease_state(caller.lease), LK_LOST_STATE);
    assert_int_equal(give(&t.fixture, &caller), LK_LOST);
    peer_tell(&t.peer, "extend 30000\n");
    peer_assert_answer(&t.peer, "extended");
    peer_tell(&t.peer, "give\n");
    peer_assert_answer(&t.peer, "given");
}

/* They hold it beyond their first TTL, too. */
static void test_what_they_extend_stays_theirs(void **state) {
    struct caller caller;

    tell_take(1000, 0);
    peer_assert_answer(&t.peer, "held");
    peer_tell(&t.peer, "extend 30000\n");
    peer_assert_answer(&t.peer, "extended");
    assert_int_equal(take(&t.fixture, &caller, t.fixture.lock, LK_TRY), LK_BUSY);
    peer_tell(&t.peer, "give\n");
    peer_assert_answer(&t.peer, "given");
}

/* Each in turn, while the other waits: both get the lock again and again, and never at the same
 * time. */
static void test_turns_are_taken(void **state) {
    struct caller caller;

    tell_take(30000, 10000);
    for (int i = 0; i < 10; i++) {
        peer_assert_answer(&t.peer, "held");
        start(&caller, t.fixture.lock, LK_FOREVER);
        peer_tell(&t.peer, "give\n");
        peer_assert_answer(&t.peer, "given");
        WAIT_FOR(&t.fixture.loop, caller.calls > 0);
        assert_int_equal(caller.status, LK_OK);
        tell_take(30000, 10000);
        assert_int_equal(give(&t.fixture, &caller), LK_OK);
    }
    peer_assert_answer(&t.peer, "held");
    peer_tell(&t.peer, "give\n");
    peer_assert_answer(&t.peer, "given");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_they_hold_is_ours_when_they_give_it),
        TEST(test_what_we_hold_is_theirs_when_we_give_it),
        TEST(test_what_they_have_lost_stays_ours),
        TEST(test_what_we_have_lost_stays_theirs),
        TEST(test_what_they_extend_stays_theirs),
        TEST(test_turns_are_taken),
    };
    int failed = 0;

    for (; library < libraries + sizeof libraries / sizeof *libraries; library++)
        failed += cmocka_run_group_tests_name(library->name, tests, NULL, end_peer);
    return failed;
}
