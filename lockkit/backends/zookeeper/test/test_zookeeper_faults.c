/* The zookeeper backend when connections break, answers are lost, sessions expire, holders and
 * waiters are killed, and an ensemble loses its leader. */
#include "holder.h"
#include "zookeeper_env.h"

/* The far client once more, with another session. */
static void reopen_far(struct env *env, int session_ms, uint32_t patience_ms) {
    struct lk_client_options options = {
        .size = sizeof options, .reply_ms = patience_ms, .cleanup_ms = patience_ms};
    char url[100];

    close_client(&env->fixture, env->far);
    (void)snprintf(url, sizeof url, "zookeeper://127.0.0.1:%d/test?session=%d", env->proxy->port,
                   session_ms);
    assert_int_equal(lk_client_open(&env->far, &env->fixture.loop, url, &options), LK_OK);
}

static void test_broken_connection_is_suspect_until_a_renewal(void **state) {
    struct env *env = *state;
    struct caller caller;

    reopen_far(env, 9000, FIXTURE_REPLY_MS);
    env_hold(env, &caller, env->far, 10000);
    fault_proxy_cut(env->proxy);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "held"));
    assert_int_equal(strncmp(env->trace, "suspect ", 8), 0);
    assert_null(strstr(env->trace, "lost"));
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

/* The session goes on after the loss of its lease: its node must not stay in the way. */
static void test_lease_lost_in_silence_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;

    env_hold(env, &caller, env->far, 10000);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    assert_int_not_equal(give(&env->fixture, &caller), LK_BUSY);
    use_once(&env->fixture, env->fixture.lock, 10000);
    await_crowd(&env->fixture, 0, 0);
}

/* The session goes on, and the holder does nothing. */
static void test_lease_lost_in_silence_is_free_before_its_holder_gives_it_back(void **state) {
    struct env *env = *state;
    struct caller caller;

    reopen_far(env, 3000, FIXTURE_REPLY_MS);
    env_hold(env, &caller, env->far, 10000);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    use_once(&env->fixture, env->fixture.lock, 10000);
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

/* Nobody waits for it any more: it gives its grant back. */
static void test_wait_that_is_over_before_the_answer_leaves_nothing(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->far, 10000);
    struct caller caller;

    use_once(&env->fixture, lock, LK_TRY);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    assert_int_equal(take(&env->fixture, &caller, lock, 100), LK_UNKNOWN);
    await_crowd(&env->fixture, 1, 0);
    fault_proxy_cut(env->proxy);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    await_crowd(&env->fixture, 0, 0);
}

/* Its client stays, with its session: only its node can go. */
static void test_waiter_that_gives_up_while_cut_off_leaves_the_line(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    reopen_far(env, 60000, 100);
    obtain(&env->fixture, &holder, env->fixture.lock, LK_FOREVER);
    start(&waiter, open_lock(&env->fixture, env->far, 10000), 1000);
    await_crowd(&env->fixture, 1, 1);
    fault_proxy_set(env->proxy, PROXY_REFUSES);
    WAIT_FOR(&env->fixture.loop, waiter.calls > 0);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    await_crowd(&env->fixture, 1, 0);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
}

/* The core stops trying earlier: the session is long, and the lock must not stay for so long. */
static void test_release_in_an_outage_takes_effect_after_it(void **state) {
    struct env *env = *state;
    struct caller holder;
    int64_t until_ms;

    reopen_far(env, 60000, 100);
    env_hold(env, &holder, env->far, 10000);
    fault_proxy_set(env->proxy, PROXY_REFUSES);
    assert_int_equal(give(&env->fixture, &holder), LK_UNKNOWN);
    until_ms = clock_now_ms() + 500; /* some time more: it has given up by then */
    WAIT_FOR(&env->fixture.loop, clock_now_ms() >= until_ms);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    use_once(&env->fixture, env->fixture.lock, 10000);
}

/* A starting server does this: it never answers the first connection, and answers the next one. */
static void test_silence_after_connecting_does_not_cost_the_lease(void **state) {
    struct env *env = *state;
    struct caller holder;
    unsigned clients;

    reopen_far(env, 9000, FIXTURE_REPLY_MS);
    env_hold(env, &holder, env->far, 10000);
    clients = env->proxy->clients;
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    fault_proxy_cut(env->proxy);
    WAIT_FOR(&env->fixture.loop, env->proxy->clients == clients + 1);
    WAIT_FOR(&env->fixture.loop, env->proxy->clients == clients + 2 || strstr(env->trace, "lost"));
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "held") || strstr(env->trace, "lost"));
    assert_null(strstr(env->trace, "lost"));
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
}

