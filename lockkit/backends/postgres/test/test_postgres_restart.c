/* A server that crashes under holders and waiters, and comes back, in both modes. */
#include "fixture.h"
#include "own_postgres.h"

static struct own_postgres server;

static int start_server(void **state) {
    own_postgres_start(&server);
    return 0;
}

static int stop_server(void **state) {
    own_postgres_stop(&server);
    return 0;
}

static struct fixture *open_on(const char *mode) {
    void *fixture;
    char url[150];

    (void)snprintf(url, sizeof url, "%s?mode=%s", server.url, mode);
    return fixture_open(&fixture, sizeof(struct fixture), url);
}

static void close_it(struct fixture *fixture) {
    (void)fixture_close((void **)&fixture);
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)lease;
    (void)why;
    if (state == LK_LOST_STATE)
        *(bool *)data = true;
}

/* Its sessions ended with it: the holder is told at once, and the lock is free. */
static void test_session_ends_with_its_server(void **state) {
    struct fixture *fixture = open_on("session");
    struct caller holder, waiter;
    bool is_lost = false;
    uint64_t fence;

    obtain(fixture, &holder, fixture->lock, 10000);
    fence = lk_lease_fence(holder.lease);
    lk_lease_on_state(holder.lease, on_state, &is_lost);
    start(&waiter, fixture->lock, LK_FOREVER);
    own_postgres_crash(&server);
    WAIT_FOR(&fixture->loop, is_lost);
    assert_int_equal(waiter.calls, 0);
    own_postgres_start_again(&server);
    WAIT_FOR(&fixture->loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_true(lk_lease_fence(waiter.lease) > fence);
    assert_int_not_equal(give(fixture, &holder), LK_OK);
    assert_int_equal(give(fixture, &waiter), LK_OK);
    close_it(fixture);
}

/* A row outlives the crash, and is renewed when the server is back. */
static void test_row_outlives_its_server(void **state) {
    struct fixture *fixture = open_on("table");
    struct fixture *other = open_on("table");
    lk_lock *lock;
    struct caller holder, late;
    bool is_lost = false;

    memcpy(other->name, fixture->name, sizeof other->name);
    lock = open_lock(fixture, fixture->client, 60000);
    obtain(fixture, &holder, lock, 10000);
    lk_lease_on_state(holder.lease, on_state, &is_lost);
    own_postgres_crash(&server);
    own_postgres_start_again(&server);
    time_out(other, &late, open_lock(other, other->client, 2000));
    for (int turns = 0; turns < 5; turns++)
        /* the backend notices that its connections are gone */
        (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_false(is_lost);
    assert_int_equal(give(fixture, &holder), LK_OK);
    (void)use_once(other, open_lock(other, other->client, 2000), 10000);
    close_it(fixture);
    close_it(other);
}

/* Each token was on disk before it was told. */
static void test_tokens_rise_across_crashes(void **state) {
    static const char *const modes[] = {"session", "table"};
    uint64_t fence = 0;

    for (int i = 0; i < 4; i++) {
        struct fixture *fixture = open_on(modes[i % 2]);
        struct caller caller;

        (void)snprintf(fixture->name, sizeof fixture->name, "crashes");
        obtain(fixture, &caller, open_lock(fixture, fixture->client, 300), 10000);
        assert_true(lk_lease_fence(caller.lease) > fence);
        fence = lk_lease_fence(caller.lease);
        own_postgres_crash(&server);
        own_postgres_start_again(&server);
        assert_int_not_equal(give(fixture, &caller), LK_BUSY);
        close_it(fixture);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_ends_with_its_server),
        cmocka_unit_test(test_row_outlives_its_server),
        cmocka_unit_test(test_tokens_rise_across_crashes),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
