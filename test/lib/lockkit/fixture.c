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

lk_lock *open_lock_as(struct fixture *fixture, lk_client *client, struct lk_lock_options options) {
    lk_lock *lock;

    options.size = sizeof options;
    assert_int_equal(lk_lock_open(&lock, client, fixture->name, &options), LK_OK);
    return lock;
}

lk_lock *open_wary_lock(struct fixture *fixture, lk_client *client, uint32_t ttl_ms,
                        uint32_t suspect_ms) {
    return open_lock_as(fixture, client,
                        (struct lk_lock_options){.ttl_ms = ttl_ms, .suspect_ms = suspect_ms});
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

void *fixture_open(void **state, size_t size, const char *url) {
    struct fixture *fixture = calloc(1, size);

    assert_non_null(fixture);
    fixture_init(fixture);
    if (url != NULL) {
        fixture->client = open_client(fixture, url);
        fixture->lock = open_lock(fixture, fixture->client, 2000);
    }
    *state = fixture;
    return fixture;
}

int fixture_close(void **state) {
    fixture_end(*state);
    free(*state);
    return 0;
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

void obtain(struct fixture *fixture, struct caller *caller, lk_lock *lock, uint32_t wait_ms) {
    assert_int_equal(take(fixture, caller, lock, wait_ms), LK_OK);
}

uint64_t use_once(struct fixture *fixture, lk_lock *lock, uint32_t wait_ms) {
    struct caller caller;
    uint64_t fence;

    obtain(fixture, &caller, lock, wait_ms);
    fence = lk_lease_fence(caller.lease);
    assert_int_equal(give(fixture, &caller), LK_OK);
    return fence;
}

void await_and_give(struct fixture *fixture, struct caller *caller) {
    WAIT_FOR(&fixture->loop, caller->calls > 0);
    assert_int_equal(caller->calls, 1);
    assert_int_equal(caller->status, LK_OK);
    assert_int_equal(give(fixture, caller), LK_OK);
}

void await_channel(struct fixture *fixture, lk_client *client, const struct caller *caller) {
    WAIT_FOR(&fixture->loop, counters(client).wakeups >= 1);
    WAIT_FOR(&fixture->loop, lk_request_round_trips(caller->request) >= 2);
}

enum lk_status break_lock(struct fixture *fixture, lk_lock *lock, const char *owner) {
    struct caller breaker = {0};

    assert_int_equal(lk_break(lock, owner, on_caller_released, &breaker), LK_OK);
    WAIT_FOR(&fixture->loop, breaker.releases > 0);
    assert_int_equal(breaker.releases, 1);
    return breaker.release_status;
}

void time_out(struct fixture *fixture, struct caller *caller, lk_lock *lock) {
    uint32_t wait_ms = 50;

    while (take(fixture, caller, lock, wait_ms) == LK_UNKNOWN)
        wait_ms *= 2;
    assert_int_equal(caller->status, LK_TIMEOUT);
}

void await_unavailable(struct fixture *fixture, lk_lock *lock) {
    struct caller caller;

    do
        (void)take(fixture, &caller, lock, LK_TRY);
    while (caller.status == LK_UNKNOWN);
    assert_int_equal(caller.status, LK_UNAVAILABLE);
}

void turn(struct fixture *fixture, int times) {
    while (times-- > 0)
        (void)uv_run(&fixture->loop, UV_RUN_ONCE);
}

static void on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                         void *data) {
    struct inspected *seen = data;
    const struct lk_holder *holder;

    seen->calls++;
    seen->status = status;
    assert_int_equal(inspection != NULL, status == LK_OK);
    if (inspection == NULL)
        return;
    seen->holders = inspection->holder_count;
    seen->waiters = inspection->waiter_count;
    seen->waiters_here = inspection->waiters_here;
    if (seen->holders == 0)
        return;
    holder = &inspection->holders[0];
    (void)snprintf(seen->owner, sizeof seen->owner, "%s", holder->owner);
    (void)snprintf(seen->label, sizeof seen->label, "%s", holder->label);
    seen->mode = holder->mode;
    seen->fence = holder->fence;
    seen->remaining_ms = holder->remaining_ms;
}

struct inspected inspect_lock(struct fixture *fixture, lk_lock *lock) {
    struct inspected seen = {0};

    assert_int_equal(lk_inspect(lock, on_inspected, &seen), LK_OK);
    assert_int_equal(seen.calls, 0);
    WAIT_FOR(&fixture->loop, seen.calls > 0);
    assert_int_equal(seen.calls, 1);
    return seen;
}

/* A stalled server may answer too late: ask again. */
static bool is_crowd(struct fixture *fixture, size_t holders, size_t waiters) {
    const struct inspected seen = inspect_lock(fixture, fixture->lock);

    return seen.status == LK_OK && seen.holders == holders && seen.waiters == waiters;
}

void await_crowd(struct fixture *fixture, size_t holders, size_t waiters) {
    WAIT_FOR(&fixture->loop, is_crowd(fixture, holders, waiters));
}