static void test_restarted_server_keeps_the_session(void **state) {
    struct env *env = *state;
    struct caller holder;
    uint64_t fence;

    close_client(&env->fixture, env->far);
    env->far = open_zookeeper(env, zookeeper.url, "?session=60000");
    env_hold(env, &holder, env->far, 10000);
    fence = lk_lease_fence(holder.lease);
    own_zookeeper_kill(&zookeeper, 0);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "suspect"));
    own_zookeeper_restart(&zookeeper, 0);
    for (int i = 0; i < 2 && strstr(env->trace, "held") == NULL;
         i++) { /* it may leave one unanswered */
        const int64_t until_ms = clock_now_ms() + 15000;

        WAIT_FOR(&env->fixture.loop, strstr(env->trace, "held") || clock_now_ms() >= until_ms);
    }
    assert_non_null(strstr(env->trace, "held"));
    assert_int_equal(strncmp(env->trace, "suspect ", 8), 0);
    assert_null(strstr(env->trace, "lost"));
    await_crowd(&env->fixture, 1, 0);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    env_hold(env, &holder, env->far, 10000);
    assert_true(lk_lease_fence(holder.lease) > fence);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
}

#define ENSEMBLE 3

static struct fault_proxy *proxies[ENSEMBLE];

static int close_ensemble(void **state) {
    for (int i = 0; i < ENSEMBLE; i++)
        fault_proxy_close(proxies[i]);
    return env_close(state);
}

/* A client with three addresses leaves a silent one early enough to keep its lease. */
static void open_ensemble(struct env *env) {
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 1000};
    char servers[120] = "zookeeper:/";

    for (int i = 0; i < ENSEMBLE; i++) {
        proxies[i] = fault_proxy_open_url(&env->fixture.loop, zookeeper.url);
        fault_proxy_listen(proxies[i]);
        (void)snprintf(servers + strlen(servers), sizeof servers - strlen(servers),
                       "%s127.0.0.1:%d", i ? "," : "/", proxies[i]->port);
    }
    (void)strcat(servers, "/test?session=9000");
    close_client(&env->fixture, env->far);
    assert_int_equal(lk_client_open(&env->far, &env->fixture.loop, servers, &options), LK_OK);
}

/* The server in use falls silent, and so is the next one that it tries. */
static void test_silent_servers_of_an_ensemble_do_not_cost_the_lease(void **state) {
    struct env *env = *state;
    struct caller holder;
    int used = 0;

    open_ensemble(env);
    env_hold(env, &holder, env->far, 10000);
    while (used < ENSEMBLE - 1 && proxies[used]->clients == proxies[used]->cuts)
        used++;
    fault_proxy_set(proxies[used], PROXY_HOLDS);
    fault_proxy_set(proxies[(used + 1) % ENSEMBLE], PROXY_HOLDS);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "held") || strstr(env->trace, "lost"));
    assert_int_equal(strncmp(env->trace, "suspect ", 8), 0);
    assert_null(strstr(env->trace, "lost"));
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
}

/* If no server answers, a command ends in time, and says that nothing was done. */
static void test_server_that_is_away_is_unavailable(void **state) {
    struct env *env = *state;
    struct caller caller;

    fault_proxy_set(env->proxy, PROXY_REFUSES);
    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 10000), LK_TRY),
        LK_UNAVAILABLE);
}

/* ---- Processes, and an ensemble */

