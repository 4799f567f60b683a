/* The waiters of a name, at a server that answers at the test's command. */
#include "scripted.h"

/* Attempt 0 is under way, for the first of so many waiters that never poll. The others stand behind
 * it. */
static void start_in_line(struct scripted *env, struct caller *callers, int count,
                          struct lk_lock_options options) {
    options.poll_ms = LONG_MS;
    for (int i = 0; i < count; i++)
        start(&callers[i], open_scripted(env, options), LK_FOREVER);
    assert_int_equal(env->server.count, 0); /* not inside the call */
    (void)expect_command(env, 0, LK_ACQUIRE);
}

static void test_only_the_head_attempts(void **state) {
    struct scripted *env = *state;
    struct caller callers[2];

    start_in_line(env, callers, 2, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer_command(env, 0, LK_OK);
    (void)expect_command(env, 0, LK_ACQUIRE);
    expect_granted(env, &callers[0], 0);
    (void)expect_command(env, 2, LK_ACQUIRE);
    assert_int_equal(counters(env->fixture.client).wakeups, 1);
    answer_command(env, 2, LK_BUSY);
    end_wait(env, &callers[1]);
}

static void test_event_during_an_attempt_brings_another(void **state) {
    struct scripted *env = *state;
    struct caller caller;

    start_in_line(env, &caller, 1, (struct lk_lock_options){.ttl_ms = TTL_MS});
    queue_given_back(env->fixture.lock->queue);
    queue_given_back(env->fixture.lock->queue);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_BUSY);
    (void)expect_command(env, 1, LK_ACQUIRE); /* one for both events */
    answer_command(env, 1, LK_BUSY);
    (void)expect_command(env, 1, LK_ACQUIRE);
    end_wait(env, &caller);
}

