/* Several locks at once: all or none, and never in a circle. */
#include "fault.h"
#include "fixture.h"
#include "redis_admin.h"

#define LOCKS 3

struct env {
    struct fixture fixture;
    lk_lock *locks[LOCKS];
};

struct set_caller {
    int calls, releases;
    enum lk_status status, release_status;
    lk_set *set, *pending;
};

/* On two clients of two backends, and not in the order of their names. */
static int set_up(void **state) {
    static const char *const names[LOCKS] = {"b", "a", "c"};
    struct env *env = fixture_open(state, sizeof *env, NULL);
    struct fixture *fixture = &env->fixture;
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 2000};
    char name[sizeof fixture->name + 2];

    fixture->client = open_client(fixture, "local:");
    fixture->other = open_client(fixture, redis_url());
    for (size_t i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof name, "%s%s", fixture->name, names[i]);
        assert_int_equal(
            lk_lock_open(&env->locks[i], i == 2 ? fixture->other : fixture->client, name, &options),
            LK_OK);
    }
    return 0;
}

static void on_set(enum lk_status status, lk_set *set, void *data) {
    struct set_caller *caller = data;

    caller->calls++;
    caller->status = status;
    caller->set = set;
}

static void on_set_released(enum lk_status status, void *data) {
    struct set_caller *caller = data;

    caller->releases++;
    caller->release_status = status;
}

static void start_all(struct env *env, struct set_caller *caller, uint32_t wait_ms) {
    memset(caller, 0, sizeof *caller);
    assert_int_equal(lk_acquire_all(env->locks, LOCKS, wait_ms, on_set, caller, &caller->pending),
                     LK_OK);
    assert_int_equal(caller->calls, 0);
}

static enum lk_status take_all(struct env *env, struct set_caller *caller, uint32_t wait_ms) {
    start_all(env, caller, wait_ms);
    WAIT_FOR(&env->fixture.loop, caller->calls > 0);
    return caller->status;
}

static enum lk_status give_all(struct env *env, struct set_caller *caller) {
    lk_set_release(caller->set, on_set_released, caller);
    WAIT_FOR(&env->fixture.loop, caller->releases == 1);
    return caller->release_status;
}

static void assert_all_free(struct env *env) {
    for (size_t i = 0; i < LOCKS; i++) {
        (void)use_once(&env->fixture, env->locks[i], LK_TRY);
    }
}

static void test_all_are_held_and_given_back(void **state) {
    struct env *env = *state;
    struct set_caller caller;
    struct caller other;

    assert_int_equal(take_all(env, &caller, LK_TRY), LK_OK);
    assert_int_equal(lk_set_check(caller.set, 10), LK_OK);
    for (size_t i = 0; i < LOCKS; i++) {
        assert_int_equal(take(&env->fixture, &other, env->locks[i], LK_TRY), LK_BUSY);
        assert_true(lk_lease_fence(lk_set_lease(caller.set, i)) > 0);
    }
    assert_int_equal(lk_lease_remaining_ms(lk_set_lease(caller.set, 0)), INT64_MAX);
    assert_true(lk_lease_remaining_ms(lk_set_lease(caller.set, 2)) <= 2000);
    assert_int_equal(give_all(env, &caller), LK_OK);
    assert_all_free(env);
}

static void test_none_is_held_when_one_cannot_be_had(void **state) {
    struct env *env = *state;
    struct set_caller caller;
    struct caller holder;

    for (size_t i = 0; i < LOCKS; i++) {
        obtain(&env->fixture, &holder, env->locks[i], LK_TRY);
        assert_int_equal(take_all(env, &caller, LK_TRY), LK_BUSY);
        for (uint32_t wait_ms = 20; take_all(env, &caller, wait_ms) == LK_UNKNOWN;)
            wait_ms *= 2; /* the servers took longer to answer */
        assert_int_equal(caller.status, LK_TIMEOUT);
        assert_null(caller.set);
        start_all(env, &caller, LK_FOREVER);
        turn(&env->fixture, 5);
        lk_set_cancel(caller.pending);
        WAIT_FOR(&env->fixture.loop, caller.calls == 1);
        assert_int_equal(caller.status, LK_CANCELED);
        assert_int_equal(give(&env->fixture, &holder), LK_OK);
        assert_all_free(env);
    }
}

/* Each caller wants all of them, in an order of its own. */
static void test_those_who_want_the_same_locks_never_block_each_other(void **state) {
    static const size_t orders[][LOCKS] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    struct env *env = *state;
    struct set_caller callers[4] = {{0}};
    int served = 0;

    for (size_t i = 0; i < 4; i++) {
        lk_lock *locks[LOCKS];

        for (size_t j = 0; j < LOCKS; j++)
            locks[j] = env->locks[orders[i][j]];
        assert_int_equal(lk_acquire_all(locks, LOCKS, LK_FOREVER, on_set, &callers[i], NULL),
                         LK_OK);
    }
    while (served < 4) {
        struct set_caller *in = NULL;

        WAIT_FOR(&env->fixture.loop,
                 callers[0].calls + callers[1].calls + callers[2].calls + callers[3].calls ==
                     served + 1);
        for (size_t i = 0; i < 4; i++)
            if (callers[i].calls > 0 && callers[i].releases == 0)
                in = &callers[i];
        assert_non_null(in);
        assert_int_equal(in->status, LK_OK);
        assert_int_equal(give_all(env, in), LK_OK);
        served++;
    }
}

static void test_lost_member_is_told_at_the_release(void **state) {
    struct env *env = *state;
    struct set_caller caller;

    assert_int_equal(take_all(env, &caller, LK_TRY), LK_OK);
    assert_int_equal(break_lock(&env->fixture, env->locks[0], NULL), LK_OK);
    assert_int_equal(lk_set_check(caller.set, 0), LK_LOST);
    assert_int_equal(give_all(env, &caller), LK_LOST);
    assert_all_free(env);
}

static void test_bad_sets_start_nothing(void **state) {
    struct env *env = *state;
    lk_lock *twice[2] = {env->locks[0], env->locks[0]};

    assert_int_equal(lk_acquire_all(env->locks, 0, LK_TRY, on_set, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_acquire_all(env->locks, 65, LK_TRY, on_set, NULL, NULL), LK_INVALID);
    assert_int_equal(lk_acquire_all(twice, 2, LK_TRY, on_set, NULL, NULL), LK_INVALID);
}

static void live_without_memory(void *arg) {
    struct env *env = arg;
    struct set_caller caller = {0};

    if (lk_acquire_all(env->locks, 2, LK_TRY, on_set, &caller, NULL) != LK_OK)
        return;
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    if (caller.status == LK_OK)
        (void)give_all(env, &caller);
}

static void test_each_allocation_may_fail(void **state) {
    struct env *env = *state;

    fault_each_allocation(live_without_memory, env);
    assert_all_free(env);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_close)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_all_are_held_and_given_back),
        TEST(test_none_is_held_when_one_cannot_be_had),
        TEST(test_those_who_want_the_same_locks_never_block_each_other),
        TEST(test_lost_member_is_told_at_the_release),
        TEST(test_bad_sets_start_nothing),
        TEST(test_each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
