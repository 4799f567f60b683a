/* Holders and waiters in other processes, that are killed or stopped. */
#include "etcd_env.h"
#include "holder.h"

#include <signal.h>

#define TTL_MS 1000

static void begin(struct etcd_env *env, struct holder *holder) {
    holder_start(holder, env->own->url, env->fixture.name, TTL_MS);
    WAIT_FOR(&env->fixture.loop, holder_has_news(holder));
}

static void test_lock_of_a_killed_process_is_freed_by_its_ttl(void **state) {
    struct etcd_env *env = *state;
    struct holder holder;
    struct caller caller;

    begin(env, &holder);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_BUSY);
    holder_end(&holder);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, 15000), LK_OK);
    assert_true(lk_lease_fence(caller.lease) > holder.news.fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor(void **state) {
    struct etcd_env *env = *state;
    struct holder holder;
    struct caller caller;

    begin(env, &holder);
    assert_int_equal(kill(holder.pid, SIGSTOP), 0);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, 15000), LK_OK);
    assert_true(lk_lease_fence(caller.lease) > holder.news.fence);
    assert_int_equal(kill(holder.pid, SIGCONT), 0);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&holder));
    assert_int_equal(holder.news.state, LK_LOST_STATE);
    assert_int_equal(holder.news.checked, LK_LOST);
    assert_int_equal(holder.news.released, LK_LOST);
    assert_int_equal(own_etcd_keys(env->own), 1);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    holder_end(&holder);
}

/* Its successor waits for the lock by then, and must not take the middle's end for the lock's. */
static void test_waiter_who_dies_in_the_middle_is_passed_over(void **state) {
    struct etcd_env *env = *state;
    struct holder middle;
    struct caller first, last;
    lk_client *client = open_client(&env->fixture, env->own->url);

    assert_int_equal(take(&env->fixture, &first, env->fixture.lock, LK_TRY), LK_OK);
    holder_start(&middle, env->own->url, env->fixture.name, TTL_MS);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 2);
    start(&last, open_lock(&env->fixture, client, 5000), LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 3);
    holder_end(&middle);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(env->own) == 2);
    assert_int_equal(last.calls, 0);
    assert_int_equal(give(&env->fixture, &first), LK_OK);
    WAIT_FOR(&env->fixture.loop, last.calls == 1);
    assert_int_equal(last.status, LK_OK);
    assert_int_equal(give(&env->fixture, &last), LK_OK);
    close_client(&env->fixture, client);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        ETCD_TEST(test_lock_of_a_killed_process_is_freed_by_its_ttl),
        ETCD_TEST(test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor),
        ETCD_TEST(test_waiter_who_dies_in_the_middle_is_passed_over),
    };

    return cmocka_run_group_tests(tests, etcd_one_start, etcd_stop);
}