static void test_refused_head_attempts_when_the_holders_ttl_ends(void **state) {
    struct scripted *env = *state;
    struct caller caller;

    start_in_line(env, &caller, 1, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer_until(env, 0, LK_BUSY, 5);
    (void)expect_command(env, 1, LK_ACQUIRE);
    assert_int_equal(counters(env->fixture.client).polls, 1);
    answer_command(env, 1, LK_BUSY);
    end_wait(env, &caller);
}

static void test_new_head_asks_at_once_as_the_old_ones_place_is_gone(void **state) {
    struct scripted *env = *state;
    struct caller callers[2];

    start_in_line(env, callers, 2, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer_command(env, 0, LK_BUSY);
    end_wait(env, &callers[0]);
    (void)expect_command(env, 1, LK_ACQUIRE);
    answer_command(env, 1, LK_BUSY);
    end_wait(env, &callers[1]);
}

static void test_next_who_shares_asks_at_once_after_a_shared_grant(void **state) {
    struct scripted *env = *state;
    struct caller callers[2];

    start_in_line(env, callers, 2, (struct lk_lock_options){.mode = LK_SHARED});
    answer_command(env, 0, LK_OK);
    (void)expect_command(env, 1, LK_ACQUIRE);
    answer_command(env, 1, LK_BUSY);
    end_wait(env, &callers[1]);
    expect_granted(env, &callers[0], 0);
}

/* By its name, by an event for all names, and by an owner without a queue of its own. */
static void test_push_wakes_the_queues_that_it_is_for(void **state) {
    struct scripted *env = *state;
    const char *pushes[][2] = {{env->fixture.name}, {NULL}, {env->fixture.name, "somebody"}};
    struct caller caller;

    start_in_line(env, &caller, 1, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer_command(env, 0, LK_BUSY);
    push_free(env, "other", NULL);
    (void)expect_command(env, 0, LK_ACQUIRE);
    for (int i = 0; i < 3; i++) {
        push_free(env, pushes[i][0], pushes[i][1]);
        (void)expect_command(env, i + 1, LK_ACQUIRE);
        answer_command(env, i + 1, LK_BUSY);
    }
    end_wait(env, &caller);
}

static void test_push_by_name_wakes_waiters_with_a_place_of_their_own(void **state) {
    struct scripted *env = *state;
    struct caller callers[2];
    lk_lock *lock;

    env->fixture.client->caps |= LK_CAP_FAIR | LK_CAP_CROSS_PROCESS;
    lock = open_scripted(env, (struct lk_lock_options){.poll_ms = LONG_MS, .is_fair = 1});
    start(&callers[0], lock, LK_FOREVER);
    start(&callers[1], lock, LK_FOREVER);
    (void)expect_command(env, 1, LK_ACQUIRE);
    answer_command(env, 0, LK_BUSY);
    answer_command(env, 1, LK_BUSY);
    push_free(env, "other", NULL);
    (void)expect_command(env, 1, LK_ACQUIRE);
    push_free(env, env->fixture.name, NULL);
    (void)expect_command(env, 3, LK_ACQUIRE);
    answer_command(env, 2, LK_BUSY);
    answer_command(env, 3, LK_BUSY);
    end_wait(env, &callers[0]);
    push_free(env, env->fixture.name, NULL);
    (void)expect_command(env, 4, LK_ACQUIRE);
    answer_command(env, 4, LK_BUSY);
    end_wait(env, &callers[1]);
}

/* A waiter with a wait that ends during its attempt, command 0, and a waiter behind it. */
static void start_two(struct scripted *env, struct caller *first, struct caller *next) {
    start(first, env->fixture.lock, LK_FOREVER);
    start(next, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    end_wait(env, first);
    (void)expect_command(env, 0, LK_ACQUIRE); /* one attempt for both events */
}

static void test_late_grant_goes_to_the_next_waiter(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, 1);
    start(&next, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    WAIT_FOR(&env->fixture.loop, first.calls == 1);
    assert_int_equal(first.status, LK_UNKNOWN);
    answer_command(env, 0, LK_OK);
    expect_granted(env, &next, 0);
    assert_int_equal(first.calls, 1);
    assert_int_equal(counters(env->fixture.client).late_grants, 0);
}

static void test_late_grant_goes_to_the_one_who_waits_by_then(void **state) {
    struct scripted *env = *state;
    struct caller first, next, last;

    start_two(env, &first, &next);
    end_wait(env, &next);
    start(&last, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_OK);
    expect_granted(env, &last, 0);
}

static void test_late_grant_that_nobody_waits_for_is_given_back(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    end_wait(env, &next);
    answer_command(env, 0, LK_OK);
    answer_release(env, 1, 0);
    assert_int_equal(counters(env->fixture.client).late_grants, 1);
}

static void test_validity_of_a_late_grant_counts_from_before_its_request(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    env->now_ns += 3000 * UINT64_C(1000000);
    answer_command(env, 0, LK_OK);
    assert_int_equal(next.status, LK_OK);
    assert_int_equal(lk_lease_remaining_ms(next.lease), TTL_MS - DRIFT_MS - 3000);
    expect_granted(env, &next, 0);
}

static void test_late_grant_whose_validity_is_over_is_renewed_by_the_next_waiter(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    env->now_ns += TTL_MS * UINT64_C(1000000);
    answer_command(env, 0, LK_OK);
    assert_int_equal(next.calls, 0);
    push_free(env, env->fixture.name, NULL);
    (void)expect_command(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, true);
    answer_command(env, 1, LK_OK);
    lk_release(next.lease, on_caller_released, &next);
    /* it is doubtful: its release is repeated for so long */
    env->now_ns += 2 * TTL_MS * UINT64_C(1000000);
    answer_release(env, 2, 0);
}

static void test_unanswered_attempt_is_made_again_by_the_next_waiter(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    start(&next, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_UNKNOWN);
    end_wait(env, &first);
    (void)expect_command(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, true);
    answer_command(env, 1, LK_OK);
    assert_int_equal(next.status, LK_OK);
    lk_release(next.lease, on_caller_released, &next);
    env->now_ns += 2 * TTL_MS * UINT64_C(1000000);
    answer_release(env, 2, 0);
}

static void test_place_in_line_that_comes_late_is_the_next_waiters(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    answer_in_line(env, 0);
    (void)expect_command(env, 0, LK_ACQUIRE); /* the server will tell it when it is its turn */
    push_free(env, env->fixture.name, NULL);
    (void)expect_command(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, true);
    answer_command(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

static void test_place_in_line_is_passed_on_without_a_word(void **state) {
    struct scripted *env = *state;
    struct caller callers[3];

    for (int i = 0; i < 3; i++)
        start(&callers[i], env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_in_line(env, 0);
    end_wait(env, &callers[0]);
    end_wait(env, &callers[1]);
    queue_given_back(env->fixture.lock->queue); /* the server will tell it */
    (void)expect_command(env, 0, LK_ACQUIRE);
    push_free(env, env->fixture.name, env->server.owners[0]);
    (void)expect_command(env, 1, LK_ACQUIRE);
    answer_command(env, 1, LK_OK);
    expect_granted(env, &callers[2], 1);
}

static void test_news_during_a_late_attempt_reaches_the_next_waiter(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    push_free(env, env->fixture.name, NULL);
    end_wait(env, &first);
    start(&next, env->fixture.lock, LK_FOREVER);
    answer_command(env, 0, LK_BUSY); /* the answer describes the server before the news */
    (void)expect_command(env, 1, LK_ACQUIRE);
    answer_command(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

/* The first is given back, and the other asks for itself. */
static void expect_no_heir(struct scripted *env, struct lk_lock_options options) {
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    start(&next, open_scripted(env, options), LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    end_wait(env, &first);
    answer_command(env, 0, LK_OK);
    assert_int_equal(env->server.verbs[1], LK_RELEASE);
    expect_same_owner(env, 1, 0, true);
    (void)expect_command(env, 2, LK_ACQUIRE);
    expect_same_owner(env, 2, 0, false);
    answer_command(env, 1, LK_OK);
    answer_command(env, 2, LK_OK);
    expect_granted(env, &next, 2);
}

static void test_late_grant_is_not_for_one_who_shares(void **state) {
    expect_no_heir(*state, (struct lk_lock_options){.ttl_ms = TTL_MS, .mode = LK_SHARED});
}

static void test_late_grant_is_not_for_one_with_another_ttl(void **state) {
    expect_no_heir(*state, (struct lk_lock_options){.ttl_ms = 2 * TTL_MS});
}

static void test_one_who_tries_takes_a_late_grant(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    end_wait(env, &first);
    start(&next, env->fixture.lock, LK_TRY);
    answer_command(env, 0, LK_OK);
    expect_granted(env, &next, 0);
}

static void test_one_who_tries_has_an_attempt_of_its_own(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    end_wait(env, &first);
    start(&next, env->fixture.lock, LK_TRY);
    answer_command(env, 0, LK_BUSY);
    (void)expect_command(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, false);
    answer_command(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

static void test_late_grant_that_was_lost_meanwhile_is_nobodys(void **state) {
    struct scripted *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    client_push(env->fixture.client, LK_PUSH_LOST, env->fixture.name, env->server.owners[0],
                "its session has ended");
    answer_command(env, 0, LK_OK);
    assert_int_equal(next.calls, 0);
    end_wait(env, &next);
    env->now_ns += 2 * TTL_MS * UINT64_C(1000000);
    answer_release(env, 1, 0);
}

static void test_a_waiter_is_told_for_how_long_others_kept_the_lock(void **state) {
    struct scripted *env = *state;
    struct caller first, next, last;

    start(&first, env->fixture.lock, LK_FOREVER);
    start(&next, env->fixture.lock, LK_FOREVER);
    start(&last, env->fixture.lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    scripted_wait_ms(env, 5);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, -1); /* the server has said nothing so far */
    answer_command(env, 0, LK_BUSY);
    scripted_wait_ms(env, 40);
    start(&last, env->fixture.lock, LK_FOREVER);
    scripted_wait_ms(env, 30);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, 30 * 1000000); /* all of its wait */
    end_wait(env, &first);
    assert_int_equal(first.kept_ns, 70 * 1000000); /* since the refusal */
    (void)expect_command(env, 1, LK_ACQUIRE);
    start(&last, env->fixture.lock, LK_FOREVER);
    answer_command(env, 1, LK_OK);
    scripted_wait_ms(env, 20);
    assert_int_equal(next.kept_ns, 0);
    expect_granted(env, &next, 1);
    (void)expect_command(env, 3, LK_ACQUIRE);
    scripted_wait_ms(env, 1);
    answer_command(env, 3, LK_BUSY);
    scripted_wait_ms(env, 2);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, 2 * 1000000); /* since the lock changed hands */
}

static void expect_patience(struct scripted *env, int index, uint32_t ms) {
    assert_int_equal(expect_command(env, index, LK_ACQUIRE)->patience_ms, ms);
}

static void test_place_of_its_own_ends_while_a_grant_is_in_time(void **state) {
    struct scripted *env = *state;
    struct caller first, next;
    lk_lock *lock;

    env->fixture.client->caps |= LK_CAP_FAIR | LK_CAP_CROSS_PROCESS;
    lock = open_scripted(env, (struct lk_lock_options){.poll_ms = LONG_MS, .is_fair = 1});
    start(&first, lock, LONG_MS);
    expect_patience(env, 0, LONG_MS);
    scripted_wait_ms(env, 40);
    answer_in_line(env, 0);
    push_free(env, env->fixture.name, NULL);
    expect_patience(env, 1, LONG_MS - 40 - 2 * 40);
    env->fixture.client->reply_ms = LONG_MS;
    scripted_wait_ms(env, LONG_MS);
    answer_in_line(env, 1);
    push_free(env, env->fixture.name, NULL);
    expect_patience(env, 2, 1); /* 0 would be LK_TRY */
    start(&next, lock, LONG_MS);
    expect_patience(env, 3, LONG_MS / 2); /* at any speed of the server */
    answer_in_line(env, 2);
    answer_in_line(env, 3);
    end_wait(env, &next);
    answer_release(env, 4, 3);
    end_wait(env, &first);
    answer_release(env, 5, 0);
}

static void test_a_waiter_knows_no_more_of_the_lock_than_was_seen_in_its_wait(void **state) {
    struct scripted *env = *state;
    lk_lock *lock =
        open_scripted(env, (struct lk_lock_options){.ttl_ms = TTL_MS, .poll_ms = 60000});
    struct caller first, next, last;

    start(&first, lock, LK_FOREVER);
    start(&next, lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    scripted_wait_ms(env, 1);
    answer_command(env, 0, LK_OK);
    scripted_wait_ms(env, 1);
    start(&last, lock, LK_FOREVER);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, -1); /* the lock changed hands before `last` began to wait */
    end_wait(env, &next);
    assert_int_equal(next.kept_ns, 0); /* the lock changed hands while `next` waited */
    expect_granted(env, &first, 0);
    lk_lock_close(lock);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        SCRIPTED_TEST(test_only_the_head_attempts),
        SCRIPTED_TEST(test_event_during_an_attempt_brings_another),
        SCRIPTED_TEST(test_refused_head_attempts_when_the_holders_ttl_ends),
        SCRIPTED_TEST(test_new_head_asks_at_once_as_the_old_ones_place_is_gone),
        SCRIPTED_TEST(test_next_who_shares_asks_at_once_after_a_shared_grant),
        SCRIPTED_TEST(test_push_wakes_the_queues_that_it_is_for),
        SCRIPTED_TEST(test_push_by_name_wakes_waiters_with_a_place_of_their_own),
        SCRIPTED_TEST(test_late_grant_goes_to_the_next_waiter),
        SCRIPTED_TEST(test_late_grant_goes_to_the_one_who_waits_by_then),
        SCRIPTED_TEST(test_late_grant_that_nobody_waits_for_is_given_back),
        SCRIPTED_TEST(test_validity_of_a_late_grant_counts_from_before_its_request),
        SCRIPTED_TEST(test_late_grant_whose_validity_is_over_is_renewed_by_the_next_waiter),
        SCRIPTED_TEST(test_unanswered_attempt_is_made_again_by_the_next_waiter),
        SCRIPTED_TEST(test_place_in_line_that_comes_late_is_the_next_waiters),
        SCRIPTED_TEST(test_place_in_line_is_passed_on_without_a_word),
        SCRIPTED_TEST(test_news_during_a_late_attempt_reaches_the_next_waiter),
        SCRIPTED_TEST(test_late_grant_is_not_for_one_who_shares),
        SCRIPTED_TEST(test_late_grant_is_not_for_one_with_another_ttl),
        SCRIPTED_TEST(test_one_who_tries_takes_a_late_grant),
        SCRIPTED_TEST(test_one_who_tries_has_an_attempt_of_its_own),
        SCRIPTED_TEST(test_late_grant_that_was_lost_meanwhile_is_nobodys),
        SCRIPTED_TEST(test_a_waiter_is_told_for_how_long_others_kept_the_lock),
        SCRIPTED_TEST(test_place_of_its_own_ends_while_a_grant_is_in_time),
        SCRIPTED_TEST(test_a_waiter_knows_no_more_of_the_lock_than_was_seen_in_its_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
