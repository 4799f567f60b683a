/* The contract in a crowd, without memory, and when a cancel or a close comes at any moment. */
#include "contract.h"
#include "fault.h"

#define CONTENDERS_MOST 200

static int contenders(void) {
    return contract->crowd ? contract->crowd : CONTENDERS_MOST;
}

/* Many callers of one lock, and the facts that they record. */
struct crowd {
    struct fixture *fixture;
    lk_lock *locks[2];
    struct member {
        struct crowd *crowd;
        uv_timer_t work;
        lk_lease *lease;
    } members[CONTENDERS_MOST];
    int inside, overlaps, served, gone, order_errors;
    uint64_t fence;
    struct member *last;
};

static void on_member_gone(uv_handle_t *handle) {
    struct member *member = handle->data;

    member->crowd->gone++;
}

static void on_work_done(uv_timer_t *timer) {
    struct member *member = timer->data;

    member->crowd->inside--;
    lk_release(member->lease, NULL, NULL);
    uv_close((uv_handle_t *)timer, on_member_gone);
}

static void on_member_granted(lk_request *request, enum lk_status status, lk_lease *lease,
                              void *data) {
    struct member *member = data;
    struct crowd *crowd = member->crowd;

    (void)request;
    assert_int_equal(status, LK_OK);
    crowd->overlaps += crowd->inside++ > 0;
    assert_true(lk_lease_fence(lease) > crowd->fence);
    crowd->fence = lk_lease_fence(lease);
    crowd->order_errors += crowd->last != NULL && member < crowd->last;
    crowd->last = member;
    crowd->served++;
    member->lease = lease;
    (void)uv_timer_init(&crowd->fixture->loop, &member->work);
    member->work.data = member;
    (void)uv_timer_start(&member->work, on_work_done, 0, 0);
}

static struct crowd *crowd_start(struct fixture *fixture, lk_lock *one, lk_lock *other) {
    struct crowd *crowd = calloc(1, sizeof *crowd);

    assert_non_null(crowd);
    crowd->fixture = fixture;
    crowd->locks[0] = one;
    crowd->locks[1] = other;
    for (int i = 0; i < contenders(); i++) {
        crowd->members[i].crowd = crowd;
        assert_int_equal(lk_acquire(crowd->locks[i % 2], LK_FOREVER, on_member_granted,
                                    &crowd->members[i], NULL),
                         LK_OK);
    }
    return crowd;
}

static void test_waiters_of_a_client_are_served_in_order(void **state) {
    struct fixture *fixture = *state;
    struct crowd *crowd = crowd_start(fixture, fixture->lock, fixture->lock);

    WAIT_FOR(&fixture->loop, crowd->gone == contenders());
    assert_int_equal(crowd->overlaps, 0);
    assert_int_equal(crowd->order_errors, 0);
    free(crowd);
}

static void test_holders_of_two_clients_never_overlap(void **state) {
    struct fixture *fixture = *state;
    lk_client *client;
    struct crowd *crowd;

    if (!has(fixture, LK_CAP_CROSS_PROCESS))
        return;
    client = open_client(fixture, contract->url);
    crowd = crowd_start(fixture, fixture->lock, open_lock(fixture, client, 2000));
    WAIT_FOR(&fixture->loop, crowd->gone == contenders());
    assert_int_equal(crowd->overlaps, 0);
    close_client(fixture, client);
    free(crowd);
}

/* Enough turns of the loop for every stage of an acquisition. */
#define MOMENTS 12

static void test_cancel_at_each_moment_leaves_nothing_held(void **state) {
    struct fixture *fixture = *state;
    struct caller caller;

    for (int moment = 0; moment < MOMENTS; moment++) {
        start(&caller, fixture->lock, LK_FOREVER);
        turn(fixture, moment);
        if (caller.request != NULL)
            lk_cancel(caller.request);
        WAIT_FOR(&fixture->loop, caller.calls > 0);
        turn(fixture, 3);
        assert_int_equal(caller.calls, 1);
        if (caller.lease != NULL)
            assert_int_equal(give(fixture, &caller), LK_OK);
        else
            assert_int_equal(caller.status, LK_CANCELED);
        assert_free(fixture, fixture->lock);
    }
}

