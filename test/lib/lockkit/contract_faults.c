/* The contract when answers are lost, when a server is silent, and when processes that hold or wait
 * are killed or stopped. */
#include "contract.h"
#include "env.h"
#include "holder.h"

#include <signal.h>

#define LONG_MS 60000 /* a TTL that no test waits for */

static int set_up(void **state) {
    return env_open(state, contract->url, contract->far);
}

static void test_holder_is_told_before_a_successor_is_granted(void **state) {
    struct env *env = *state;
    struct caller caller, next;
    uint64_t fence;

    env_hold_warily(env, &caller, env->far, 2000, 1300);
    fence = lk_lease_fence(caller.lease);
    assert_int_equal(lk_acquire(env->fixture.lock, LK_FOREVER, env_trace_successor, env, NULL),
                     LK_OK);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "successor"));
    assert_string_equal(env->trace, "suspect lost successor ");
    assert_int_equal(lk_lease_check(caller.lease, 0), LK_LOST);
    assert_int_equal(counters(env->far).lost, 1);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    assert_int_not_equal(give(&env->fixture, &caller), LK_OK);
    env_hold(env, &next, env->far, LONG_MS);
    assert_true(lk_lease_fence(next.lease) > fence);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

/* A silent client ends its session: its lease has no time to be suspect for so long. */
static void test_suspect_lease_is_held_again_after_a_renewal(void **state) {
    struct env *env = *state;
    struct caller caller;

    if (has(&env->fixture, LK_CAP_SESSION))
        return;
    env_hold_warily(env, &caller, env->far, 4000, 2400);
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

    env_hold(env, &caller, env->far, 3000);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renewed >= 4);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_null(strstr(env->trace, "lost"));
    assert_int_equal(take(&env->fixture, &other, env->fixture.lock, LK_TRY), LK_BUSY);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_never_creates_the_lock_again(void **state) {
    struct env *env = *state;
    struct caller caller;

    if (!has(&env->fixture, LK_CAP_BREAK))
        return;
    env_hold(env, &caller, env->far, 1000);
    (void)break_lock(&env->fixture, env->fixture.lock, NULL);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    await_crowd(&env->fixture, 0, 0);
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
    assert_int_equal(counters(env->far).release_lost, 1);
}

static void test_grant_whose_reply_is_lost_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;

    if (contract->peeks)
        return;
    env_lose_grant(env, &caller, open_lock(&env->fixture, env->far, LONG_MS), LK_TRY);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_UNKNOWN);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    await_crowd(&env->fixture, 0, 0);
}

static void test_waiter_finds_the_grant_whose_reply_was_lost(void **state) {
    struct env *env = *state;
    struct caller caller;

    env_lose_grant(env, &caller, open_lock(&env->fixture, env->far, LONG_MS), LK_FOREVER);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_OK);
    await_crowd(&env->fixture, 1, 0);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    await_crowd(&env->fixture, 0, 0);
}

static void test_late_grant_goes_to_the_next_waiter(void **state) {
    struct env *env = *state;
    struct caller first, next;
    lk_lock *lock = open_lock(&env->fixture, env->far, LONG_MS);

    env_warm_up(env, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(&first, lock, LK_FOREVER);
    start(&next, lock, LK_FOREVER);
    await_crowd(&env->fixture, 1, 0);
    lk_cancel(first.request);
    WAIT_FOR(&env->fixture.loop, first.calls == 1);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, next.calls == 1);
    assert_int_equal(next.status, LK_OK);
    assert_int_equal(first.status, LK_CANCELED);
    assert_int_equal(counters(env->far).late_grants, 0);
    assert_int_equal(counters(env->far).acquired, 2); /* with the earlier one */
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void test_late_grant_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, LONG_MS);

    env_warm_up(env, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    assert_int_equal(take(&env->fixture, &caller, lock, 20), LK_UNKNOWN);
    await_crowd(&env->fixture, 1, 0);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    await_crowd(&env->fixture, 0, 0);
    assert_int_equal(caller.calls, 1);
    assert_int_equal(counters(env->far).unknown, 1);
}

/* Another client holds it, but no answer says so. */
static void test_wait_at_a_silent_server_is_unknown(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->far, LONG_MS);
    struct caller holder, caller;

    env_warm_up(env, lock);
    obtain(&env->fixture, &holder, env->fixture.lock, 10000);
    time_out(&env->fixture, &caller, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    assert_int_equal(take(&env->fixture, &caller, lock, 20), LK_UNKNOWN);
    assert_int_equal(caller.kept_ns, -1);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
}

