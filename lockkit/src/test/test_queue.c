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
    env->queue = queue_ref(env->fixture.client, "name");
    for (int i = 0; i < 2; i++)
        env->askers[i].waiter = (struct queue_waiter){.poll_ms = LONG_MS,
                                                      .until_ms = UINT64_MAX,
                                                      .attempt = on_attempt,
                                                      .data = &env->askers[i]};
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

static struct lk_counters counted(struct env *env) {
    struct lk_counters counters;

    lk_client_counters(env->fixture.client, &counters);
    return counters;
}

static void test_only_the_head_attempts(void **state) {
    struct env *env = *state;
    struct asker *first = join(env, 0), *second = join(env, 1);

    assert_int_equal(first->attempts, 0); /* not inside the call */
    expect_attempts(env, first, 1);
    assert_int_equal(second->attempts, 0);
    queue_granted(env->queue, &first->waiter, 1, 0);
    expect_attempts(env, second, 0);
    queue_given_back(env->queue, 0);
    expect_attempts(env, second, 1);
    assert_int_equal(counted(env).wakeups, 1);
    queue_leave(env->queue, &second->waiter);
}

static void test_event_during_an_attempt_brings_another(void **state) {
    struct env *env = *state;
    struct asker *asker = join(env, 0);

    expect_attempts(env, asker, 1);
    queue_given_back(env->queue, 0);
    queue_given_back(env->queue, 0);
    expect_attempts(env, asker, 1);
    queue_refused(env->queue, -1);
    expect_attempts(env, asker, 2); /* one for both events */
    queue_leave(env->queue, &asker->waiter);
}

static void test_refused_head_attempts_when_the_holders_ttl_ends(void **state) {
    struct env *env = *state;
    struct asker *asker = join(env, 0);

    expect_attempts(env, asker, 1);
    queue_refused(env->queue, 5);
    expect_attempts(env, asker, 2);
    assert_int_equal(counted(env).polls, 1);
    queue_leave(env->queue, &asker->waiter);
}

static void test_head_that_leaves_during_its_attempt_lets_the_next_attempt(void **state) {
    struct env *env = *state;
    struct asker *first = join(env, 0), *second = join(env, 1);

    expect_attempts(env, first, 1);
    queue_leave(env->queue, &first->waiter);
    expect_attempts(env, second, 1);
    queue_leave(env->queue, &second->waiter);
}

/* Sixteen grants in a row, and others heard of the last release. */
static void stand_back(struct env *env) {
    for (uint64_t fence = 1; fence <= 16; fence++) {
        join(env, 0);
        expect_attempts(env, &env->askers[0], (int)fence);
        queue_granted(env->queue, &env->askers[0].waiter, 10 * fence,
                      fence > 1 ? 10 * (fence - 1) : 0);
    }
    queue_given_back(env->queue, 1);
}

static void test_head_stands_back_after_a_row_of_grants(void **state) {
    struct env *env = *state;

    stand_back(env);
    expect_attempts(env, join(env, 1), 1);
    assert_int_equal(counted(env).polls, 1); /* when the pause was over */
    queue_leave(env->queue, &env->askers[1].waiter);
}

static void test_head_without_the_time_for_it_does_not_stand_back(void **state) {
    struct env *env = *state;

    stand_back(env);
    env->askers[1].waiter.until_ms = uv_now(&env->fixture.loop) + 100;
    expect_attempts(env, join(env, 1), 1);
    assert_int_equal(counted(env).polls, 0);
    queue_leave(env->queue, &env->askers[1].waiter);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_only_the_head_attempts),
        TEST(test_event_during_an_attempt_brings_another),
        TEST(test_refused_head_attempts_when_the_holders_ttl_ends),
        TEST(test_head_that_leaves_during_its_attempt_lets_the_next_attempt),
        TEST(test_head_stands_back_after_a_row_of_grants),
        TEST(test_head_without_the_time_for_it_does_not_stand_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
