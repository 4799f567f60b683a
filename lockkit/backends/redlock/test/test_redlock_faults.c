/* Redlock when nodes die, stop, restart without their memory, or lose their answers. */
#include "fault_proxy.h"
#include "redlock_env.h"

static void kill_nodes(struct redlock_env *env, int first, int count) {
    for (int i = first; i < first + count; i++)
        own_redis_kill(&env->ensemble->nodes[i]);
}

static void pause_nodes(struct redlock_env *env, int first, int count) {
    for (int i = first; i < first + count; i++)
        own_redis_pause(&env->ensemble->nodes[i]);
}

static void go_on(struct redlock_env *env, int first, int count) {
    for (int i = first; i < first + count; i++)
        own_redis_go_on(&env->ensemble->nodes[i]);
}

static void test_grant_is_on_all_nodes_and_leaves_none(void **state) {
    struct redlock_env *env = *state;
    struct caller caller;

    obtain(&env->fixture, &caller, env->fixture.lock, LK_TRY);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 5);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
}

static void test_minority_that_is_killed_is_not_missed(void **state) {
    struct redlock_env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->fixture.client, 3000);
    struct caller caller;

    obtain(&env->fixture, &caller, lock, LK_TRY);
    kill_nodes(env, 1, 2);
    WAIT_FOR(&env->fixture.loop, counters(env->fixture.client).renewed >= 4);
    assert_int_equal(lk_lease_check(caller.lease, 0), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    use_once(&env->fixture, lock, LK_TRY);
}

static void test_minority_that_is_stopped_is_tidied_when_it_goes_on(void **state) {
    struct redlock_env *env = *state;
    lk_lock *lock = env->fixture.lock;

    use_once(&env->fixture, lock, LK_TRY);
    pause_nodes(env, 3, 2);
    use_once(&env->fixture, lock, LK_TRY);
    go_on(env, 3, 2);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
}

static void test_late_answers_of_a_failed_attempt_are_taken_back_everywhere(void **state) {
    struct redlock_env *env = *state;
    lk_lock *lock = env->fixture.lock;
    struct caller caller;

    use_once(&env->fixture, lock, LK_TRY);
    pause_nodes(env, 0, 3);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNKNOWN);
    go_on(env, 0, 3);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
    use_once(&env->fixture, lock, 10000);
}

static void test_without_a_majority_it_is_unavailable_and_nothing_is_left(void **state) {
    struct redlock_env *env = *state;
    lk_lock *lock = env->fixture.lock;

    use_once(&env->fixture, lock, LK_TRY);
    kill_nodes(env, 0, 3);
    await_unavailable(&env->fixture, lock);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
    own_ensemble_renew(env->ensemble);
    use_once(&env->fixture, lock, 10000);
}

static void test_holder_without_a_majority_is_suspect_and_lost(void **state) {
    struct redlock_env *env = *state;
    struct caller caller;

    obtain(&env->fixture, &caller, open_lock(&env->fixture, env->fixture.client, 2000), LK_TRY);
    kill_nodes(env, 0, 3);
    WAIT_FOR(&env->fixture.loop, lk_lease_state(caller.lease) == LK_SUSPECT);
    WAIT_FOR(&env->fixture.loop, lk_lease_state(caller.lease) == LK_LOST_STATE);
    lk_release(caller.lease, NULL, NULL);
}

static void set_counter(struct redlock_env *env, int node, int64_t value) {
    (void)own_redis_do(&env->ensemble->nodes[node], "SET lk:{%s}:vote:fence %lld",
                       env->fixture.name, (long long)value);
}

static int64_t counter(struct redlock_env *env, int node) {
    redisReply *reply =
        redisCommand(env->ensemble->nodes[node].admin, "GET lk:{%s}:vote:fence", env->fixture.name);
    int64_t value = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;

    freeReplyObject(reply);
    return value;
}

