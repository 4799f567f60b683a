/* Leases of a session that were lost, tokens that a resource has seen, news of leases, and the room
 * of a client: how many ACQUIREs may be out. */
#include "scripted.h"

/* ---- A lease that was lost while its session goes on at the server */

static void lose_in_session(struct scripted *env, struct caller *holder, lk_state_cb cb,
                            void *data) {
    lk_lock *lock;

    env->fixture.client->caps |= LK_CAP_SESSION;
    lock = open_lock(&env->fixture, env->fixture.client, TTL_MS);
    start(holder, lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_OK);
    lk_lease_on_state(holder->lease, cb, data);
    client_push(env->fixture.client, LK_PUSH_LOST, NULL, env->server.owners[0], "the test says so");
}

static void test_lost_lease_of_a_session_is_withdrawn_before_its_release(void **state) {
    struct scripted *env = *state;
    struct caller holder;

    lose_in_session(env, &holder, NULL, NULL);
    answer_release(env, 1, 0);
    lk_release(holder.lease, on_caller_released, &holder);
    (void)expect_command(env, 2, LK_RELEASE);
    answer_command(env, 2, LK_LOST);
    assert_int_equal(holder.release_status, LK_LOST);
}

static void test_release_of_a_lease_that_is_being_withdrawn_is_one_command(void **state) {
    struct scripted *env = *state;
    struct caller holder;

    lose_in_session(env, &holder, NULL, NULL);
    (void)expect_command(env, 1, LK_RELEASE);
    lk_release(holder.lease, on_caller_released, &holder);
    answer_release(env, 1, 0);
    assert_int_equal(holder.release_status, LK_OK);
}

static void test_lease_that_is_abandoned_while_it_is_withdrawn_ends(void **state) {
    struct scripted *env = *state;
    struct caller holder;

    lose_in_session(env, &holder, NULL, NULL);
    (void)expect_command(env, 1, LK_RELEASE);
    lk_abandon(holder.lease, TTL_MS);
    answer_command(env, 1, LK_OK);
    (void)expect_command(env, 2, LK_RENEW);
    answer_command(env, 2, LK_LOST);
}

static void on_lost_abandon(lk_lease *lease, enum lk_state lease_state, const char *why,
                            void *data) {
    *(enum lk_state *)data = lease_state;
    lk_abandon(lease, TTL_MS);
}

/* It asks the server to keep the lock, and gives back nothing. */
static void test_lost_lease_that_is_abandoned_at_once_is_not_withdrawn(void **state) {
    struct scripted *env = *state;
    struct caller holder;
    enum lk_state told = LK_HELD;

    lose_in_session(env, &holder, on_lost_abandon, &told);
    assert_int_equal(told, LK_LOST_STATE);
    (void)expect_command(env, 1, LK_RENEW);
    answer_command(env, 1, LK_LOST);
}

/* ---- Tokens that a resource has seen */

/* Attempt 0 is granted, and attempt 1 of the next waiter is under way. */
static void have_seen(struct scripted *env, struct caller *holder, struct caller *next,
                      lk_lock *lock, uint64_t fence) {
    start(holder, lock, LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_OK);
    start(next, lock, LK_FOREVER);
    (void)expect_command(env, 1, LK_ACQUIRE);
    lk_lease_saw_fence(holder->lease, fence);
    lk_release(holder->lease, on_caller_released, holder);
    answer_release(env, 2, 0);
}

static void test_grant_with_a_token_that_the_resource_has_seen_is_given_back(void **state) {
    struct scripted *env = *state;
    struct caller holder, next;

    have_seen(env, &holder, &next, env->fixture.lock, 101);
    answer_command(env, 1, LK_OK);
    assert_int_equal(next.calls, 0);
    WAIT_FOR(&env->fixture.loop, env->server.count == 5);
    assert_int_equal(env->server.verbs[3], LK_RELEASE);
    expect_same_owner(env, 3, 1, true);
    assert_int_equal(env->server.verbs[4], LK_ACQUIRE);
    expect_same_owner(env, 4, 1, false);
    assert_int_equal(env->server.commands[4]->fence_above, 101);
    answer_command(env, 3, LK_OK);
    answer_command(env, 4, LK_OK);
    expect_granted(env, &next, 4);
    assert_int_equal(counters(env->fixture.client).late_grants, 1);
}

