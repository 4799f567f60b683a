/* Acquiring a lock again that one already holds. */
#include "fault.h"
#include "fixture.h"

struct env {
    struct fixture fixture;
    lk_reentrant *owner;
};

static int set_up(void **state) {
    struct env *env = fixture_open(state, sizeof *env, "local:");

    assert_int_equal(lk_reentrant_open(&env->owner, env->fixture.lock), LK_OK);
    return 0;
}

static int tear_down(void **state) {
    struct env *env = *state;

    lk_reentrant_close(env->owner);
    return fixture_close(state);
}

static void on_taken(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct caller *caller = data;

    (void)request;
    caller->calls++;
    caller->status = status;
    caller->lease = lease;
}

static enum lk_status take_again(struct env *env, struct caller *caller, uint32_t wait_ms) {
    memset(caller, 0, sizeof *caller);
    assert_int_equal(lk_reentrant_acquire(env->owner, wait_ms, on_taken, caller), LK_OK);
    assert_int_equal(caller->calls, 0);
    WAIT_FOR(&env->fixture.loop, caller->calls == 1);
    return caller->status;
}

static enum lk_status give_again(struct env *env, struct caller *caller) {
    lk_reentrant_release(env->owner, on_caller_released, caller);
    assert_int_equal(caller->releases, 0);
    WAIT_FOR(&env->fixture.loop, caller->releases == 1);
    return caller->release_status;
}

static void test_owner_takes_it_again_and_others_wait_for_the_last_release(void **state) {
    struct env *env = *state;
    struct caller first, second, other;

    assert_int_equal(take_again(env, &first, LK_TRY), LK_OK);
    assert_int_equal(take_again(env, &second, LK_TRY), LK_OK);
    assert_ptr_equal(first.lease, second.lease);
    assert_int_equal(lk_reentrant_depth(env->owner), 2);
    start(&other, env->fixture.lock, LK_FOREVER);
    assert_int_equal(give_again(env, &second), LK_OK);
    assert_int_equal(other.calls, 0);
    assert_int_equal(give_again(env, &first), LK_OK);
    assert_int_equal(lk_reentrant_depth(env->owner), 0);
    WAIT_FOR(&env->fixture.loop, other.calls == 1);
    assert_int_equal(take_again(env, &first, LK_TRY), LK_BUSY);
    assert_int_equal(take_again(env, &first, 10), LK_TIMEOUT);
    assert_int_equal(give(&env->fixture, &other), LK_OK);
}

static void test_second_acquisition_waits_for_the_outcome_of_the_first(void **state) {
    struct env *env = *state;
    struct caller first = {0};

    assert_int_equal(lk_reentrant_acquire(env->owner, LK_TRY, on_taken, &first), LK_OK);
    assert_int_equal(lk_reentrant_acquire(env->owner, LK_TRY, on_taken, &first), LK_BUSY);
    WAIT_FOR(&env->fixture.loop, first.calls == 1);
    assert_int_equal(give_again(env, &first), LK_OK);
}

static void test_lost_lock_cannot_be_taken_again_until_all_have_let_go(void **state) {
    struct env *env = *state;
    struct caller first, second;

    assert_int_equal(take_again(env, &first, LK_TRY), LK_OK);
    assert_int_equal(break_lock(&env->fixture, env->fixture.lock, NULL), LK_OK);
    assert_int_equal(take_again(env, &second, LK_TRY), LK_LOST);
    assert_null(second.lease);
    assert_int_equal(give_again(env, &first), LK_LOST);
    assert_int_equal(take_again(env, &second, LK_TRY), LK_OK);
    assert_int_equal(give_again(env, &second), LK_OK);
}

static void live_without_memory(void *arg) {
    struct env *env = arg;
    struct caller callers[2] = {{0}};

    for (int i = 0; i < 2; i++) {
        if (lk_reentrant_acquire(env->owner, LK_TRY, on_taken, &callers[i]) != LK_OK)
            continue;
        WAIT_FOR(&env->fixture.loop, callers[i].calls == 1);
    }
    while (lk_reentrant_depth(env->owner) > 0)
        lk_reentrant_release(env->owner, on_caller_released, &callers[0]);
    turn(&env->fixture, 5);
}

static void test_each_allocation_may_fail(void **state) {
    fault_each_allocation(live_without_memory, *state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_owner_takes_it_again_and_others_wait_for_the_last_release),
        TEST(test_second_acquisition_waits_for_the_outcome_of_the_first),
        TEST(test_lost_lock_cannot_be_taken_again_until_all_have_let_go),
        TEST(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
