/* Silence, expiry, lost replies and suspended machines, on a backend with a server and a TTL. */
#include "redis_env.h"

static void test_release_after_expiry_spares_the_successor(void **state) {
    struct env *env = *state;
    const struct lk_lock_options options = {.ttl_ms = 50, .no_renew = 1};
    lk_lock *lock = open_lock_as(&env->fixture, env->far, options);
    struct caller late, next;

    obtain(&env->fixture, &late, lock, LK_FOREVER);
    env_hold(env, &next, env->fixture.client, 5000);
    assert_true(lk_lease_fence(next.lease) > lk_lease_fence(late.lease));
    WAIT_FOR(&env->fixture.loop, counters(env->far).lost == 1);
    lk_lease_on_state(late.lease, env_trace_state, env);
    assert_string_equal(env->trace, "");
    WAIT_FOR(&env->fixture.loop, strcmp(env->trace, "lost ") == 0);
    assert_int_equal(counters(env->far).lost, 1);
    assert_int_equal(give(&env->fixture, &late), LK_LOST);
    assert_owner(next.lease);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void test_attempt_that_arrives_after_its_release_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);
    int64_t fence;

    env_warm_up(env, lock);
    fence = ask("GET %s:fence");
    fault_proxy_set(env->proxy, PROXY_HOLDS_REQUESTS);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNKNOWN);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, ask("GET %s:fence") > fence);
    WAIT_FOR(&env->fixture.loop, !exists());
}

/* Acquire, although the reply to the first attempt is lost. */
static void take_doubtful(struct env *env, struct caller *caller, lk_lock *lock) {
    env_lose_grant(env, caller, lock, LK_FOREVER);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, caller->calls == 1);
    assert_int_equal(caller->status, LK_OK);
}

static void test_attempt_that_arrives_after_use_and_release_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    char value[64];

    take_doubtful(env, &caller, open_lock(&env->fixture, env->far, 60000));
    (void)snprintf(value, sizeof value, "%s:9:late", lk_lease_owner(caller.lease));
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    assert_false(exists());
    freeReplyObject(redisCommand(redis, "SET %s %s PX 60000", redis_key, value));
    WAIT_FOR(&env->fixture.loop, !exists());
    assert_int_equal(caller.releases, 1);
}

static void test_repeated_releases_are_few(void **state) {
    struct env *env = *state;
    const struct lk_lock_options options = {.ttl_ms = 1000, .poll_ms = 5};
    lk_lock *near = open_lock(&env->fixture, env->fixture.client, 1200);
    struct caller caller;
    unsigned before;

    take_doubtful(env, &caller, open_lock_as(&env->fixture, env->far, options));
    before = env->proxy->chunks;
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    /* Wait until the clean-up is over, for as long as an abandoned lock stays. */
    obtain(&env->fixture, &caller, near, LK_FOREVER);
    lk_abandon(caller.lease, 0);
    obtain(&env->fixture, &caller, near, LK_FOREVER);
    assert_in_range(env->proxy->chunks - before, 3, 20);
}

/* The first command that should extend the lock is lost; the lock stays taken after its own TTL. */
static void test_abandoned_lock_is_extended_until_it_is_confirmed(void **state) {
    struct env *env = *state;
    struct caller caller;

    obtain(&env->fixture, &caller, open_lock(&env->fixture, env->far, 10000), LK_FOREVER);
    fault_proxy_freeze(env->proxy);
    lk_abandon(caller.lease, 60000);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renew_failed > 0);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    fault_proxy_cut(env->proxy);
    WAIT_FOR(&env->fixture.loop, ask("PTTL %s") > 10000);
    /* And it stays taken without this client. */
    close_client(&env->fixture, env->far);
    env->far = open_with(env, env->proxy->url, FIXTURE_REPLY_MS, NULL);
    assert_true(ask("PTTL %s") > 10000);
    freeReplyObject(redisCommand(redis, "DEL %s", redis_key));
}

