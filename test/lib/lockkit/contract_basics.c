/* The contract of lockkit.h, the part without faults: the same tests run over every backend. */
#include "contract.h"

static void test_lock_is_granted_and_given_back(void **state) {
    struct fixture *fixture = *state;
    struct caller caller;
    struct lk_counters counters = {.size = sizeof counters};

    obtain(fixture, &caller, fixture->lock, LK_TRY);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(caller.round_trips > 0, has(fixture, LK_CAP_CROSS_PROCESS));
    assert_int_equal(lk_lease_check(caller.lease, 100), LK_OK);
    assert_true(lk_lease_remaining_ms(caller.lease) > 100);
    assert_int_equal(strlen(lk_lease_owner(caller.lease)), 40);
    assert_int_equal(give(fixture, &caller), LK_OK);
    lk_client_counters(fixture->client, &counters);
    assert_int_equal(counters.acquired, 1);
    assert_int_equal(counters.released, 1);
    assert_true(counters.wait_ns > 0 && counters.hold_ns > 0);
}

static void test_try_of_a_held_lock_is_busy(void **state) {
    struct fixture *fixture = *state;
    struct caller first, second;

    obtain(fixture, &first, fixture->lock, LK_TRY);
    assert_int_equal(take(fixture, &second, fixture->lock, LK_TRY), LK_BUSY);
    assert_null(second.lease);
    assert_int_equal(give(fixture, &first), LK_OK);
    assert_free(fixture, fixture->lock);
}

static void test_try_does_not_overtake_a_waiter(void **state) {
    struct fixture *fixture = *state;
    struct caller first, waiter, late;

    obtain(fixture, &first, fixture->lock, LK_TRY);
    start(&waiter, fixture->lock, LK_FOREVER);
    assert_int_equal(take(fixture, &late, fixture->lock, LK_TRY), LK_BUSY);
    assert_int_equal(late.round_trips, 0);
    assert_int_equal(waiter.calls, 0);
    assert_int_equal(give(fixture, &first), LK_OK);
    await_and_give(fixture, &waiter);
}

static void test_wait_that_is_over_is_a_timeout(void **state) {
    struct fixture *fixture = *state;
    struct caller first, second, third;

    obtain(fixture, &first, fixture->lock, LK_TRY);
    start(&second, fixture->lock, 40);
    assert_int_equal(take(fixture, &third, fixture->lock, 20), LK_TIMEOUT);
    WAIT_FOR(&fixture->loop, second.calls == 1);
    assert_int_equal(second.status, LK_TIMEOUT);
    assert_int_equal(give(fixture, &first), LK_OK);
    assert_free(fixture, fixture->lock);
}

static void test_owner_token_is_new_for_each_acquisition(void **state) {
    struct fixture *fixture = *state;
    struct caller caller;
    char before[41];

    obtain(fixture, &caller, fixture->lock, LK_TRY);
    memcpy(before, lk_lease_owner(caller.lease), sizeof before);
    assert_int_equal(give(fixture, &caller), LK_OK);
    obtain(fixture, &caller, fixture->lock, LK_TRY);
    assert_string_not_equal(before, lk_lease_owner(caller.lease));
    assert_int_equal(give(fixture, &caller), LK_OK);
}

static void test_waiters_can_be_cancelled_in_any_place(void **state) {
    struct fixture *fixture = *state;
    struct caller holder, waiters[3];

    for (int place = 0; place < 3; place++) {
        /* Not LK_TRY: a cancelled waiter in the server's line may have the lock for a moment. */
        obtain(fixture, &holder, fixture->lock, 10000);
        for (int i = 0; i < 3; i++)
            start(&waiters[i], fixture->lock, LK_FOREVER);
        turn(fixture, 4);
        lk_cancel(waiters[place].request);
        assert_int_equal(waiters[place].calls, 0);
        assert_int_equal(give(fixture, &holder), LK_OK);
        for (int i = 0; i < 3; i++) {
            WAIT_FOR(&fixture->loop, waiters[i].calls == 1);
            assert_int_equal(waiters[i].status, i == place ? LK_CANCELED : LK_OK);
            if (i != place)
                assert_int_equal(give(fixture, &waiters[i]), LK_OK);
        }
    }
}

