/* Silence, expiry, lost replies and suspended machines: what only a backend with a server and a TTL
 * can show. */
#include "redis_env.h"

static uint64_t fake_now_ns;

static uint64_t fake_clock(void *data) {
    (void)data;
    return fake_now_ns;
}

static void note(struct env *env, const char *what) {
    strncat(env->trace, what, sizeof env->trace - strlen(env->trace) - 1);
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)lease;
    assert_non_null(why);
    note(data, state == LK_HELD ? "held " : state == LK_SUSPECT ? "suspect " : "lost ");
}

static void on_successor(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct env *env = data;

    (void)request;
    assert_int_equal(status, LK_OK);
    note(env, "successor ");
    lk_release(lease, NULL, NULL);
}

static void hold_warily(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms,
                        uint32_t suspect_ms) {
    lk_lock *lock = open_wary_lock(&env->fixture, client, ttl_ms, suspect_ms);

    assert_int_equal(take(&env->fixture, caller, lock, LK_FOREVER), LK_OK);
}

static void hold(struct env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms) {
    hold_warily(env, caller, client, ttl_ms, 0);
}

/* So that the next attempt is one command. */
static void bring_script(struct env *env, lk_lock *lock) {
    struct caller caller;

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void start_and_lose_the_reply(struct env *env, struct caller *caller, lk_lock *lock,
                                     uint32_t wait_ms) {
    bring_script(env, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(caller, lock, wait_ms);
    WAIT_FOR(&env->fixture.loop, exists(env));
    fault_proxy_cut(env->proxy);
}

static void test_holder_is_told_before_a_successor_is_granted(void **state) {
    struct env *env = *state;
    struct caller caller;

    hold_warily(env, &caller, env->far, 2000, 1300);
    lk_lease_on_state(caller.lease, on_state, env);
    assert_int_equal(lk_acquire(open_lock(&env->fixture, env->fixture.client, 400), LK_FOREVER,
                                on_successor, env, NULL),
                     LK_OK);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "successor"));
    assert_string_equal(env->trace, "suspect lost successor ");
    assert_int_equal(lk_lease_check(caller.lease, 0), LK_LOST);
    assert_int_equal(counters(env->far).lost, 1);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    assert_int_not_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_suspect_lease_is_held_again_after_a_renewal(void **state) {
    struct env *env = *state;
    struct caller caller;

    hold_warily(env, &caller, env->far, 3000, 1800);
    lk_lease_on_state(caller.lease, on_state, env);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "suspect"));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "held"));
    assert_string_equal(env->trace, "suspect held ");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_keeps_the_lock_past_its_ttl(void **state) {
    struct env *env = *state;
    struct caller caller, other;

    hold(env, &caller, env->far, 3000);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renewed >= 4);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(
        take(&env->fixture, &other, open_lock(&env->fixture, env->fixture.client, 300), LK_TRY),
        LK_BUSY);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_never_creates_the_lock_again(void **state) {
    struct env *env = *state;
    struct caller caller;

    hold(env, &caller, env->far, 600);
    lk_lease_on_state(caller.lease, on_state, env);
    (void)ask(env, "DEL %s");
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    assert_false(exists(env));
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
    assert_int_equal(counters(env->far).release_lost, 1);
}

static void test_release_after_expiry_spares_the_successor(void **state) {
    struct env *env = *state;
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 50, .no_renew = 1};
    struct caller late, next;
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->far, env->fixture.name, &options), LK_OK);
    assert_int_equal(take(&env->fixture, &late, lock, LK_FOREVER), LK_OK);
    hold(env, &next, env->fixture.client, 5000);
    assert_true(lk_lease_fence(next.lease) > lk_lease_fence(late.lease));
    WAIT_FOR(&env->fixture.loop, counters(env->far).lost == 1);
    lk_lease_on_state(late.lease, on_state, env);
    assert_string_equal(env->trace, "");
    WAIT_FOR(&env->fixture.loop, strcmp(env->trace, "lost ") == 0);
    assert_int_equal(counters(env->far).lost, 1);
    assert_int_equal(give(&env->fixture, &late), LK_LOST);
    assert_owner(env, next.lease);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void test_token_of_a_lost_reply_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    start_and_lose_the_reply(env, &caller, lock, LK_TRY);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_UNKNOWN);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, !exists(env));
}

static void test_attempt_that_arrives_after_its_release_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);
    int64_t fence;

    bring_script(env, lock);
    fence = ask(env, "GET %s:fence");
    fault_proxy_set(env->proxy, PROXY_HOLDS_REQUESTS);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNKNOWN);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, ask(env, "GET %s:fence") > fence);
    WAIT_FOR(&env->fixture.loop, !exists(env));
}