static void test_waiter_in_a_queue_of_its_own_goes_on_with_another_owner(void **state) {
    struct scripted *env = *state;
    struct caller holder, next;
    lk_lock *lock;

    env->fixture.client->caps |= LK_CAP_FAIR | LK_CAP_CROSS_PROCESS;
    lock = open_scripted(
        env, (struct lk_lock_options){.ttl_ms = TTL_MS, .poll_ms = LONG_MS, .is_fair = 1});
    have_seen(env, &holder, &next, lock, 101);
    answer_command(env, 1, LK_OK);
    answer_command(env, 3, LK_OK);
    answer_in_line(env, 4);
    push_free(env, env->fixture.name, env->server.owners[1]); /* nobody's any more */
    scripted_settle(env);
    push_free(env, env->fixture.name, env->server.owners[4]);
    (void)expect_command(env, 5, LK_ACQUIRE);
    expect_same_owner(env, 5, 4, true);
    answer_command(env, 5, LK_OK);
    expect_granted(env, &next, 5);
    lk_lock_close(lock);
}

static void test_late_grant_with_a_seen_token_is_not_for_the_next_waiter(void **state) {
    struct scripted *env = *state;
    struct caller holder, next, last;

    have_seen(env, &holder, &next, env->fixture.lock, 101);
    end_wait(env, &next);
    start(&last, env->fixture.lock, LK_FOREVER);
    answer_command(env, 1, LK_OK);
    WAIT_FOR(&env->fixture.loop, env->server.count == 5);
    expect_same_owner(env, 3, 1, true);
    answer_command(env, 3, LK_OK);
    answer_command(env, 4, LK_OK);
    expect_granted(env, &last, 4);
}

static void test_token_of_a_servers_own_count_is_taken_as_it_is(void **state) {
    struct scripted *env = *state;
    struct caller holder, next;

    env->server.backend.has_own_count = true;
    have_seen(env, &holder, &next, env->fixture.lock, 101);
    answer_command(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

/* ---- News of a lease: of this name, of this owner, or of all */

static void hold_name(struct scripted *env, struct caller *holder, const char *name, int attempt) {
    const struct lk_lock_options options = {.size = sizeof options, .ttl_ms = TTL_MS};
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->fixture.client, name, &options), LK_OK);
    start(holder, lock, LK_FOREVER);
    (void)expect_command(env, attempt, LK_ACQUIRE);
    answer_command(env, attempt, LK_OK);
    lk_lock_close(lock);
}

static void test_news_reach_the_leases_that_they_are_for(void **state) {
    struct scripted *env = *state;
    lk_client *client = env->fixture.client;
    struct caller a, b;

    hold_name(env, &a, "a", 0);
    hold_name(env, &b, "b", 1);
    client_push(client, LK_PUSH_SUSPECT, "c", NULL, "no lease has that name");
    client_push(client, LK_PUSH_LOST, "a", env->server.owners[1], "no lease has both");
    assert_int_equal(lk_lease_state(a.lease), LK_HELD);
    client_push(client, LK_PUSH_SUSPECT, NULL, NULL, "it is for all");
    assert_int_equal(lk_lease_state(a.lease), LK_SUSPECT);
    assert_int_equal(lk_lease_state(b.lease), LK_SUSPECT);
    client_push(client, LK_PUSH_LOST, "a", NULL, "it is for all of that name");
    assert_int_equal(lk_lease_state(a.lease), LK_LOST_STATE);
    assert_int_equal(lk_lease_state(b.lease), LK_SUSPECT);
    client_push(client, LK_PUSH_LOST, NULL, env->server.owners[1], "it is for that owner");
    assert_int_equal(lk_lease_state(b.lease), LK_LOST_STATE);
    lk_release(a.lease, NULL, NULL);
    answer_release(env, 2, 0);
    lk_release(b.lease, NULL, NULL);
    answer_release(env, 3, 1);
}

/* ---- The room: how many ACQUIREs may be out */

static void set_room(struct scripted *env, unsigned most, unsigned room) {
    env->server.backend.acquires_most = most;
    env->fixture.client->acquires_room = room;
}