static void test_lock_of_a_killed_process_is_freed_with_its_session(void **state) {
    struct env *env = *state;
    struct holder child;
    struct caller caller;
    char url[300];

    (void)snprintf(url, sizeof url, "%s/test?session=1000", zookeeper.url);
    holder_start(&child, url, env->fixture.name, 0);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&child));
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_BUSY);
    holder_end(&child);
    obtain(&env->fixture, &caller, env->fixture.lock, 15000);
    assert_true(lk_lease_fence(caller.lease) > child.news.fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

enum { CROWD = 5, ROUNDS = 12 };

/* Each process that gets it gives it back. */
static bool have_ended(struct caller *callers) {
    bool have_ended = true;

    for (int i = 0; i < CROWD; i++) {
        struct caller *caller = &callers[i];

        if (caller->lease != NULL)
            lk_release(caller->lease, on_caller_released, caller);
        caller->lease = NULL;
        if (caller->releases > 0)
            assert_int_equal(caller->release_status, LK_OK);
        have_ended = have_ended && caller->calls > 0 && (caller->status || caller->releases > 0);
    }
    return have_ended;
}

/* Five clients come and go in any order: one after the other gets it, and nothing is left. */
static void test_predecessors_that_go_at_any_moment_block_nobody(void **state) {
    struct env *env = *state;
    const struct lk_lock_options fair = {.is_fair = 1};
    lk_lock *locks[] = {open_lock_as(&env->fixture, env->fixture.client, fair),
                        open_lock_as(&env->fixture, env->far, fair)};
    struct caller callers[CROWD];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CROWD; i++)
            start(&callers[i], locks[i % 2], LK_FOREVER);
        for (int turns = 0; turns < round; turns++)
            (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
        for (int i = 1; i < CROWD; i += 2)
            if (callers[i].request != NULL)
                lk_cancel(callers[i].request);
        WAIT_FOR(&env->fixture.loop, have_ended(callers));
    }
    await_crowd(&env->fixture, 0, 0);
}

static void test_ensemble_that_loses_its_leader_keeps_locks_and_fences(void **state) {
    struct env *env = *state;
    struct caller holder, waiter, other;
    uint64_t fence;
    lk_lock *lock;
    int leader;

    obtain(&env->fixture, &holder, env->fixture.lock, LK_FOREVER);
    lk_lease_on_state(holder.lease, env_trace_state, env);
    fence = lk_lease_fence(holder.lease);
    start(&waiter, open_lock(&env->fixture, env->far, 10000), LK_FOREVER);
    await_crowd(&env->fixture, 1, 1);
    leader = own_zookeeper_leader(&zookeeper);
    assert_true(leader >= 0);
    own_zookeeper_kill(&zookeeper, leader);
    WAIT_FOR(&env->fixture.loop, own_zookeeper_leader(&zookeeper) >= 0);
    own_zookeeper_restart(&zookeeper, leader);
    WAIT_FOR(&env->fixture.loop, own_zookeeper_is_up(&zookeeper));
    /* Its client is connected again when it gets another lock. */
    assert_int_equal(lk_lock_open(&lock, env->fixture.client, "another", NULL), LK_OK);
    obtain(&env->fixture, &other, lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, lk_lease_state(holder.lease) != LK_SUSPECT);
    assert_int_equal(lk_lease_check(holder.lease, 0), LK_OK);
    assert_int_equal(give(&env->fixture, &other), LK_OK);
    assert_int_equal(waiter.calls, 0);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, waiter.calls > 0);
    assert_int_equal(waiter.status, LK_OK);
    assert_true(lk_lease_fence(waiter.lease) > fence);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        ZOOKEEPER_TEST(test_broken_connection_is_suspect_until_a_renewal),
        ZOOKEEPER_TEST(test_lease_lost_in_silence_is_given_back),
        ZOOKEEPER_TEST(test_lease_lost_in_silence_is_free_before_its_holder_gives_it_back),
        ZOOKEEPER_TEST(test_wait_that_is_over_before_the_answer_leaves_nothing),
        ZOOKEEPER_TEST(test_waiter_that_gives_up_while_cut_off_leaves_the_line),
        ZOOKEEPER_TEST(test_release_in_an_outage_takes_effect_after_it),
        cmocka_unit_test_setup_teardown(test_silent_servers_of_an_ensemble_do_not_cost_the_lease,
                                        zookeeper_env_set_up, close_ensemble),
        ZOOKEEPER_TEST(test_silence_after_connecting_does_not_cost_the_lease),
        ZOOKEEPER_TEST(test_server_that_is_away_is_unavailable),
        ZOOKEEPER_TEST(test_restarted_server_keeps_the_session),
        ZOOKEEPER_TEST(test_predecessors_that_go_at_any_moment_block_nobody),
    };
    static const struct CMUnitTest of_three[] = {
        ZOOKEEPER_TEST(test_lock_of_a_killed_process_is_freed_with_its_session),
        ZOOKEEPER_TEST(test_predecessors_that_go_at_any_moment_block_nobody),
        ZOOKEEPER_TEST(test_ensemble_that_loses_its_leader_keeps_locks_and_fences),
    };

    return cmocka_run_group_tests(tests, zookeeper_up, zookeeper_down) +
           cmocka_run_group_tests(of_three, zookeeper_up_three, zookeeper_down);
}
