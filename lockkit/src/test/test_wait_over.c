/* The status of a wait that is over: TIMEOUT needs the word of the server, or of the client, that
 * another owner holds the lock. */
#include "scripted.h"

static lk_lock *open_quiet(struct scripted *env, struct lk_lock_options options) {
    options.poll_ms = LONG_MS;
    options.ttl_ms = TTL_MS;
    return open_scripted(env, options);
}

/* Its wait ends now. */
static enum lk_status wait_is_over(struct scripted *env, struct caller *caller) {
    uv_timer_t *timer = &caller->request->lease->timer;

    assert_int_equal(uv_timer_start(timer, timer->timer_cb, 0, 0), 0);
    WAIT_FOR(&env->fixture.loop, caller->calls == 1);
    return caller->status;
}

/* The holder gets the lock by attempt 0. */
static void hold(struct scripted *env, struct caller *holder, lk_lock *lock) {
    start(holder, lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_OK);
    scripted_wait_ms(env, 1);
}

static void test_wait_without_an_answer_is_unknown(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LONG_MS);
    start(&next, env->fixture.lock, LONG_MS);
    (void)expect_command(env, 0, LK_ACQUIRE);
    assert_int_equal(wait_is_over(env, &next), LK_UNKNOWN);
    assert_int_equal(wait_is_over(env, &first), LK_UNKNOWN);
    answer_command(env, 0, LK_UNKNOWN);
    scripted_wait_ms(env, 2 * TTL_MS); /* its release needs no second answer */
    answer_release(env, 1, 0);
    assert_int_equal(counters(env->fixture.client).timed_out, 0);
    assert_int_equal(counters(env->fixture.client).unknown, 2);
}

static void test_waiter_behind_knows_what_the_head_was_told(void **state) {
    static const struct {
        enum lk_status answer, status;
    } rows[] = {{LK_BUSY, LK_TIMEOUT}, {LK_UNAVAILABLE, LK_UNAVAILABLE}, {LK_REFUSED, LK_REFUSED}};
    struct scripted *env = *state;
    lk_lock *lock = open_quiet(env, (struct lk_lock_options){0});
    struct caller first, next;

    for (int i = 0; i < 3; i++) {
        start(&first, lock, LONG_MS);
        (void)expect_command(env, i, LK_ACQUIRE);
        answer_command(env, i, rows[i].answer);
        scripted_wait_ms(env, 1);
        start(&next, lock, LONG_MS);
        assert_int_equal(wait_is_over(env, &next), rows[i].status);
        assert_int_equal(wait_is_over(env, &first), rows[i].status);
    }
}

static void test_refusal_in_an_earlier_wait_is_no_answer_in_this_one(void **state) {
    struct scripted *env = *state;
    lk_lock *lock = open_quiet(env, (struct lk_lock_options){0});
    struct caller caller;

    start(&caller, lock, LONG_MS);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_BUSY);
    assert_int_equal(wait_is_over(env, &caller), LK_TIMEOUT);
    assert_int_equal(caller.kept_ns, 0);
    scripted_wait_ms(env, 1);
    start(&caller, lock, LONG_MS);
    (void)expect_command(env, 1, LK_ACQUIRE);
    assert_int_equal(wait_is_over(env, &caller), LK_UNKNOWN);
    assert_int_equal(caller.kept_ns, -1);
    answer_command(env, 1, LK_BUSY);
}

static void test_place_in_line_is_passed_on_with_the_answer(void **state) {
    struct scripted *env = *state;
    lk_lock *lock = open_quiet(env, (struct lk_lock_options){0});
    struct caller first, next;

    start(&first, lock, LONG_MS);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_in_line(env, 0);
    scripted_wait_ms(env, 1);
    start(&next, lock, LONG_MS);
    assert_int_equal(wait_is_over(env, &first), LK_TIMEOUT);
    assert_int_equal(wait_is_over(env, &next), LK_TIMEOUT);
    answer_release(env, 1, 0);
}

static void test_client_knows_what_it_holds_itself(void **state) {
    static const struct {
        enum lk_mode holder, waiter;
        enum lk_status status;
    } rows[] = {{LK_EXCLUSIVE, LK_EXCLUSIVE, LK_TIMEOUT},
                {LK_SHARED, LK_EXCLUSIVE, LK_TIMEOUT},
                {LK_EXCLUSIVE, LK_SHARED, LK_TIMEOUT},
                {LK_SHARED, LK_SHARED, LK_UNKNOWN}};
    struct scripted *env = *state;
    struct caller holder, waiter;

    for (int i = 0; i < 4; i++) {
        env->server.count = 0;
        hold(env, &holder, open_quiet(env, (struct lk_lock_options){.mode = rows[i].holder}));
        start(&waiter, open_quiet(env, (struct lk_lock_options){.mode = rows[i].waiter}), LONG_MS);
        (void)expect_command(env, 1, LK_ACQUIRE);
        assert_int_equal(wait_is_over(env, &waiter), rows[i].status);
        answer_command(env, 1, LK_BUSY);
        expect_granted(env, &holder, 0);
    }
}

static void test_lost_lease_keeps_the_lock_from_nobody(void **state) {
    struct scripted *env = *state;
    lk_lock *lock = open_quiet(env, (struct lk_lock_options){0});
    struct caller holder, waiter;

    hold(env, &holder, lock);
    client_push(env->fixture.client, LK_PUSH_LOST, NULL, env->server.owners[0], "the test says so");
    start(&waiter, lock, LONG_MS);
    (void)expect_command(env, 1, LK_ACQUIRE);
    assert_int_equal(wait_is_over(env, &waiter), LK_UNKNOWN);
    answer_command(env, 1, LK_BUSY);
    lk_release(holder.lease, on_caller_released, &holder);
    answer_release(env, 2, 0);
}

static void test_wait_for_room_is_unavailable(void **state) {
    struct scripted *env = *state;
    struct caller other, first, next;
    lk_lock *lock;

    env->server.backend.acquires_most = 1;
    env->fixture.client->acquires_room = 1;
    assert_int_equal(lk_lock_open(&lock, env->fixture.client, "other", NULL), LK_OK);
    start(&other, lock, LONG_MS);
    (void)expect_command(env, 0, LK_ACQUIRE);
    start(&first, env->fixture.lock, LONG_MS);
    start(&next, env->fixture.lock, LONG_MS);
    scripted_settle(env);
    assert_int_equal(wait_is_over(env, &next), LK_UNAVAILABLE);
    assert_int_equal(wait_is_over(env, &first), LK_UNAVAILABLE);
    answer_command(env, 0, LK_OK);
    expect_granted(env, &other, 0);
    assert_int_equal(env->server.count, 2); /* nothing was sent for `first` and `next` */
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        SCRIPTED_TEST(test_wait_without_an_answer_is_unknown),
        SCRIPTED_TEST(test_waiter_behind_knows_what_the_head_was_told),
        SCRIPTED_TEST(test_refusal_in_an_earlier_wait_is_no_answer_in_this_one),
        SCRIPTED_TEST(test_place_in_line_is_passed_on_with_the_answer),
        SCRIPTED_TEST(test_client_knows_what_it_holds_itself),
        SCRIPTED_TEST(test_lost_lease_keeps_the_lock_from_nobody),
        SCRIPTED_TEST(test_wait_for_room_is_unavailable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
