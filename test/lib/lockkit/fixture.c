/* A loop with a client, and its callers. */
#include "fixture.h"

static void on_tick(uv_timer_t *timer) {
    (void)timer;
}

void on_flag(void *data) {
    *(bool *)data = true;
}

void close_client(struct fixture *fixture, lk_client *client) {
    bool is_closed = false;

    lk_client_close(client, on_flag, &is_closed);
    WAIT_FOR(&fixture->loop, is_closed);
}

lk_client *open_client(struct fixture *fixture, const char *url) {
    struct lk_client_options options = {
        .size = sizeof options, .label = "test", .reply_ms = FIXTURE_REPLY_MS};
    lk_client *client;

    assert_int_equal(lk_client_open(&client, &fixture->loop, url, &options), LK_OK);
    return client;
}

struct lk_counters counters(const lk_client *client) {
    struct lk_counters counted = {.size = sizeof counted};

    lk_client_counters(client, &counted);
    return counted;
}

lk_lock *open_wary_lock(struct fixture *fixture, lk_client *client, uint32_t ttl_ms,
                        uint32_t suspect_ms) {
    struct lk_lock_options options = {
        .size = sizeof options, .ttl_ms = ttl_ms, .suspect_ms = suspect_ms};
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, client, fixture->name, &options), LK_OK);
    return lock;
}

lk_lock *open_lock(struct fixture *fixture, lk_client *client, uint32_t ttl_ms) {
    return open_wary_lock(fixture, client, ttl_ms, 0);
}

void fixture_init(struct fixture *fixture) {
    static int count;

    memset(fixture, 0, sizeof *fixture);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    (void)uv_timer_init(&fixture->loop, &fixture->tick);
    (void)uv_timer_start(&fixture->tick, on_tick, 5, 5);
    (void)snprintf(fixture->name, sizeof fixture->name, "test-%lld-%d-%d",
                   (long long)clock_wall_us(), (int)uv_os_getpid(), ++count);
}

void fixture_end(struct fixture *fixture) {
    if (fixture->client != NULL)
        close_client(fixture, fixture->client);
    if (fixture->other != NULL)
        close_client(fixture, fixture->other);
    uv_close((uv_handle_t *)&fixture->tick, NULL);
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
}

void on_caller_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct caller *caller = data;

    caller->calls++;
    caller->round_trips = lk_request_round_trips(request);
    caller->kept_ns = lk_request_kept_ns(request);
    caller->status = status;
    caller->lease = lease;
    caller->request = NULL;
}

void on_caller_released(enum lk_status status, void *data) {
    struct caller *caller = data;

    caller->releases++;
    caller->release_status = status;
}

void start(struct caller *caller, lk_lock *lock, uint32_t wait_ms) {
    memset(caller, 0, sizeof *caller);
    assert_int_equal(lk_acquire(lock, wait_ms, on_caller_acquired, caller, &caller->request),
                     LK_OK);
    assert_int_equal(caller->calls, 0);
}

enum lk_status take(struct fixture *fixture, struct caller *caller, lk_lock *lock,
                    uint32_t wait_ms) {
    start(caller, lock, wait_ms);
    WAIT_FOR(&fixture->loop, caller->calls > 0);
    assert_int_equal(caller->calls, 1);
    return caller->status;
}

enum lk_status give(struct fixture *fixture, struct caller *caller) {
    lk_release(caller->lease, on_caller_released, caller);
    assert_int_equal(caller->releases, 0);
    WAIT_FOR(&fixture->loop, caller->releases > 0);
    assert_int_equal(caller->releases, 1);
    return caller->release_status;
}

struct look {
    bool is_done, is_seen;
    size_t holders, waiters;
};

/* A server that stalls answers too late, and is asked again. */
static void on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                         void *data) {
    struct look *look = data;

    look->is_done = true;
    look->is_seen = status == LK_OK;
    if (look->is_seen) {
        look->holders = inspection->holder_count;
        look->waiters = inspection->waiter_count;
    }
}

static bool is_crowd(struct fixture *fixture, size_t holders, size_t waiters) {
    struct look look = {0};

    assert_int_equal(lk_inspect(fixture->lock, on_inspected, &look), LK_OK);
    WAIT_FOR(&fixture->loop, look.is_done);
    return look.is_seen && look.holders == holders && look.waiters == waiters;
}

void await_crowd(struct fixture *fixture, size_t holders, size_t waiters) {
    WAIT_FOR(&fixture->loop, is_crowd(fixture, holders, waiters));
}