static void test_waiter_finds_the_grant_whose_reply_was_lost(void **state) {
    struct env *env = *state;
    struct caller caller;

    /* Ahead of the clock, so that each grant gets the next token. */
    freeReplyObject(redisCommand(redis, "SET %s:fence 9000000000000007", redis_key));
    take_doubtful(env, &caller, open_lock(&env->fixture, env->far, 60000));
    assert_int_equal(lk_lease_fence(caller.lease), 9000000000000009);
    assert_int_equal(ask("GET %s:fence"), 9000000000000009);
    assert_owner(caller.lease);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_grant_whose_validity_is_over_on_arrival_is_given_back(void **state) {
    struct env *env = *state;
    lk_client *client;
    struct caller caller;
    lk_lock *lock;

    fake_now_ns = 1;
    client = env->fixture.other = open_with(env, redis_url(), FIXTURE_REPLY_MS, fake_clock);
    lock = open_lock(&env->fixture, client, 60000);
    start(&caller, lock, LK_TRY);
    /* The first turn sends the attempt; a later one reads its reply. */
    while (caller.calls == 0) {
        (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
        fake_now_ns += 60000000000U;
    }
    assert_int_equal(caller.status, LK_UNKNOWN);
    fake_now_ns = 1;
    WAIT_FOR(&env->fixture.loop, !exists());
}

static void test_check_sees_at_once_that_the_machine_was_suspended(void **state) {
    struct env *env = *state;
    lk_client *client;
    struct caller caller;

    fake_now_ns = 1;
    client = env->fixture.other = open_with(env, redis_url(), FIXTURE_REPLY_MS, fake_clock);
    env_hold(env, &caller, client, 60000);
    assert_int_equal(lk_lease_check(caller.lease, 59000), LK_OK);
    assert_int_equal(lk_lease_check(caller.lease, 59500), LK_LOST);
    fake_now_ns += 50000000000U;
    assert_int_equal(lk_lease_state(caller.lease), LK_SUSPECT);
    fake_now_ns += 3600000000000U;
    assert_int_equal(lk_lease_state(caller.lease), LK_LOST_STATE);
    assert_int_equal(lk_lease_check(caller.lease, 0), LK_LOST);
    assert_int_equal(lk_lease_remaining_ms(caller.lease), 0);
}

static void test_renewal_under_way_does_not_outlive_the_release(void **state) {
    struct env *env = *state;
    struct caller caller;
    int64_t before, now;

    env_hold(env, &caller, env->far, 3000);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    now = ask("PTTL %s");
    do {
        before = now;
        (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
        now = ask("PTTL %s");
    } while (now > 0 && now <= before);
    assert_true(now > before);
    lk_release(caller.lease, on_caller_released, &caller);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, caller.releases == 1 && !exists());
}

static void on_suspect_release(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    assert_int_equal(state, LK_SUSPECT);
    assert_non_null(why);
    lk_release(lease, on_caller_released, data);
}

static void test_suspect_lease_may_be_released_in_the_callback(void **state) {
    struct env *env = *state;
    const struct lk_lock_options options = {.ttl_ms = 2000, .suspect_ms = 1900, .no_renew = 1};
    struct caller caller;

    obtain(&env->fixture, &caller, open_lock_as(&env->fixture, env->far, options), LK_FOREVER);
    lk_lease_on_state(caller.lease, on_suspect_release, &caller);
    WAIT_FOR(&env->fixture.loop, caller.releases == 1);
    assert_int_equal(caller.release_status, LK_OK);
    assert_false(exists());
}

static void test_lost_lease_stays_lost_and_is_renewed_no_more(void **state) {
    struct env *env = *state;
    struct caller caller;

    env_hold(env, &caller, env->far, 400);
    lk_lease_on_state(caller.lease, env_trace_state, env);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, !exists());
    assert_int_equal(lk_lease_state(caller.lease), LK_LOST_STATE);
    assert_string_equal(strstr(env->trace, "lost"), "lost ");
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDIS_TEST(test_release_after_expiry_spares_the_successor),
        REDIS_TEST(test_attempt_that_arrives_after_its_release_is_given_back),
        REDIS_TEST(test_attempt_that_arrives_after_use_and_release_is_given_back),
        REDIS_TEST(test_repeated_releases_are_few),
        REDIS_TEST(test_abandoned_lock_is_extended_until_it_is_confirmed),
        REDIS_TEST(test_waiter_finds_the_grant_whose_reply_was_lost),
        REDIS_TEST(test_grant_whose_validity_is_over_on_arrival_is_given_back),
        REDIS_TEST(test_check_sees_at_once_that_the_machine_was_suspended),
        REDIS_TEST(test_renewal_under_way_does_not_outlive_the_release),
        REDIS_TEST(test_suspect_lease_may_be_released_in_the_callback),
        REDIS_TEST(test_lost_lease_stays_lost_and_is_renewed_no_more),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