/* An ensemble of three; proxies hold back the answers of two. */
static void test_vote_whose_answer_was_lost_is_taken_back(void **state) {
    struct redlock_env *env = *state;
    struct fault_proxy *proxies[2];
    struct caller caller;
    int64_t minted[2];
    lk_client *client;
    lk_lock *lock;
    char url[2048];

    for (int i = 0; i < 2; i++) {
        proxies[i] = fault_proxy_open_url(&env->fixture.loop, env->ensemble->nodes[i].url);
        fault_proxy_listen(proxies[i]);
    }
    (void)snprintf(url, sizeof url, "redlock:%s,%s,%s?quarantine=0&cutoff=%d", proxies[0]->url,
                   proxies[1]->url, env->ensemble->nodes[2].url, FIXTURE_REPLY_MS);
    client = open_client(&env->fixture, url);
    lock = open_lock(&env->fixture, client, REDLOCK_LONG_MS);
    use_once(&env->fixture, lock, LK_TRY);
    for (int i = 0; i < 2; i++) /* also on nodes for which the majority did not wait */
        WAIT_FOR(&env->fixture.loop, counter(env, i) > 0);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
    for (int i = 0; i < 2; i++) {
        fault_proxy_set(proxies[i], PROXY_HOLDS_REPLIES);
        minted[i] = counter(env, i);
    }
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNKNOWN);
    for (int i = 0; i < 2; i++) /* it was granted there */
        WAIT_FOR(&env->fixture.loop, counter(env, i) > minted[i]);
    for (int i = 0; i < 2; i++) {
        fault_proxy_cut(proxies[i]);
        fault_proxy_set(proxies[i], PROXY_PASSES);
    }
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
    close_client(&env->fixture, client);
    for (int i = 0; i < 2; i++)
        fault_proxy_close(proxies[i]);
}

/* The fifth failure of a month: each node has restarted, empty, but never two of them between
 * renewals. */
static void test_lease_outlives_the_restart_of_every_node(void **state) {
    struct redlock_env *env = *state;
    struct caller caller;

    obtain(&env->fixture, &caller, open_lock(&env->fixture, env->fixture.client, 3000), LK_TRY);
    for (int i = 0; i < ENSEMBLE_NODES; i++) {
        own_redis_kill(&env->ensemble->nodes[i]);
        own_redis_start_again(&env->ensemble->nodes[i]);
        WAIT_FOR(&env->fixture.loop, vote_left_ms(env, i) > 0);
    }
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
}

static void test_broken_lock_is_not_filled_again(void **state) {
    struct redlock_env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->fixture.client, 900);
    struct caller holder;

    obtain(&env->fixture, &holder, lock, LK_TRY);
    pause_nodes(env, 4, 1); /* and keeps its vote */
    assert_int_equal(break_lock(&env->fixture, lock, NULL), LK_OK);
    go_on(env, 4, 1);
    WAIT_FOR(&env->fixture.loop, lk_lease_state(holder.lease) == LK_LOST_STATE);
    assert_int_equal(give(&env->fixture, &holder), LK_LOST);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 0);
}

/* Clients with clocks far ahead have left a different counter on each node. */
static void test_token_stands_with_a_majority_before_the_grant_is_told(void **state) {
    struct redlock_env *env = *state;
    lk_lock *lock = env->fixture.lock;
    const int64_t ahead = clock_wall_us() + 3600000000;
    uint64_t last = 0;

    for (int i = 0; i < ENSEMBLE_NODES; i++)
        set_counter(env, i, ahead + 1000 * i);
    for (int round = 0; round < 5; round++) {
        struct caller caller;
        int raised = 0;

        obtain(&env->fixture, &caller, lock, LK_TRY);
        for (int i = 0; i < ENSEMBLE_NODES; i++)
            raised += counter(env, i) >= (int64_t)lk_lease_fence(caller.lease);
        assert_true(raised >= 3);
        assert_true(lk_lease_fence(caller.lease) > last);
        assert_true(lk_lease_fence(caller.lease) > (uint64_t)ahead + 2000);
        last = lk_lease_fence(caller.lease);
        assert_int_equal(give(&env->fixture, &caller), LK_OK);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDLOCK_TEST(test_grant_is_on_all_nodes_and_leaves_none),
        REDLOCK_TEST(test_minority_that_is_killed_is_not_missed),
        REDLOCK_TEST(test_minority_that_is_stopped_is_tidied_when_it_goes_on),
        REDLOCK_TEST(test_late_answers_of_a_failed_attempt_are_taken_back_everywhere),
        REDLOCK_TEST(test_without_a_majority_it_is_unavailable_and_nothing_is_left),
        REDLOCK_TEST(test_holder_without_a_majority_is_suspect_and_lost),
        REDLOCK_TEST(test_vote_whose_answer_was_lost_is_taken_back),
        REDLOCK_TEST(test_lease_outlives_the_restart_of_every_node),
        REDLOCK_TEST(test_broken_lock_is_not_filled_again),
        REDLOCK_TEST(test_token_stands_with_a_majority_before_the_grant_is_told),
    };

    return REDLOCK_MAIN(tests);
}