static void test_cancel_at_each_moment_leaves_the_lock_to_the_next(void **state) {
    struct fixture *fixture = *state;
    struct caller first, next;

    for (int moment = 0; moment < MOMENTS; moment++) {
        start(&first, fixture->lock, LK_FOREVER);
        start(&next, fixture->lock, LK_FOREVER);
        turn(fixture, moment);
        if (first.request != NULL)
            lk_cancel(first.request);
        WAIT_FOR(&fixture->loop, first.calls > 0);
        if (first.lease != NULL)
            assert_int_equal(give(fixture, &first), LK_OK);
        WAIT_FOR(&fixture->loop, next.calls > 0);
        assert_int_equal(first.calls, 1);
        assert_int_equal(next.status, LK_OK);
        assert_int_equal(lk_lease_state(next.lease), LK_HELD);
        assert_int_equal(give(fixture, &next), LK_OK);
        assert_int_equal(next.calls, 1);
        assert_free(fixture, fixture->lock);
    }
}

struct closing {
    struct caller holder, waiter, releaser;
    lk_lock *lock; /* the same, for the client that stays */
    bool is_closed;
};

static void close_at(struct fixture *fixture, struct closing *closing, int moment) {
    lk_client *client = open_client(fixture, contract->url);
    struct caller *holder = &closing->holder;

    closing->lock = open_lock(fixture, fixture->client, 2000);
    closing->is_closed = false;
    start(holder, open_lock(fixture, client, 2000), LK_FOREVER);
    start(&closing->waiter, open_lock(fixture, client, 2000), LK_FOREVER);
    start(&closing->releaser, open_lock(fixture, client, 2000), LK_FOREVER);
    turn(fixture, moment);
    if (holder->lease != NULL && moment % 3 == 1)
        lk_release(holder->lease, on_caller_released, holder);
    if (holder->lease != NULL && moment % 3 == 2)
        lk_abandon(holder->lease, 2500);
    lk_client_close(client, on_flag, &closing->is_closed);
    lk_client_close(client, on_flag, &closing->is_closed);
}

/* Each has a name of its own, so that the abandoned ones end at the same time. */
static void test_close_at_each_moment_gives_everything_back(void **state) {
    struct fixture *fixture = *state;
    struct closing closings[MOMENTS];
    char name[sizeof fixture->name];

    memcpy(name, fixture->name, sizeof name);
    for (int moment = 0; moment < MOMENTS; moment++) {
        (void)snprintf(fixture->name, sizeof fixture->name, "%.50s-%d", name, moment);
        close_at(fixture, &closings[moment], moment);
        if (moment % 3 != 2)
            WAIT_FOR(&fixture->loop, closings[moment].is_closed);
    }
    for (int moment = 0; moment < MOMENTS; moment++) {
        struct closing *closing = &closings[moment];

        WAIT_FOR(&fixture->loop, closing->is_closed);
        assert_int_equal(closing->holder.calls, 1);
        assert_int_equal(closing->waiter.calls, 1);
        assert_int_equal(closing->waiter.status, LK_CANCELED);
        assert_int_equal(closing->releaser.calls, 1);
        assert_free(fixture, closing->lock);
    }
}

static void on_inspected_without_memory(enum lk_status status,
                                        const struct lk_inspection *inspection, void *data) {
    assert_int_equal(inspection != NULL, status == LK_OK);
    ++*(int *)data;
}

static void use_client(struct fixture *fixture, lk_client *client) {
    struct lk_lock_options policy = {.size = sizeof policy, .ttl_ms = 100};
    struct caller callers[2] = {{0}};
    int started = 0, inspected = 0, expected = 0;
    lk_lock *lock;

    if (lk_lock_open(&lock, client, fixture->name, &policy) != LK_OK)
        return;
    for (int i = 0; i < 2; i++)
        started += lk_acquire(lock, 50, on_caller_acquired, &callers[i], NULL) == LK_OK;
    expected = lk_inspect(lock, on_inspected_without_memory, &inspected) == LK_OK;
    WAIT_FOR(&fixture->loop,
             callers[0].calls + callers[1].calls == started && inspected == expected);
}

static void live_without_memory(void *arg) {
    struct fixture *fixture = arg;
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 200, .cleanup_ms = 300};
    lk_client *client;

    if (lk_client_open(&client, &fixture->loop, contract->url, &options) != LK_OK)
        return;
    use_client(fixture, client);
    close_client(fixture, client);
}

static void test_each_allocation_may_fail(void **state) {
    fault_each_allocation(live_without_memory, *state);
}

const struct CMUnitTest contract_moments[] = {
    CONTRACT(test_waiters_of_a_client_are_served_in_order),
    CONTRACT(test_holders_of_two_clients_never_overlap),
    CONTRACT(test_cancel_at_each_moment_leaves_nothing_held),
    CONTRACT(test_cancel_at_each_moment_leaves_the_lock_to_the_next),
    CONTRACT(test_close_at_each_moment_gives_everything_back),
    CONTRACT(test_each_allocation_may_fail),
};
const size_t contract_moments_count = sizeof contract_moments / sizeof *contract_moments;
