/* redis://...?wait=k: a grant counts if k replicas have it, and else is given back. */
#include "fixture.h"
#include "own_redis.h"
#include "said.h"

#include "log.h"

#include <signal.h>

#define REPLICAS 2

static struct own_redis primary, replicas[REPLICAS];
static struct fixture fixture;

static bool is_linked(struct own_redis *replica) {
    redisReply *reply = redisCommand(replica->admin, "INFO replication");
    bool is_up = strstr(reply->str, "master_link_status:up") != NULL;

    freeReplyObject(reply);
    return is_up;
}

static int set_up(void **state) {
    own_redis_start(&primary);
    own_redis_do(&primary, "CONFIG SET repl-diskless-sync yes repl-diskless-sync-delay 0");
    for (int i = 0; i < REPLICAS; i++) {
        own_redis_start(&replicas[i]);
        own_redis_do(&replicas[i], "CONFIG SET repl-diskless-load on-empty-db"); /* no file */
        own_redis_do(&replicas[i], "REPLICAOF 127.0.0.1 %d", primary.port);
    }
    log_init("test", LOG_INFO);
    said_start();
    fixture_init(&fixture);
    for (int i = 0; i < REPLICAS; i++)
        WAIT_FOR(&fixture.loop, is_linked(&replicas[i]));
    return 0;
}

static int tear_down(void **state) {
    fixture_end(&fixture);
    said_stop();
    for (int i = 0; i < REPLICAS; i++)
        own_redis_stop(&replicas[i]);
    own_redis_stop(&primary);
    return 0;
}

static void open_here_warily(const char *query, uint32_t ttl_ms, uint32_t suspect_ms) {
    char url[128];

    (void)snprintf(url, sizeof url, "%s/0%s", primary.url, query);
    fixture.client = open_client(&fixture, url);
    fixture.lock = open_wary_lock(&fixture, fixture.client, ttl_ms, suspect_ms);
}

static void open_here(const char *query, uint32_t ttl_ms) {
    open_here_warily(query, ttl_ms, 0);
}

static bool has_it(struct own_redis *server) {
    return own_redis_do(server, "EXISTS lk:{%s}", fixture.name) == 1;
}

static void test_granted_lock_is_on_the_replicas(void **state) {
    struct caller caller;

    open_here("?wait=2&wait_ms=2000", 5000);
    for (int round = 0; round < 20; round++) {
        obtain(&fixture, &caller, fixture.lock, 5000);
        for (int i = 0; i < REPLICAS; i++)
            assert_true(has_it(&replicas[i]));
        assert_int_equal(give(&fixture, &caller), LK_OK);
    }
}

static void test_with_fewer_replicas_known_nothing_is_granted(void **state) {
    struct caller caller;

    open_here("?wait=3", 5000);
    assert_int_equal(take(&fixture, &caller, fixture.lock, LK_TRY), LK_REFUSED);
    assert_false(has_it(&primary));
    assert_int_equal(said(" of the 3 replicas wanted have it"), 1);
    assert_int_equal(take(&fixture, &caller, fixture.lock, 700), LK_REFUSED);
    WAIT_FOR(&fixture.loop, !has_it(&primary));
}

static void test_replica_that_is_paused_or_killed_does_not_count(void **state) {
    struct caller caller;

    open_here("?wait=2&wait_ms=50", 5000);
    use_once(&fixture, fixture.lock, 5000);
    assert_int_equal(kill(replicas[0].pid, SIGSTOP), 0);
    assert_int_equal(take(&fixture, &caller, fixture.lock, LK_TRY), LK_REFUSED);
    assert_false(has_it(&primary));
    assert_int_equal(kill(replicas[0].pid, SIGCONT), 0);
    use_once(&fixture, fixture.lock, 10000);
    assert_int_equal(kill(replicas[0].pid, SIGKILL), 0);
    assert_int_equal(take(&fixture, &caller, fixture.lock, 700), LK_REFUSED);
    WAIT_FOR(&fixture.loop, !has_it(&primary));
}

/* A renewal that too few replicas have does not count. */
static void test_lease_is_lost_when_its_renewals_are_not_on_the_replicas(void **state) {
    struct caller caller;

    open_here_warily("?wait=2&wait_ms=50", 3000, 1800);
    obtain(&fixture, &caller, fixture.lock, 5000);
    assert_int_equal(kill(replicas[0].pid, SIGSTOP), 0);
    WAIT_FOR(&fixture.loop, lk_lease_state(caller.lease) == LK_SUSPECT);
    assert_int_equal(kill(replicas[0].pid, SIGCONT), 0);
    WAIT_FOR(&fixture.loop, lk_lease_state(caller.lease) == LK_HELD);
    assert_int_equal(kill(replicas[0].pid, SIGSTOP), 0);
    WAIT_FOR(&fixture.loop, lk_lease_state(caller.lease) == LK_LOST_STATE);
    assert_int_equal(kill(replicas[0].pid, SIGCONT), 0);
    lk_release(caller.lease, NULL, NULL);
}

/* The news of a hand-over says nothing about replicas. */
static void test_handed_over_is_not_granted_without_the_replicas(void **state) {
    struct caller holder, waiter;

    open_here("?wait=2&wait_ms=50", 5000);
    fixture.other = open_client(&fixture, primary.url);
    obtain(&fixture, &holder, open_lock(&fixture, fixture.other, 5000), LK_TRY);
    start(&waiter, fixture.lock, 1500);
    await_channel(&fixture, fixture.client, &waiter);
    for (int i = 0; i < REPLICAS; i++)
        assert_int_equal(kill(replicas[i].pid, SIGSTOP), 0);
    assert_int_equal(give(&fixture, &holder), LK_OK);
    WAIT_FOR(&fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_REFUSED);
    for (int i = 0; i < REPLICAS; i++)
        assert_int_equal(kill(replicas[i].pid, SIGCONT), 0);
    use_once(&fixture, fixture.lock, 10000);
}

static void test_parameters_that_are_none_are_refused(void **state) {
    static const char *const queries[] = {
        "?wait=0", "?wait=-1",       "?wait=x", "?wait=",   "?wiat=2",
        "?wait",   "?wait=99999999", "?",       "?wait=2&", "?wait_ms=0"};
    char url[128];
    lk_client *client;

    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        (void)snprintf(url, sizeof url, "%s%s", primary.url, queries[i]);
        assert_int_equal(lk_client_open(&client, &fixture.loop, url, NULL), LK_INVALID);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_granted_lock_is_on_the_replicas),
        TEST(test_with_fewer_replicas_known_nothing_is_granted),
        TEST(test_replica_that_is_paused_or_killed_does_not_count),
        TEST(test_lease_is_lost_when_its_renewals_are_not_on_the_replicas),
        TEST(test_handed_over_is_not_granted_without_the_replicas),
        TEST(test_parameters_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
