/* A Redis server at maxmemory, for each kind of lock: what is held is renewed and given back, those
 * in line keep their place, and nothing new is granted. */
#include "fixture.h"
#include "own_redis.h"
#include "said.h"

#include "log.h"

#define TTL_MS       5000
#define RENEWALS     4 /* at a third of the TTL each: past the TTL of before */
#define CLIENTS_MOST 32

static struct own_redis own;
static struct fixture fixture;
static lk_client *clients[CLIENTS_MOST];
static size_t client_count;

static const struct kind {
    const char *url; /* with the place of the server's */
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

/* Each caller has a client of its own, and so counters. */
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

/* No script is known any more, either. */
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
        assert_int_equal(take(&fixture, &callers[i], open_kind(&kinds[i], name[i]), TTL_MS), LK_OK);
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
        assert_int_equal(take(&fixture, &callers[i], open_kind(&kinds[i], name[i]), LK_TRY), LK_OK);
        assert_int_equal(give(&fixture, &callers[i]), LK_OK);
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

    assert_int_equal(take(&fixture, &holder, open_kind(&kinds[0], "line"), LK_TRY), LK_OK);
    start(&waiter, open_kind(&polled, "line"), LK_FOREVER);
    WAIT_FOR(&fixture.loop, own_redis_do(&own, "ZCARD lk:{line}:queue") == 1);
    fill();
    trips = lk_request_round_trips(waiter.request);
    WAIT_FOR(&fixture.loop, lk_request_round_trips(waiter.request) >= trips + 3);
    assert_int_equal(said("OOM"), 0);
    assert_int_equal(give(&fixture, &holder), LK_OK);
    WAIT_FOR(&fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_int_equal(give(&fixture, &waiter), LK_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_what_is_held_is_renewed_past_its_ttl_and_given_back),
        TEST(test_nothing_new_is_granted_and_the_server_says_why),
        TEST(test_those_in_line_keep_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
