/* Three members, of which some are dead, stopped or without a leader. */
#include "etcd_env.h"

static int other_than(int member) {
    return (member + 1) % OWN_ETCD_MOST;
}

static void revive(int member) {
    own_etcd_restart(&etcd, member);
    (void)own_etcd_leader(&etcd);
}

static void test_others_are_asked_when_one_is_dead(void **state) {
    struct env *env = *state;
    int follower = other_than(own_etcd_leader(&etcd));
    uint64_t fence = 0;

    own_etcd_kill(&etcd, follower);
    for (int i = 0; i < 3; i++) {
        uint64_t next = use_once(&env->fixture, env->fixture.lock, 15000);

        assert_true(next > fence);
        fence = next;
    }
    revive(follower);
}

/* It accepts connections and never answers: whatever was asked of it is asked of another. */
static void test_others_are_asked_when_one_is_stopped(void **state) {
    struct env *env = *state;
    int follower = other_than(own_etcd_leader(&etcd));
    char url[160];
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 4000};
    struct caller caller;
    lk_client *client;

    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d,127.0.0.1:%d", etcd.members[follower].port,
                   etcd.members[other_than(follower)].port);
    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    own_etcd_pause(&etcd, follower);
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, client, 5000), LK_TRY),
                     LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    own_etcd_resume(&etcd, follower);
    close_client(&env->fixture, client);
}

static void test_lease_outlives_the_leader(void **state) {
    struct env *env = *state;
    int leader = own_etcd_leader(&etcd);
    lk_lock *lock = open_lock(&env->fixture, env->fixture.client, 9000);
    struct caller caller;
    uint64_t renewed, fence;

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    fence = lk_lease_fence(caller.lease);
    lk_lease_on_state(caller.lease, env_trace_state, env);
    own_etcd_kill(&etcd, leader);
    renewed = counters(env->fixture.client).renewed;
    WAIT_FOR(&env->fixture.loop, counters(env->fixture.client).renewed >= renewed + 2);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_string_equal(env->trace, "");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    assert_true(use_once(&env->fixture, env->fixture.lock, 15000) > fence);
    revive(leader);
}

/* Only its own answer says so: nobody else is asked. */
static void test_member_without_a_leader_grants_nothing(void **state) {
    struct env *env = *state;
    int leader = own_etcd_leader(&etcd), last = other_than(leader);
    lk_client *client;
    char url[64];

    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d", etcd.members[last].port);
    client = open_client(&env->fixture, url);
    own_etcd_kill(&etcd, leader);
    own_etcd_kill(&etcd, other_than(last));
    await_unavailable(&env->fixture, open_lock(&env->fixture, client, 5000));
    own_etcd_restart(&etcd, other_than(last));
    revive(leader);
    close_client(&env->fixture, client);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        ETCD_TEST(test_others_are_asked_when_one_is_dead),
        ETCD_TEST(test_others_are_asked_when_one_is_stopped),
        ETCD_TEST(test_lease_outlives_the_leader),
        ETCD_TEST(test_member_without_a_leader_grants_nothing),
    };

    return cmocka_run_group_tests(tests, etcd_three_start, etcd_stop);
}