static void test_unanswered_release_is_unknown_and_goes_on(void **state) {
    struct env *env = *state;
    struct caller caller;

    env_hold(env, &caller, env->far, LONG_MS);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REQUESTS);
    assert_int_equal(give(&env->fixture, &caller), LK_UNKNOWN);
    fault_proxy_cut(env->proxy);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    await_crowd(&env->fixture, 0, 0);
    assert_int_equal(caller.releases, 1);
}

static void test_close_ends_although_the_server_is_silent(void **state) {
    struct env *env = *state;
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 100, .cleanup_ms = 200};
    struct caller holder, waiter;
    lk_client *client;
    lk_lock *lock;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, env->proxy->url, &options), LK_OK);
    lock = open_lock(&env->fixture, client, LONG_MS);
    obtain(&env->fixture, &holder, lock, LK_FOREVER);
    start(&waiter, lock, LK_FOREVER);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    close_client(&env->fixture, client);
    assert_int_equal(waiter.calls, 1);
    assert_int_equal(waiter.status, LK_CANCELED);
}

/* ---- Other processes */

static void start_holder(struct env *env, struct holder *holder) {
    holder_start(holder, contract->far, env->fixture.name, 1000);
}

static void test_lock_of_a_killed_process_is_freed(void **state) {
    struct env *env = *state;
    struct holder holder;
    struct caller caller;

    start_holder(env, &holder);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&holder));
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_BUSY);
    holder_end(&holder);
    obtain(&env->fixture, &caller, env->fixture.lock, 15000);
    assert_true(lk_lease_fence(caller.lease) > holder.news.fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->fixture.client, LONG_MS);
    struct holder holder;
    struct caller caller;

    start_holder(env, &holder);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&holder));
    assert_int_equal(kill(holder.pid, SIGSTOP), 0);
    obtain(&env->fixture, &caller, lock, 15000);
    assert_true(lk_lease_fence(caller.lease) > holder.news.fence);
    assert_int_equal(kill(holder.pid, SIGCONT), 0);
    WAIT_FOR(&env->fixture.loop, holder_has_news(&holder));
    assert_int_equal(holder.news.state, LK_LOST_STATE);
    assert_int_equal(holder.news.checked, LK_LOST);
    assert_int_equal(holder.news.released, LK_LOST);
    await_crowd(&env->fixture, 1, 0);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    holder_end(&holder);
}

/* The next waiter waits for the lock, and does not take the end of the waiter before it for the end
 * of the lock. */
static void test_waiter_that_dies_in_the_middle_is_passed_over(void **state) {
    struct env *env = *state;
    struct holder middle;
    struct caller first, last;

    if (!has(&env->fixture, LK_CAP_WAITERS))
        return;
    obtain(&env->fixture, &first, env->fixture.lock, LK_TRY);
    start_holder(env, &middle);
    await_crowd(&env->fixture, 1, 1);
    start(&last, open_lock(&env->fixture, env->far, 5000), LK_FOREVER);
    await_crowd(&env->fixture, 1, 2);
    holder_end(&middle);
    await_crowd(&env->fixture, 1, 1);
    assert_int_equal(last.calls, 0);
    assert_int_equal(give(&env->fixture, &first), LK_OK);
    await_and_give(&env->fixture, &last);
}

#define FAULT(test) cmocka_unit_test_setup_teardown(test, set_up, env_close)

const struct CMUnitTest contract_faults[] = {
    FAULT(test_holder_is_told_before_a_successor_is_granted),
    FAULT(test_suspect_lease_is_held_again_after_a_renewal),
    FAULT(test_renewal_keeps_the_lock_past_its_ttl),
    FAULT(test_renewal_never_creates_the_lock_again),
    FAULT(test_grant_whose_reply_is_lost_is_given_back),
    FAULT(test_waiter_finds_the_grant_whose_reply_was_lost),
    FAULT(test_late_grant_goes_to_the_next_waiter),
    FAULT(test_late_grant_is_given_back),
    FAULT(test_wait_at_a_silent_server_is_unknown),
    FAULT(test_unanswered_release_is_unknown_and_goes_on),
    FAULT(test_close_ends_although_the_server_is_silent),
    FAULT(test_lock_of_a_killed_process_is_freed),
    FAULT(test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor),
    FAULT(test_waiter_that_dies_in_the_middle_is_passed_over),
};
const size_t contract_faults_count = sizeof contract_faults / sizeof *contract_faults;
