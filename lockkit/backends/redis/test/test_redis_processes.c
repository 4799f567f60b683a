/* Holders in other processes, that are killed or stopped while they hold. */
#include "holder.h"
#include "redis_env.h"

#include <signal.h>

#define TTL_MS 800

static void begin(struct env *env, struct holder *holder) {
    holder_start(holder, redis_url(), env->fixture.name, TTL_MS);
    WAIT_FOR(&env->fixture.loop, holder_has_news(holder));
}

static void test_lock_of_a_killed_process_is_freed_by_its_ttl(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);
    struct holder holder;
    struct caller caller;

    begin(env, &holder);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_BUSY);
    holder_end(&holder);
    assert_int_equal(take(&env->fixture, &caller, lock, 15000), LK_OK);
    assert_true(lk_lease_fence(caller.lease) > holder.news.fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor(void **state) {
    struct env *env = *state;
    struct holder holder;
    struct caller caller;

    begin(env, &holder);
    assert_int_equal(kill(holder.pid, SIGSTOP), 0);
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 60000), 15000),
                     LK_OK);
    assert_true(lk_lease_fence(caller.lease) > holder.news.fence);
    assert_int_equal(kill(holder.pid, SIGCONT), 0);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&holder));
    assert_int_equal(holder.news.state, LK_LOST_STATE);
    assert_int_equal(holder.news.checked, LK_LOST);
    assert_int_equal(holder.news.released, LK_LOST);
    assert_owner(env, caller.lease);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    holder_end(&holder);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDIS_TEST(test_lock_of_a_killed_process_is_freed_by_its_ttl),
        REDIS_TEST(test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
