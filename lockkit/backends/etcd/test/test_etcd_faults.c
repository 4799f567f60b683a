/* Keys that others delete, a lost reply with its lease, and a server that restarts. */
#include "etcd_env.h"

/* From the first renewal on: not by the next one, but by the event. */
static void test_holder_hears_at_once_that_its_key_was_deleted(void **state) {
    struct env *env = *state;
    struct caller caller;

    env_hold(env, &caller, env->far, 6000);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renewed == 1);
    own_etcd_clear(&etcd);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    assert_string_equal(env->why, "its key was deleted, or its lease has ended");
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

static void test_waiter_whose_key_was_deleted_stands_in_line_again(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    env_hold(env, &holder, env->fixture.client, 5000);
    start(&waiter, open_lock(&env->fixture, env->far, 5000), LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(&etcd) == 2);
    own_etcd_clear(&etcd);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_true(lk_lease_fence(waiter.lease) > lk_lease_fence(holder.lease));
    assert_int_equal(give(&env->fixture, &holder), LK_LOST);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_key_of_a_lost_reply_is_given_back_with_its_lease(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);
    int leases = etcd_leases();

    env_lose_grant(env, &caller, lock, LK_TRY);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_UNKNOWN);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(&etcd) == 0 && etcd_leases() == leases);
}

static void test_lock_outlives_a_restart_of_the_server(void **state) {
    struct env *env = *state;
    struct fixture *fixture = &env->fixture;
    lk_client *client = open_client(fixture, etcd.url);
    struct caller caller, other;
    uint64_t renewed, fence;

    env_hold(env, &caller, fixture->client, 15000);
    fence = lk_lease_fence(caller.lease);
    own_etcd_kill(&etcd, 0);
    assert_int_equal(take(fixture, &other, open_lock(fixture, client, 9000), LK_TRY),
                     LK_UNAVAILABLE);
    own_etcd_restart(&etcd, 0);
    (void)own_etcd_leader(&etcd);
    renewed = counters(fixture->client).renewed;
    WAIT_FOR(&fixture->loop, counters(fixture->client).renewed > renewed);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(take(fixture, &other, open_lock(fixture, client, 9000), LK_TRY), LK_BUSY);
    assert_int_equal(give(fixture, &caller), LK_OK);
    env_hold(env, &other, client, 9000);
    assert_true(lk_lease_fence(other.lease) > fence);
    assert_int_equal(give(fixture, &other), LK_OK);
    close_client(fixture, client);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        ETCD_TEST(test_holder_hears_at_once_that_its_key_was_deleted),
        ETCD_TEST(test_waiter_whose_key_was_deleted_stands_in_line_again),
        ETCD_TEST(test_key_of_a_lost_reply_is_given_back_with_its_lease),
        ETCD_TEST(test_lock_outlives_a_restart_of_the_server),
    };

    return cmocka_run_group_tests(tests, etcd_one_start, etcd_stop);
}