static void assert_room(const struct scripted *env, unsigned room) {
    assert_int_equal(env->fixture.client->acquires_room, room);
}

/* A waiter for another name than the fixture's. It never polls. */
static void start_for(struct scripted *env, struct caller *caller, const char *name,
                      uint32_t wait_ms) {
    const struct lk_lock_options options = {
        .size = sizeof options, .ttl_ms = TTL_MS, .poll_ms = LONG_MS};
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->fixture.client, name, &options), LK_OK);
    start(caller, lock, wait_ms);
    lk_lock_close(lock);
}

static void expect_for(struct scripted *env, int index, const char *name) {
    assert_string_equal(expect_command(env, index, LK_ACQUIRE)->name, name);
}

static void test_attempts_beyond_the_room_wait_and_releases_do_not(void **state) {
    struct scripted *env = *state;
    struct caller holder, callers[3];

    set_room(env, 2, 2);
    start_for(env, &holder, "held", LK_FOREVER);
    (void)expect_command(env, 0, LK_ACQUIRE);
    answer_command(env, 0, LK_OK);
    start_for(env, &callers[0], "a", LK_FOREVER);
    start_for(env, &callers[1], "b", LK_FOREVER);
    start_for(env, &callers[2], "c", LK_FOREVER);
    expect_for(env, 2, "b"); /* 1 is that of "a" */
    expect_granted(env, &holder, 0);
    scripted_wait_ms(env, TTL_MS);
    answer_command(env, 1, LK_BUSY);
    expect_for(env, 4, "c");
    answer_command(env, 4, LK_OK);
    expect_granted(env, &callers[2], 4); /* its validity counts from when it was sent */
    answer_command(env, 2, LK_BUSY);
    end_wait(env, &callers[0]);
    end_wait(env, &callers[1]);
}

static void test_waiter_that_gives_up_for_lack_of_room_sends_nothing(void **state) {
    struct scripted *env = *state;
    struct caller first, waiter, trier;

    set_room(env, 1, 1);
    start_for(env, &first, "a", LK_FOREVER);
    expect_for(env, 0, "a");
    env->fixture.client->reply_ms = 1;
    start_for(env, &waiter, "b", LK_FOREVER);
    start_for(env, &trier, "c", LK_TRY);
    WAIT_FOR(&env->fixture.loop, trier.calls == 1);
    assert_int_equal(trier.status, LK_UNAVAILABLE);
    end_wait(env, &waiter);
    end_wait(env, &first);
    answer_command(env, 0, LK_BUSY);
    assert_int_equal(env->server.count, 1);
}

static void test_one_who_tries_is_sent_once_there_is_room(void **state) {
    struct scripted *env = *state;
    struct caller first, trier;

    set_room(env, 1, 1);
    start_for(env, &first, "a", LK_FOREVER);
    expect_for(env, 0, "a");
    env->fixture.client->reply_ms = LONG_MS;
    start_for(env, &trier, "b", LK_TRY);
    scripted_settle(env);
    answer_command(env, 0, LK_BUSY);
    expect_for(env, 1, "b");
    answer_command(env, 1, LK_BUSY);
    assert_int_equal(trier.status, LK_BUSY);
    end_wait(env, &first);
}

static void test_news_go_before_new_waiters_and_both_take_turns(void **state) {
    struct scripted *env = *state;
    struct caller told[2], first, fresh[2];

    start_for(env, &told[0], "told", LK_FOREVER);
    start_for(env, &told[1], "told, too", LK_FOREVER);
    (void)expect_command(env, 1, LK_ACQUIRE);
    answer_command(env, 0, LK_BUSY);
    answer_command(env, 1, LK_BUSY);
    set_room(env, 1, 1);
    start_for(env, &first, "first", LK_FOREVER);
    expect_for(env, 2, "first");
    start_for(env, &fresh[0], "fresh", LK_FOREVER);
    start_for(env, &fresh[1], "fresh, too", LK_FOREVER);
    scripted_settle(env);
    push_free(env, "told", NULL);
    push_free(env, "told, too", NULL);
    answer_command(env, 2, LK_BUSY);
    expect_for(env, 3, "told");
    set_room(env, 2, 2);
    answer_command(env, 3, LK_BUSY);
    (void)expect_command(env, 5, LK_ACQUIRE);
    assert_string_equal(env->server.commands[4]->name, "told, too");
    assert_string_equal(env->server.commands[5]->name, "fresh");
    set_room(env, 1, 1);
    answer_command(env, 4, LK_BUSY);
    answer_command(env, 5, LK_BUSY);
    expect_for(env, 6, "fresh, too");
    answer_command(env, 6, LK_BUSY);
    end_wait(env, &told[0]);
    end_wait(env, &told[1]);
    end_wait(env, &first);
    end_wait(env, &fresh[0]);
    end_wait(env, &fresh[1]);
}