/* Acquire although the reply to the first attempt is lost. */
static void take_doubtful(struct env *env, struct caller *caller, lk_lock *lock) {
    start_and_lose_the_reply(env, caller, lock, LK_FOREVER);
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
    assert_false(exists(env));
    freeReplyObject(redisCommand(env->redis, "SET %s %s PX 60000", env->key, value));
    WAIT_FOR(&env->fixture.loop, !exists(env));
    assert_int_equal(caller.releases, 1);
}

static void test_repeated_releases_are_few(void **state) {
    struct env *env = *state;
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 1000, .poll_ms = 5};
    lk_lock *lock, *near = open_lock(&env->fixture, env->fixture.client, 1200);
    struct caller caller;
    unsigned before;

    assert_int_equal(lk_lock_open(&lock, env->far, env->fixture.name, &options), LK_OK);
    take_doubtful(env, &caller, lock);
    before = env->proxy->chunks;
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    /* Until the clean-up is over: as long as an abandoned lock stays. */
    assert_int_equal(take(&env->fixture, &caller, near, LK_FOREVER), LK_OK);
    lk_abandon(caller.lease, 0);
    assert_int_equal(take(&env->fixture, &caller, near, LK_FOREVER), LK_OK);
    assert_in_range(env->proxy->chunks - before, 3, 20);
}

/* The first command that should extend it is lost; the lock is taken all the same when its own TTL
 * is over. */
static void test_abandoned_lock_is_extended_until_it_is_confirmed(void **state) {
    struct env *env = *state;
    struct caller caller;

    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 10000), LK_FOREVER), LK_OK);
    fault_proxy_freeze(env->proxy);
    lk_abandon(caller.lease, 60000);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renew_failed > 0);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    fault_proxy_cut(env->proxy);
    WAIT_FOR(&env->fixture.loop, ask(env, "PTTL %s") > 10000);
    /* And stays so without us. */
    close_client(&env->fixture, env->far);
    env->far = open_with(env, env->proxy->url, FIXTURE_REPLY_MS, NULL);
    assert_true(ask(env, "PTTL %s") > 10000);
    freeReplyObject(redisCommand(env->redis, "DEL %s", env->key));
}

static void test_waiter_finds_the_grant_whose_reply_was_lost(void **state) {
    struct env *env = *state;
    struct caller caller;

    /* Ahead of the clock, so that each grant has the next token. */
    freeReplyObject(redisCommand(env->redis, "SET %s:fence 9000000000000007", env->key));
    take_doubtful(env, &caller, open_lock(&env->fixture, env->far, 60000));
    assert_int_equal(lk_lease_fence(caller.lease), 9000000000000009);
    assert_int_equal(ask(env, "GET %s:fence"), 9000000000000009);
    assert_owner(env, caller.lease);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_late_grant_goes_to_the_next_waiter(void **state) {
    struct env *env = *state;
    struct caller first, next;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    bring_script(env, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(&first, lock, LK_FOREVER);
    start(&next, lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, exists(env));
    lk_cancel(first.request);
    WAIT_FOR(&env->fixture.loop, first.calls == 1);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, next.calls == 1);
    assert_int_equal(next.status, LK_OK);
    assert_int_equal(first.status, LK_CANCELED);
    assert_int_equal(counters(env->far).late_grants, 0);
    assert_int_equal(counters(env->far).acquired, 2); /* with that of before */
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void test_late_grant_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    bring_script(env, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    assert_int_equal(take(&env->fixture, &caller, lock, 20), LK_TIMEOUT);
    assert_int_equal(caller.round_trips, 1);
    WAIT_FOR(&env->fixture.loop, exists(env));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, !exists(env));
    assert_int_equal(caller.calls, 1);
    assert_int_equal(counters(env->far).late_grants + counters(env->far).unknown, 1);
}

static void test_grant_whose_validity_is_over_on_arrival_is_given_back(void **state) {
    struct env *env = *state;
    lk_client *client;
    struct caller caller;
    lk_lock *lock;

    fake_now_ns = 1;
    client = open_with(env, redis_url(), FIXTURE_REPLY_MS, fake_clock);
    lock = open_lock(&env->fixture, client, 60000);
    start(&caller, lock, LK_TRY);
    /* The attempt is sent in the first turn; its reply is read in a later one. */
    while (caller.calls == 0) {
        (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
        fake_now_ns += 60000000000U;
    }
    assert_int_equal(caller.status, LK_UNKNOWN);
    fake_now_ns = 1;
    WAIT_FOR(&env->fixture.loop, !exists(env));
    close_client(&env->fixture, client);
}

static void test_check_sees_at_once_that_the_machine_was_suspended(void **state) {
    struct env *env = *state;
    lk_client *client;
    struct caller caller;

    fake_now_ns = 1;
    client = open_with(env, redis_url(), FIXTURE_REPLY_MS, fake_clock);
    hold(env, &caller, client, 60000);
    assert_int_equal(lk_lease_check(caller.lease, 59000), LK_OK);
    assert_int_equal(lk_lease_check(caller.lease, 59500), LK_LOST);
    fake_now_ns += 50000000000U;
    assert_int_equal(lk_lease_state(caller.lease), LK_SUSPECT);
    fake_now_ns += 3600000000000U;
    assert_int_equal(lk_lease_state(caller.lease), LK_LOST_STATE);
    assert_int_equal(lk_lease_check(caller.lease, 0), LK_LOST);
    assert_int_equal(lk_lease_remaining_ms(caller.lease), 0);
    close_client(&env->fixture, client);
}

static void test_renewal_under_way_does_not_outlive_the_release(void **state) {
    struct env *env = *state;
    struct caller caller;
    int64_t before, now;

    hold(env, &caller, env->far, 3000);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    now = ask(env, "PTTL %s");
    do {
        before = now;
        (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
        now = ask(env, "PTTL %s");
    } while (now > 0 && now <= before);
    assert_true(now > before);
    lk_release(caller.lease, on_caller_released, &caller);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, caller.releases == 1 && !exists(env));
}

static void on_suspect_release(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    assert_int_equal(state, LK_SUSPECT);
    assert_non_null(why);
    lk_release(lease, on_caller_released, data);
}

static void test_suspect_lease_may_be_released_in_the_callback(void **state) {
    struct env *env = *state;
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 2000, .no_renew = 1};
    struct caller caller;
    lk_lock *lock;

    options.suspect_ms = 1900;
    assert_int_equal(lk_lock_open(&lock, env->far, env->fixture.name, &options), LK_OK);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    lk_lease_on_state(caller.lease, on_suspect_release, &caller);
    WAIT_FOR(&env->fixture.loop, caller.releases == 1);
    assert_int_equal(caller.release_status, LK_OK);
    assert_false(exists(env));
}

static void test_lost_lease_stays_lost_and_is_renewed_no_more(void **state) {
    struct env *env = *state;
    struct caller caller;

    hold(env, &caller, env->far, 400);
    lk_lease_on_state(caller.lease, on_state, env);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, !exists(env));
    assert_int_equal(lk_lease_state(caller.lease), LK_LOST_STATE);
    assert_string_equal(strstr(env->trace, "lost"), "lost ");
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

static void test_unanswered_release_is_unknown_and_goes_on(void **state) {
    struct env *env = *state;
    struct caller caller;

    hold(env, &caller, env->far, 60000);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REQUESTS);
    assert_int_equal(give(&env->fixture, &caller), LK_UNKNOWN);
    assert_true(exists(env));
    fault_proxy_cut(env->proxy);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, !exists(env));
    assert_int_equal(caller.releases, 1);
}

