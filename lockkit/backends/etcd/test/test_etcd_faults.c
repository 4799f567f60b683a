/* Silence, lost replies, a server that restarts and keys that others delete. */
#include "etcd_env.h"

static void hold_warily(struct etcd_env *env, struct caller *caller, lk_client *client,
                        uint32_t ttl_ms, uint32_t suspect_ms) {
    lk_lock *lock = open_wary_lock(&env->fixture, client, ttl_ms, suspect_ms);

    assert_int_equal(take(&env->fixture, caller, lock, LK_FOREVER), LK_OK);
}

static void hold(struct etcd_env *env, struct caller *caller, lk_client *client, uint32_t ttl_ms) {
    hold_warily(env, caller, client, ttl_ms, 0);
}

/* So that there is a lease to spare, and the next attempt is one question. */
static void bring_lease(struct etcd_env *env, lk_lock *lock) {
    struct caller caller;

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void start_and_lose_the_reply(struct etcd_env *env, struct caller *caller, lk_lock *lock,
                                     uint32_t wait_ms) {
    bring_lease(env, lock);
    assert_int_equal(own_etcd_keys(env->own), 0);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(caller, lock, wait_ms);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 1);
    fault_proxy_cut(env->proxy);
}

static void test_holder_is_told_before_a_successor_is_granted(void **state) {
    struct etcd_env *env = *state;
    struct caller caller;

    hold_warily(env, &caller, env->far, 2000, 1300);
    lk_lease_on_state(caller.lease, etcd_trace_state, env);
    assert_int_equal(lk_acquire(env->fixture.lock, LK_FOREVER, etcd_trace_successor, env, NULL),
                     LK_OK);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "successor"));
    assert_string_equal(env->trace, "suspect lost successor ");
    fault_proxy_set(env->proxy, PROXY_PASSES);
    assert_int_not_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_suspect_lease_is_held_again_after_a_renewal(void **state) {
    struct etcd_env *env = *state;
    struct caller caller;

    hold_warily(env, &caller, env->far, 4000, 2400);
    lk_lease_on_state(caller.lease, etcd_trace_state, env);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "suspect"));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "held"));
    assert_string_equal(env->trace, "suspect held ");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_keeps_the_lock_past_its_ttl(void **state) {
    struct etcd_env *env = *state;
    struct caller caller, other;

    hold(env, &caller, env->far, 3000);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renewed >= 4);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(take(&env->fixture, &other, env->fixture.lock, LK_TRY), LK_BUSY);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_never_creates_a_key_again(void **state) {
    struct etcd_env *env = *state;
    struct caller caller;

    hold(env, &caller, env->far, 1000);
    lk_lease_on_state(caller.lease, etcd_trace_state, env);
    own_etcd_clear(env->own);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    assert_int_equal(own_etcd_keys(env->own), 0);
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

/* From the first renewal on: not by the next one, but by the event. */
static void test_holder_hears_at_once_that_its_key_was_deleted(void **state) {
    struct etcd_env *env = *state;
    struct caller caller;

    hold(env, &caller, env->far, 6000);
    lk_lease_on_state(caller.lease, etcd_trace_state, env);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renewed == 1);
    own_etcd_clear(env->own);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    assert_string_equal(env->why, "its key was deleted, or its lease has ended");
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

static void test_waiter_whose_key_was_deleted_stands_in_line_again(void **state) {
    struct etcd_env *env = *state;
    struct caller holder, waiter;

    hold(env, &holder, env->fixture.client, 5000);
    start(&waiter, open_lock(&env->fixture, env->far, 5000), LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 2);
    own_etcd_clear(env->own);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_true(lk_lease_fence(waiter.lease) > lk_lease_fence(holder.lease));
    assert_int_equal(give(&env->fixture, &holder), LK_LOST);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_key_of_a_lost_reply_is_given_back_with_its_lease(void **state) {
    struct etcd_env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);
    int leases = etcd_leases(env);

    start_and_lose_the_reply(env, &caller, lock, LK_TRY);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_UNKNOWN);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 0 && etcd_leases(env) == leases);
}

static void test_waiter_finds_the_key_of_a_lost_reply(void **state) {
    struct etcd_env *env = *state;
    struct caller caller;

    start_and_lose_the_reply(env, &caller, open_lock(&env->fixture, env->far, 60000), LK_FOREVER);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_OK);
    assert_int_equal(own_etcd_keys(env->own), 1);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    assert_int_equal(own_etcd_keys(env->own), 0);
}

static void test_late_grant_goes_to_the_next_waiter(void **state) {
    struct etcd_env *env = *state;
    struct caller first, next;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    bring_lease(env, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(&first, lock, LK_FOREVER);
    start(&next, lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 1);
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

static void test_release_that_is_not_answered_is_confirmed_later(void **state) {
    struct etcd_env *env = *state;
    struct caller caller;

    hold(env, &caller, env->far, 60000);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    assert_int_equal(give(&env->fixture, &caller), LK_UNKNOWN);
    fault_proxy_cut(env->proxy);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 0);
}

static void test_lock_outlives_a_restart_of_the_server(void **state) {
    struct etcd_env *env = *state;
    struct fixture *fixture = &env->fixture;
    lk_client *client = open_client(fixture, env->own->url);
    struct caller caller, other;
    uint64_t renewed, fence;

    hold(env, &caller, fixture->client, 15000);
    fence = lk_lease_fence(caller.lease);
    own_etcd_kill(env->own, 0);
    assert_int_equal(take(fixture, &other, open_lock(fixture, client, 9000), LK_TRY),
                     LK_UNAVAILABLE);
    own_etcd_restart(env->own, 0);
    (void)own_etcd_leader(env->own);
    renewed = counters(fixture->client).renewed;
    WAIT_FOR(&fixture->loop, counters(fixture->client).renewed > renewed);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(take(fixture, &other, open_lock(fixture, client, 9000), LK_TRY), LK_BUSY);
    assert_int_equal(give(fixture, &caller), LK_OK);
    hold(env, &other, client, 9000);
    assert_true(lk_lease_fence(other.lease) > fence);
    assert_int_equal(give(fixture, &other), LK_OK);
    close_client(fixture, client);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        ETCD_TEST(test_holder_is_told_before_a_successor_is_granted),
        ETCD_TEST(test_suspect_lease_is_held_again_after_a_renewal),
        ETCD_TEST(test_renewal_keeps_the_lock_past_its_ttl),
        ETCD_TEST(test_renewal_never_creates_a_key_again),
        ETCD_TEST(test_holder_hears_at_once_that_its_key_was_deleted),
        ETCD_TEST(test_waiter_whose_key_was_deleted_stands_in_line_again),
        ETCD_TEST(test_key_of_a_lost_reply_is_given_back_with_its_lease),
        ETCD_TEST(test_waiter_finds_the_key_of_a_lost_reply),
        ETCD_TEST(test_late_grant_goes_to_the_next_waiter),
        ETCD_TEST(test_release_that_is_not_answered_is_confirmed_later),
        ETCD_TEST(test_lock_outlives_a_restart_of_the_server),
    };

    return cmocka_run_group_tests(tests, etcd_one_start, etcd_stop);
}
