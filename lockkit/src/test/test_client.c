/* Events of a backend: in doubt, lost. The test pushes them, on a real backend. */
#include "client.h"
#include "fixture.h"
#include "redis_admin.h"

struct env {
    struct fixture fixture;
    struct caller holder;
    enum lk_state states[8];
    int told;
};

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct env *env = data;

    assert_ptr_equal(lease, env->holder.lease);
    assert_non_null(why);
    assert_true(env->told < 8);
    env->states[env->told++] = state;
}

static void hold(struct env *env, const char *url, uint32_t ttl_ms) {
    env->fixture.client = open_client(&env->fixture, url);
    env->fixture.lock = open_lock(&env->fixture, env->fixture.client, ttl_ms);
    obtain(&env->fixture, &env->holder, env->fixture.lock, LK_TRY);
    lk_lease_on_state(env->holder.lease, on_state, env);
}

static int set_up(void **state) {
    (void)fixture_open(state, sizeof(struct env), NULL);
    return 0;
}

static void test_lost_is_told_at_once_and_is_final(void **state) {
    struct env *env = *state;
    lk_client *client;

    hold(env, "local:", 0);
    client = env->fixture.client;
    client_push(client, LK_PUSH_LOST, "another name", NULL, "the session has ended");
    client_push(client, LK_PUSH_LOST, NULL, "another owner", "the session has ended");
    assert_int_equal(env->told, 0);
    client_push(client, LK_PUSH_LOST, NULL, NULL, "the session has ended");
    assert_int_equal(env->told, 1);
    assert_int_equal(env->states[0], LK_LOST_STATE);
    assert_int_equal(lk_lease_state(env->holder.lease), LK_LOST_STATE);
    assert_int_equal(lk_lease_check(env->holder.lease, 0), LK_LOST);
    assert_int_equal(lk_lease_remaining_ms(env->holder.lease), 0);
    client_push(client, LK_PUSH_LOST, NULL, NULL, "again");
    client_push(client, LK_PUSH_SUSPECT, NULL, NULL, "again");
    assert_int_equal(env->told, 1);
    (void)give(&env->fixture, &env->holder);
}

static void test_doubt_ends_with_the_next_renewal(void **state) {
    struct env *env = *state;

    hold(env, redis_url(), 3000);
    client_push(env->fixture.client, LK_PUSH_SUSPECT, env->fixture.name,
                lk_lease_owner(env->holder.lease), "the connection was lost");
    assert_int_equal(env->told, 1);
    assert_int_equal(env->states[0], LK_SUSPECT);
    assert_int_equal(lk_lease_state(env->holder.lease), LK_SUSPECT);
    assert_int_equal(lk_lease_check(env->holder.lease, 10), LK_OK);
    WAIT_FOR(&env->fixture.loop, env->told == 2);
    assert_int_equal(env->states[1], LK_HELD);
    assert_int_equal(give(&env->fixture, &env->holder), LK_OK);
}

/* It was granted, and not yet answered, when somebody broke it. */
static void test_lock_that_is_broken_while_it_is_granted_has_one_holder_at_a_time(void **state) {
    struct env *env = *state;
    uv_loop_t *loop = &env->fixture.loop;
    struct caller callers[2], breaker = {0};

    hold(env, "local:", 0);
    assert_int_equal(give(&env->fixture, &env->holder), LK_OK);
    start(&callers[0], env->fixture.lock, LK_FOREVER);
    (void)uv_run(loop, UV_RUN_NOWAIT);
    assert_int_equal(callers[0].calls, 0);
    assert_int_equal(lk_break(env->fixture.lock, NULL, on_caller_released, &breaker), LK_OK);
    start(&callers[1], env->fixture.lock, LK_FOREVER);
    for (int served = 0; served < 2; served++) {
        struct caller *holder;

        WAIT_FOR(loop, callers[0].calls + callers[1].calls > served);
        turn(&env->fixture, 5);
        assert_int_equal(callers[0].calls + callers[1].calls, served + 1);
        holder = callers[0].calls > callers[0].releases ? &callers[0] : &callers[1];
        assert_int_equal(give(&env->fixture, holder), LK_OK);
    }
    assert_int_equal(breaker.release_status, LK_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_close)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_lost_is_told_at_once_and_is_final),
        TEST(test_doubt_ends_with_the_next_renewal),
        TEST(test_lock_that_is_broken_while_it_is_granted_has_one_holder_at_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
