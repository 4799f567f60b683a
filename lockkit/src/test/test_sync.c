/* The blocking facade, called from many threads. */
#include "fault.h"
#include "fixture.h"
#include "redis_admin.h"

#include <stdatomic.h>

#define THREADS 8
#define TURNS   25

static const char *url;

struct shared {
    lk_sync *sync;
    char name[64];
    atomic_int inside, overlaps, failures, served;
    int unguarded; /* only the lock protects it */
};

static int set_up(void **state) {
    struct lk_client_options options = {.size = sizeof options, .reply_ms = FIXTURE_REPLY_MS};
    struct shared *shared = calloc(1, sizeof *shared);

    assert_non_null(shared);
    (void)snprintf(shared->name, sizeof shared->name, "sync-%lld", (long long)clock_wall_us());
    assert_int_equal(lk_sync_open(&shared->sync, url, &options), LK_OK);
    *state = shared;
    return 0;
}

static int tear_down(void **state) {
    struct shared *shared = *state;

    lk_sync_close(shared->sync);
    free(shared);
    return 0;
}

static void contend(void *arg) {
    struct shared *shared = arg;
    lk_held *held;

    for (int i = 0; i < TURNS; i++) {
        if (lk_sync_acquire(shared->sync, shared->name, NULL, LK_FOREVER, &held) != LK_OK) {
            atomic_fetch_add(&shared->failures, 1);
            continue;
        }
        if (atomic_fetch_add(&shared->inside, 1) > 0)
            atomic_fetch_add(&shared->overlaps, 1);
        shared->unguarded++;
        atomic_fetch_sub(&shared->inside, 1);
        if (lk_sync_check(held, 10) != LK_OK || lk_sync_release(held) != LK_OK)
            atomic_fetch_add(&shared->failures, 1);
    }
}

static void test_threads_exclude_each_other(void **state) {
    struct shared *shared = *state;
    uv_thread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(uv_thread_create(&threads[i], contend, shared), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(uv_thread_join(&threads[i]), 0);
    assert_int_equal(shared->failures, 0);
    assert_int_equal(shared->overlaps, 0);
    assert_int_equal(shared->unguarded, THREADS * TURNS);
}

static void test_held_lock_is_busy_and_times_out(void **state) {
    struct shared *shared = *state;
    lk_held *first, *second;
    uint64_t fence;

    assert_int_equal(lk_sync_acquire(shared->sync, shared->name, NULL, LK_TRY, &first), LK_OK);
    fence = lk_sync_fence(first);
    assert_true(fence > 0);
    assert_int_equal(lk_sync_acquire(shared->sync, shared->name, NULL, LK_TRY, &second), LK_BUSY);
    assert_null(second);
    assert_int_equal(lk_sync_acquire(shared->sync, shared->name, NULL, 20, &second), LK_TIMEOUT);
    assert_int_equal(lk_sync_release(first), LK_OK);
    assert_int_equal(lk_sync_acquire(shared->sync, shared->name, NULL, 10000, &second), LK_OK);
    assert_true(lk_sync_fence(second) > fence);
    assert_int_equal(lk_sync_release(second), LK_OK);
}

/* Its loop sleeps between the renewals. */
static void test_a_lock_is_renewed_while_nothing_else_happens(void **state) {
    const struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 3000};
    struct shared *shared = *state;
    lk_held *first, *second;

    assert_int_equal(lk_sync_acquire(shared->sync, shared->name, &options, LK_FOREVER, &first),
                     LK_OK);
    uv_sleep(4000);
    assert_int_equal(lk_sync_check(first, 10), LK_OK);
    assert_int_equal(lk_sync_acquire(shared->sync, shared->name, NULL, LK_TRY, &second), LK_BUSY);
    assert_int_equal(lk_sync_release(first), LK_OK);
}

static void test_bad_arguments_are_refused(void **state) {
    struct shared *shared = *state;
    lk_sync *sync;
    lk_held *held;

    assert_int_equal(lk_sync_open(&sync, "ftp://x", NULL), LK_INVALID);
    assert_null(sync);
    assert_int_equal(lk_sync_acquire(shared->sync, "", NULL, LK_TRY, &held), LK_INVALID);
    assert_null(held);
}

static void live_without_memory(void *arg) {
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 200, .cleanup_ms = 300};
    lk_sync *sync;
    lk_held *held;

    (void)arg;
    if (lk_sync_open(&sync, url, &options) != LK_OK)
        return;
    if (lk_sync_acquire(sync, "sync-memory", NULL, 100, &held) == LK_OK)
        (void)lk_sync_release(held);
    lk_sync_close(sync);
}

static void test_each_allocation_may_fail(void **state) {
    fault_each_allocation(live_without_memory, NULL);
}

static int run(const char *name, const char *backend_url) {
#define SYNC_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        SYNC_TEST(test_threads_exclude_each_other),
        SYNC_TEST(test_held_lock_is_busy_and_times_out),
        SYNC_TEST(test_a_lock_is_renewed_while_nothing_else_happens),
        SYNC_TEST(test_bad_arguments_are_refused),
        cmocka_unit_test(test_each_allocation_may_fail),
    };

    url = backend_url;
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void) {
    int failed = run("local", "local:");

    return failed + run("redis", redis_url());
}
