/* Processes on the zookeeper backend: holders and waiters that are killed or stopped, and an
 * ensemble that loses its leader. */
#include "holder.h"
#include "zookeeper_env.h"

#include <signal.h>

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

/* Whoever has got it gives it back. */
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

/* Among five who come and go in any order, one after the other gets it, and nothing is left. */
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