static void test_close_ends_although_the_server_is_silent(void **state) {
    struct env *env = *state;
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 100, .cleanup_ms = 200};
    struct caller holder, waiter;
    lk_client *client;
    lk_lock *lock;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, env->proxy->url, &options), LK_OK);
    lock = open_lock(&env->fixture, client, 60000);
    assert_int_equal(take(&env->fixture, &holder, lock, LK_FOREVER), LK_OK);
    start(&waiter, lock, LK_FOREVER);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    close_client(&env->fixture, client);
    assert_int_equal(waiter.calls, 1);
    assert_int_equal(waiter.status, LK_CANCELED);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDIS_TEST(test_holder_is_told_before_a_successor_is_granted),
        REDIS_TEST(test_suspect_lease_is_held_again_after_a_renewal),
        REDIS_TEST(test_renewal_keeps_the_lock_past_its_ttl),
        REDIS_TEST(test_renewal_never_creates_the_lock_again),
        REDIS_TEST(test_release_after_expiry_spares_the_successor),
        REDIS_TEST(test_token_of_a_lost_reply_is_given_back),
        REDIS_TEST(test_attempt_that_arrives_after_its_release_is_given_back),
        REDIS_TEST(test_attempt_that_arrives_after_use_and_release_is_given_back),
        REDIS_TEST(test_repeated_releases_are_few),
        REDIS_TEST(test_abandoned_lock_is_extended_until_it_is_confirmed),
        REDIS_TEST(test_waiter_finds_the_grant_whose_reply_was_lost),
        REDIS_TEST(test_late_grant_goes_to_the_next_waiter),
        REDIS_TEST(test_late_grant_is_given_back),
        REDIS_TEST(test_grant_whose_validity_is_over_on_arrival_is_given_back),
        REDIS_TEST(test_check_sees_at_once_that_the_machine_was_suspended),
        REDIS_TEST(test_renewal_under_way_does_not_outlive_the_release),
        REDIS_TEST(test_suspect_lease_may_be_released_in_the_callback),
        REDIS_TEST(test_lost_lease_stays_lost_and_is_renewed_no_more),
        REDIS_TEST(test_unanswered_release_is_unknown_and_goes_on),
        REDIS_TEST(test_close_ends_although_the_server_is_silent),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