static void test_lock_may_be_closed_while_its_lease_is_held(void **state) {
    struct fixture *fixture = *state;
    lk_lock *lock = open_lock(fixture, fixture->client, 2000);
    struct caller holder, waiter;

    obtain(fixture, &holder, lock, LK_TRY);
    start(&waiter, lock, LK_FOREVER);
    lk_lock_close(lock);
    assert_int_equal(give(fixture, &holder), LK_OK);
    await_and_give(fixture, &waiter);
}

static void test_fence_rises_across_clients_and_restarts(void **state) {
    struct fixture *fixture = *state;
    uint64_t last = 0;
    struct caller caller;
    lk_client *client;

    for (int i = 0; i < 10; i++) {
        client = open_client(fixture, contract->url);
        obtain(fixture, &caller, open_lock(fixture, client, 2000), LK_FOREVER);
        assert_true(lk_lease_fence(caller.lease) > last);
        last = lk_lease_fence(caller.lease);
        if (i % 2)
            assert_int_equal(give(fixture, &caller), LK_OK);
        close_client(fixture, client);
    }
}

/* The TTL, if there is one, ends before the hold time or after it. */
static void test_abandoned_lock_stays_held_for_the_time_given(void **state) {
    static const struct { uint32_t ttl_ms, hold_ms; } cases[] = {{300, 0}, {500, 900}, {600, 100}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lk_lock *lock = open_lock(fixture, fixture->client, cases[i].ttl_ms);
        struct caller caller;
        uint64_t fence;
        int64_t abandoned_ms;

        obtain(fixture, &caller, lock, 10000);
        fence = lk_lease_fence(caller.lease);
        abandoned_ms = clock_now_ms();
        lk_abandon(caller.lease, cases[i].hold_ms);
        obtain(fixture, &caller, fixture->lock, 10000);
        assert_in_range(clock_now_ms() - abandoned_ms, cases[i].hold_ms, PATIENCE_MS);
        assert_true(lk_lease_fence(caller.lease) > fence);
        assert_int_equal(give(fixture, &caller), LK_OK);
    }
}

/* The client extends the lock before it closes, or stays until the time is over. */
static void test_lock_stays_abandoned_when_its_client_is_closed(void **state) {
    struct fixture *fixture = *state;
    lk_client *client;
    struct caller caller;
    int64_t abandoned_ms;

    if (!has(fixture, LK_CAP_CROSS_PROCESS))
        return;
    client = open_client(fixture, contract->url);
    obtain(fixture, &caller, open_lock(fixture, client, 2000), LK_TRY);
    abandoned_ms = clock_now_ms();
    lk_abandon(caller.lease, 2500);
    close_client(fixture, client);
    obtain(fixture, &caller, fixture->lock, 20000);
    assert_in_range(clock_now_ms() - abandoned_ms, 2500, PATIENCE_MS);
    assert_int_equal(give(fixture, &caller), LK_OK);
}

static void test_inspect_shows_holder_and_waiters(void **state) {
    struct fixture *fixture = *state;
    struct caller holder, waiter;
    struct inspected seen = inspect_lock(fixture, fixture->lock);

    assert_int_equal(seen.status, LK_OK);
    assert_int_equal(seen.holders, 0);
    obtain(fixture, &holder, fixture->lock, LK_TRY);
    start(&waiter, fixture->lock, LK_FOREVER);
    seen = inspect_lock(fixture, fixture->lock);
    assert_int_equal(seen.status, LK_OK);
    assert_int_equal(seen.holders, 1);
    assert_int_equal(seen.mode, LK_EXCLUSIVE);
    assert_string_equal(seen.owner, lk_lease_owner(holder.lease));
    assert_string_equal(seen.label, "test");
    assert_in_range(seen.fence, lk_lease_fence(holder.lease),
                    lk_lease_fence(holder.lease) + (strstr(contract->url, "handover=16") ? 16 : 0));
    assert_int_equal(seen.waiters_here, 1);
    /* Only the server knows when a session will end. */
    if (has(fixture, LK_CAP_SESSION) || !has(fixture, LK_CAP_TTL))
        assert_int_equal(seen.remaining_ms, -1);
    else
        assert_true(seen.remaining_ms > 0);
    assert_int_equal(give(fixture, &holder), LK_OK);
    await_and_give(fixture, &waiter);
}

