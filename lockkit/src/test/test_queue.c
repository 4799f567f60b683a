/* The queue of a name by itself: waiters that only count when they are told to attempt. */
#include "fixture.h"
#include "queue.h"

#define LONG_MS 60000 /* a poll that no test waits for */

struct asker {
    struct queue_waiter waiter;
    int attempts;
};

struct env {
    struct fixture fixture;
    struct lk_queue *queue;
    struct asker askers[2];
};

static void on_attempt(void *data) {
    struct asker *asker = data;

    asker->attempts++;
}

static int set_up(void **state) {
    struct env *env = calloc(1, sizeof *env);

    assert_non_null(env);
    fixture_init(&env->fixture);
    env->fixture.client = open_client(&env->fixture, "local:");
    env->queue = queue_ref(env->fixture.client, "name", NULL);
    for (int i = 0; i < 2; i++)
        env->askers[i].waiter = (struct queue_waiter){
            .poll_ms = LONG_MS, .attempt = on_attempt, .data = &env->askers[i]};
    *state = env;
    return 0;
}

/* With nobody left in the queue. */
static int tear_down(void **state) {
    struct env *env = *state;

    assert_int_equal(env->queue->length, 0);
    queue_unref(env->queue);
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

static struct asker *join(struct env *env, int number) {
    queue_join(env->queue, &env->askers[number].waiter);
    return &env->askers[number];
}

static void expect_attempts(struct env *env, const struct asker *asker, int count) {
    WAIT_FOR(&env->fixture.loop, asker->attempts >= count);
    for (int i = 0; i < 3; i++)
        (void)uv_run(&env->fixture.loop, UV_RUN_NOWAIT);
    assert_int_equal(asker->attempts, count);
}

/* The head gives up, after an attempt that was answered with nothing. */
static void give_up(struct env *env, struct asker *head) {
    queue_attempt_ended(env->queue);
    queue_leave(env->queue, &head->waiter, false);
}

static void test_only_the_head_attempts(void **state) {
    struct env *env = *state;
    struct asker *first = join(env, 0), *second = join(env, 1);

    assert_int_equal(first->attempts, 0); /* not inside the call */
    expect_attempts(env, first, 1);
    assert_int_equal(second->attempts, 0);
    queue_granted(env->queue, &first->waiter);
    expect_attempts(env, second, 0);
    queue_given_back(env->queue);
    expect_attempts(env, second, 1);
    assert_int_equal(counters(env->fixture.client).wakeups, 1);
    give_up(env, second);
}

static void test_event_during_an_attempt_brings_another(void **state) {
    struct env *env = *state;
    struct asker *asker = join(env, 0);

    expect_attempts(env, asker, 1);
    queue_given_back(env->queue);
    queue_given_back(env->queue);
    expect_attempts(env, asker, 1);
    queue_refused(env->queue, -1, false);
    expect_attempts(env, asker, 2); /* one for both events */
    give_up(env, asker);
}

static void test_refused_head_attempts_when_the_holders_ttl_ends(void **state) {
    struct env *env = *state;
    struct asker *asker = join(env, 0);

    expect_attempts(env, asker, 1);
    queue_refused(env->queue, 5, false);
    expect_attempts(env, asker, 2);
    assert_int_equal(counters(env->fixture.client).polls, 1);
    give_up(env, asker);
}

static void test_head_that_leaves_during_its_attempt_leaves_the_answer_to_the_next(void **state) {
    struct env *env = *state;
    struct asker *first = join(env, 0), *second = join(env, 1);

    expect_attempts(env, first, 1);
    queue_leave_attempt(env->queue, &first->waiter);
    expect_attempts(env, second, 0);
    queue_leave(env->queue, &second->waiter, false);
    expect_attempts(env, join(env, 1), 0); /* nor one that comes later */
    queue_granted(env->queue, &second->waiter);
}

static void test_next_asks_anew_when_the_answer_is_not_for_it(void **state) {
    struct env *env = *state;
    struct asker *first = join(env, 0), *second = join(env, 1);

    expect_attempts(env, first, 1);
    queue_leave_attempt(env->queue, &first->waiter);
    queue_attempt_ended(env->queue);
    expect_attempts(env, second, 1);
    give_up(env, second);
}

static void test_new_head_asks_nothing_in_the_place_of_the_old_one(void **state) {
    struct env *env = *state;
    struct asker *first = join(env, 0), *second = join(env, 1);

    expect_attempts(env, first, 1);
    queue_refused(env->queue, -1, true);
    queue_leave(env->queue, &first->waiter, true);
    queue_given_back(env->queue); /* the server tells it */
    expect_attempts(env, second, 0);
    client_push(env->fixture.client, LK_PUSH_FREE, "name", NULL, NULL);
    expect_attempts(env, second, 1);
    give_up(env, second);
}

static void test_new_head_asks_at_once_as_the_old_ones_place_is_gone(void **state) {
    struct env *env = *state;
    struct asker *first = join(env, 0), *second = join(env, 1);

    expect_attempts(env, first, 1);
    queue_refused(env->queue, -1, false);
    queue_leave(env->queue, &first->waiter, false);
    expect_attempts(env, second, 1);
    give_up(env, second);
}

static void test_next_who_shares_asks_at_once_after_a_shared_grant(void **state) {
    struct env *env = *state;

    env->askers[0].waiter.is_shared = env->askers[1].waiter.is_shared = true;
    expect_attempts(env, join(env, 0), 1);
    join(env, 1);
    queue_granted(env->queue, &env->askers[0].waiter);
    expect_attempts(env, &env->askers[1], 1);
    give_up(env, &env->askers[1]);
}

/* By its name, as one of all names, and by an owner who has no queue of its own. */
static void test_push_wakes_the_queues_that_it_is_for(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    struct asker *asker = join(env, 0);

    expect_attempts(env, asker, 1);
    queue_refused(env->queue, -1, false);
    client_push(client, LK_PUSH_FREE, "other", NULL, NULL);
    expect_attempts(env, asker, 1);
    client_push(client, LK_PUSH_FREE, "name", NULL, NULL);
    expect_attempts(env, asker, 2);
    queue_refused(env->queue, -1, false);
    client_push(client, LK_PUSH_FREE, NULL, NULL, NULL);
    expect_attempts(env, asker, 3);
    queue_refused(env->queue, -1, false);
    client_push(client, LK_PUSH_FREE, "name", "somebody", NULL);
    expect_attempts(env, asker, 4);
    give_up(env, asker);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_only_the_head_attempts),
        TEST(test_event_during_an_attempt_brings_another),
        TEST(test_refused_head_attempts_when_the_holders_ttl_ends),
        TEST(test_head_that_leaves_during_its_attempt_leaves_the_answer_to_the_next),
        TEST(test_next_asks_anew_when_the_answer_is_not_for_it),
        TEST(test_new_head_asks_nothing_in_the_place_of_the_old_one),
        TEST(test_new_head_asks_at_once_as_the_old_ones_place_is_gone),
        TEST(test_next_who_shares_asks_at_once_after_a_shared_grant),
        TEST(test_push_wakes_the_queues_that_it_is_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