static void test_slow_answers_narrow_the_room_once_for_those_sent_before(void **state) {
    struct scripted *env = *state;
    struct caller callers[3];

    set_room(env, 64, 64);
    start_for(env, &callers[0], "a", LK_FOREVER);
    start_for(env, &callers[1], "b", LK_FOREVER);
    (void)expect_command(env, 1, LK_ACQUIRE);
    scripted_wait_ms(env, env->fixture.client->reply_ms / 2);
    answer_command(env, 0, LK_BUSY);
    assert_room(env, 32);
    answer_command(env, 1, LK_BUSY);
    assert_room(env, 32);
    start_for(env, &callers[2], "c", LK_FOREVER);
    (void)expect_command(env, 2, LK_ACQUIRE);
    answer_command(env, 2, LK_UNKNOWN);
    assert_room(env, 16);
    for (int i = 0; i < 2; i++)
        end_wait(env, &callers[i]);
    end_wait(env, &callers[2]);
    scripted_wait_ms(env, 2 * TTL_MS); /* its release needs no second answer */
    answer_release(env, 3, 2);
}

static void test_room_widens_while_attempts_wait_and_never_goes_below_its_least(void **state) {
    struct scripted *env = *state;
    struct caller callers[3];

    set_room(env, 64, 1);
    start_for(env, &callers[0], "a", LK_FOREVER);
    start_for(env, &callers[1], "b", LK_FOREVER);
    expect_for(env, 0, "a");
    answer_command(env, 0, LK_BUSY);
    assert_room(env, 2);
    expect_for(env, 1, "b");
    answer_command(env, 1, LK_BUSY); /* nobody waits for room */
    assert_room(env, 2);
    set_room(env, 64, 17);
    start_for(env, &callers[2], "c", LK_FOREVER);
    expect_for(env, 2, "c");
    scripted_wait_ms(env, env->fixture.client->reply_ms);
    answer_command(env, 2, LK_BUSY);
    assert_room(env, 16);
    for (int i = 0; i < 3; i++)
        end_wait(env, &callers[i]);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        SCRIPTED_TEST(test_lost_lease_of_a_session_is_withdrawn_before_its_release),
        SCRIPTED_TEST(test_release_of_a_lease_that_is_being_withdrawn_is_one_command),
        SCRIPTED_TEST(test_lease_that_is_abandoned_while_it_is_withdrawn_ends),
        SCRIPTED_TEST(test_lost_lease_that_is_abandoned_at_once_is_not_withdrawn),
        SCRIPTED_TEST(test_grant_with_a_token_that_the_resource_has_seen_is_given_back),
        SCRIPTED_TEST(test_waiter_in_a_queue_of_its_own_goes_on_with_another_owner),
        SCRIPTED_TEST(test_late_grant_with_a_seen_token_is_not_for_the_next_waiter),
        SCRIPTED_TEST(test_token_of_a_servers_own_count_is_taken_as_it_is),
        SCRIPTED_TEST(test_news_reach_the_leases_that_they_are_for),
        SCRIPTED_TEST(test_attempts_beyond_the_room_wait_and_releases_do_not),
        SCRIPTED_TEST(test_waiter_that_gives_up_for_lack_of_room_sends_nothing),
        SCRIPTED_TEST(test_one_who_tries_is_sent_once_there_is_room),
        SCRIPTED_TEST(test_news_go_before_new_waiters_and_both_take_turns),
        SCRIPTED_TEST(test_slow_answers_narrow_the_room_once_for_those_sent_before),
        SCRIPTED_TEST(test_room_widens_while_attempts_wait_and_never_goes_below_its_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