/* A caller that releases and acquires again inside its callbacks. */
struct repeater {
    struct caller caller;
    lk_lock *lock;
    int left;
};

static void on_repeat(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct repeater *repeater = data;

    (void)request;
    assert_int_equal(status, LK_OK);
    lk_release(lease, NULL, NULL);
    if (--repeater->left > 0)
        assert_int_equal(lk_acquire(repeater->lock, LK_FOREVER, on_repeat, repeater, NULL), LK_OK);
}

static void test_callbacks_may_release_and_acquire(void **state) {
    struct fixture *fixture = *state;
    struct repeater repeaters[2] = {{.lock = fixture->lock, .left = 50},
                                    {.lock = fixture->lock, .left = 50}};

    for (int i = 0; i < 2; i++)
        assert_int_equal(lk_acquire(repeaters[i].lock, LK_FOREVER, on_repeat, &repeaters[i], NULL),
                         LK_OK);
    WAIT_FOR(&fixture->loop, repeaters[0].left == 0 && repeaters[1].left == 0);
}

static void test_bad_arguments_start_nothing(void **state) {
    struct fixture *fixture = *state;
    struct lk_client_options options = {.size = sizeof options + 1};
    struct lk_lock_options policy = {.size = sizeof policy, .ttl_ms = 9};
    char name[600];
    lk_client *client;
    lk_lock *lock;

    assert_int_equal(lk_client_open(&client, &fixture->loop, "ftp://x", NULL), LK_INVALID);
    assert_int_equal(lk_client_open(&client, &fixture->loop, contract->url, &options), LK_INVALID);
    assert_null(client);
    assert_int_equal(lk_lock_open(&lock, fixture->client, "", NULL), LK_INVALID);
    assert_int_equal(lk_lock_open(&lock, fixture->client, "x", &policy), LK_INVALID);
    policy = (struct lk_lock_options){.size = sizeof policy, .ttl_ms = 100, .suspect_ms = 100};
    assert_int_equal(lk_lock_open(&lock, fixture->client, "x", &policy), LK_INVALID);
    memset(name, 'n', sizeof name);
    name[513] = '\0';
    assert_int_equal(lk_lock_open(&lock, fixture->client, name, NULL), LK_INVALID);
    assert_null(lock);
    name[512] = '\0';
    assert_int_equal(lk_lock_open(&lock, fixture->client, name, NULL), LK_OK);
    assert_free(fixture, lock);
}

const struct CMUnitTest contract_basics[] = {
    CONTRACT(test_lock_is_granted_and_given_back),
    CONTRACT(test_try_of_a_held_lock_is_busy),
    CONTRACT(test_try_does_not_overtake_a_waiter),
    CONTRACT(test_wait_that_is_over_is_a_timeout),
    CONTRACT(test_owner_token_is_new_for_each_acquisition),
    CONTRACT(test_waiters_can_be_cancelled_in_any_place),
    CONTRACT(test_lock_may_be_closed_while_its_lease_is_held),
    CONTRACT(test_fence_rises_across_clients_and_restarts),
    CONTRACT(test_abandoned_lock_stays_held_for_the_time_given),
    CONTRACT(test_lock_stays_abandoned_when_its_client_is_closed),
    CONTRACT(test_inspect_shows_holder_and_waiters),
    CONTRACT(test_callbacks_may_release_and_acquire),
    CONTRACT(test_bad_arguments_start_nothing),
};
const size_t contract_basics_count = sizeof contract_basics / sizeof *contract_basics;
