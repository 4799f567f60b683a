/* A child that was forked while its parent had clients: it is told so, and never waits. */
#include "fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#define CHILD_MOST_S 60 /* then the child waits for ever */

/* Run `child` in a child. Its result is the exit code: 0, or the number of the step that failed. */
static void expect_in_child(int (*child)(void *data), void *data) {
    const pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)alarm(CHILD_MOST_S);
        _exit(child(data));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- The blocking facade */

struct held {
    lk_sync *sync;
    lk_held *held;
};

static int use_facade(void *data) {
    const struct held *parents = data;
    lk_held *held;
    lk_sync *own;

    if (lk_sync_check(parents->held, 0) != LK_INVALID)
        return 1;
    if (lk_sync_acquire(parents->sync, "other", NULL, LK_FOREVER, &held) != LK_INVALID || held)
        return 2;
    if (lk_sync_release(parents->held) != LK_INVALID)
        return 3;
    lk_sync_close(parents->sync);
    if (lk_sync_open(&own, "local:", NULL) != LK_OK)
        return 4;
    if (lk_sync_acquire(own, "other", NULL, LK_TRY, &held) != LK_OK)
        return 5;
    if (lk_sync_check(held, 0) != LK_OK || lk_sync_release(held) != LK_OK)
        return 6;
    lk_sync_close(own);
    return 0;
}

static void test_child_cannot_use_a_facade_of_its_parent_but_one_of_its_own(void **state) {
    struct held parents;

    assert_int_equal(lk_sync_open(&parents.sync, "local:", NULL), LK_OK);
    assert_int_equal(lk_sync_acquire(parents.sync, "held", NULL, LK_TRY, &parents.held), LK_OK);
    expect_in_child(use_facade, &parents);
    assert_int_equal(lk_sync_check(parents.held, 0), LK_OK);
    assert_int_equal(lk_sync_release(parents.held), LK_OK);
    lk_sync_close(parents.sync);
}

/* ---- A client on a loop */

struct scene {
    struct fixture *fixture;
    struct caller *holder, *waiter;
};

static void on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                         void *data) {
    _exit(100);
}

static int use_client(void *data) {
    const struct scene *scene = data;
    lk_lease *lease = scene->holder->lease;
    struct caller caller = {0};
    lk_lock *lock;

    if (lk_lease_check(lease, 0) != LK_INVALID || lk_lease_state(lease) != LK_LOST_STATE)
        return 1;
    if (lk_lock_open(&lock, scene->fixture->client, "other", NULL) != LK_INVALID || lock)
        return 2;
    if (lk_acquire(scene->fixture->lock, LK_FOREVER, on_caller_acquired, &caller, NULL) !=
        LK_INVALID)
        return 3;
    if (lk_inspect(scene->fixture->lock, on_inspected, NULL) != LK_INVALID)
        return 4;
    lk_cancel(scene->waiter->request);
    lk_abandon(lease, 0);
    lk_release(lease, on_caller_released, scene->holder);
    lk_client_close(scene->fixture->client, NULL, NULL);
    return scene->holder->releases + scene->waiter->calls + caller.calls == 0 ? 0 : 5;
}

static int open_local(void **state) {
    (void)fixture_open(state, sizeof(struct fixture), "local:");
    return 0;
}

static void test_child_cannot_use_a_client_of_its_parent(void **state) {
    struct fixture *fixture = *state;
    struct caller holder, waiter;

    obtain(fixture, &holder, fixture->lock, LK_TRY);
    start(&waiter, fixture->lock, LK_FOREVER);
    expect_in_child(use_client, &(struct scene){fixture, &holder, &waiter});
    assert_int_equal(lk_lease_check(holder.lease, 0), LK_OK);
    assert_int_equal(give(fixture, &holder), LK_OK);
    await_and_give(fixture, &waiter);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_child_cannot_use_a_facade_of_its_parent_but_one_of_its_own),
        cmocka_unit_test_setup_teardown(test_child_cannot_use_a_client_of_its_parent, open_local,
                                        fixture_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
