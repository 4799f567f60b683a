/* The contract of optional abilities: shared locks, permits, order across clients, lists, breaking.
 * A backend that lacks one must refuse it. */
#include "contract.h"

/* Another client, if the backend excludes other clients; else the same one. */
static lk_client *other_client(struct fixture *fixture) {
    if (!has(fixture, LK_CAP_CROSS_PROCESS))
        return fixture->client;
    fixture->other = open_client(fixture, contract->url);
    return fixture->other;
}

static void test_what_it_cannot_do_is_refused(void **state) {
    static const struct {
        enum lk_caps cap;
        struct lk_lock_options options;
    } cases[] = {{LK_CAP_FAIR, {.is_fair = 1}},
                 {LK_CAP_SHARED, {.mode = LK_SHARED}},
                 {LK_CAP_PERMITS, {.mode = LK_SHARED, .limit = 3}},
                 {LK_CAP_HANDOVER, {.handover = 1}}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lk_lock_options options = cases[i].options;
        enum lk_status status;
        lk_lock *lock;

        options.size = sizeof options;
        status = lk_lock_open(&lock, fixture->client, fixture->name, &options);
        assert_int_equal(status, has(fixture, cases[i].cap) ? LK_OK : LK_UNSUPPORTED);
        assert_int_equal(lock != NULL, status == LK_OK);
    }
    if (!has(fixture, LK_CAP_BREAK))
        assert_int_equal(lk_break(fixture->lock, NULL, NULL, NULL), LK_UNSUPPORTED);
}

static void test_permits_out_of_range_are_invalid(void **state) {
    static const struct lk_lock_options cases[] = {{.mode = LK_SHARED, .limit = 2, .permits = 3},
                                                   {.mode = LK_EXCLUSIVE, .limit = 2},
                                                   {.mode = LK_EXCLUSIVE, .permits = 2}};
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lk_lock_options options = cases[i];
        lk_lock *lock;

        options.size = sizeof options;
        assert_int_equal(lk_lock_open(&lock, fixture->client, fixture->name, &options), LK_INVALID);
    }
}

static void test_shared_ones_hold_together_and_never_beside_an_exclusive_one(void **state) {
    struct fixture *fixture = *state;
    struct caller readers[2], writer, late;
    lk_lock *shared;
    uint64_t fence;

    if (!has(fixture, LK_CAP_SHARED))
        return;
    shared = open_lock_as(fixture, fixture->client,
                          (struct lk_lock_options){.ttl_ms = 2000, .mode = LK_SHARED});
    for (int i = 0; i < 2; i++)
        obtain(fixture, &readers[i], shared, LK_TRY);
    fence = lk_lease_fence(readers[1].lease);
    assert_true(fence >= lk_lease_fence(readers[0].lease));
    assert_int_equal(take(fixture, &writer, fixture->lock, LK_TRY), LK_BUSY);
    start(&writer, fixture->lock, LK_FOREVER);
    turn(fixture, 4);
    assert_int_equal(take(fixture, &late, shared, LK_TRY), LK_BUSY); /* nor overtake a writer */
    assert_int_equal(give(fixture, &readers[0]), LK_OK);
    turn(fixture, 4);
    assert_int_equal(writer.calls, 0);
    assert_int_equal(give(fixture, &readers[1]), LK_OK);
    WAIT_FOR(&fixture->loop, writer.calls == 1);
    if (lk_lease_fence(writer.lease) > 0)
        assert_true(lk_lease_fence(writer.lease) > fence);
    assert_int_equal(take(fixture, &late, shared, LK_TRY), LK_BUSY);
    start(&late, shared, LK_FOREVER);
    assert_int_equal(give(fixture, &writer), LK_OK);
    await_and_give(fixture, &late);
    assert_free(fixture, fixture->lock);
}

static void test_readers_who_wait_are_let_in_together(void **state) {
    struct fixture *fixture = *state;
    struct caller writer, readers[3];
    lk_lock *shared;

    if (!has(fixture, LK_CAP_SHARED))
        return;
    shared = open_lock_as(fixture, fixture->client,
                          (struct lk_lock_options){.ttl_ms = 2000, .mode = LK_SHARED});
    obtain(fixture, &writer, fixture->lock, LK_TRY);
    for (int i = 0; i < 3; i++)
        start(&readers[i], shared, LK_FOREVER);
    assert_int_equal(give(fixture, &writer), LK_OK);
    WAIT_FOR(&fixture->loop, readers[0].calls + readers[1].calls + readers[2].calls == 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(give(fixture, &readers[i]), LK_OK);
    assert_free(fixture, fixture->lock);
}

static void test_no_more_permits_are_out_than_there_are(void **state) {
    struct fixture *fixture = *state;
    struct caller two, one, more, waiter;
    lk_lock *pair, *single;

    if (!has(fixture, LK_CAP_PERMITS))
        return;
    pair = open_lock_as(
        fixture, fixture->client,
        (struct lk_lock_options){.ttl_ms = 2000, .mode = LK_SHARED, .limit = 3, .permits = 2});
    single = open_lock_as(fixture, other_client(fixture),
                          (struct lk_lock_options){.ttl_ms = 2000, .mode = LK_SHARED, .limit = 3});
    obtain(fixture, &two, pair, LK_TRY);
    assert_int_equal(take(fixture, &more, pair, LK_TRY), LK_BUSY);
    obtain(fixture, &one, single, LK_TRY);
    assert_int_equal(take(fixture, &more, single, LK_TRY), LK_BUSY);
    start(&waiter, pair, LK_FOREVER);
    assert_int_equal(give(fixture, &one), LK_OK);
    turn(fixture, 4);
    assert_int_equal(waiter.calls, 0);
    assert_int_equal(give(fixture, &two), LK_OK);
    await_and_give(fixture, &waiter);
    assert_free(fixture, fixture->lock);
}

#define IN_LINE 6

/* Each waiter is in line before the next one comes. */
static void test_fair_ones_are_served_in_the_order_they_came_across_clients(void **state) {
    struct fixture *fixture = *state;
    struct caller holder, waiters[IN_LINE];
    lk_lock *locks[2];

    if (!has(fixture, LK_CAP_FAIR) || !has(fixture, LK_CAP_WAITERS))
        return;
    locks[0] = open_lock_as(fixture, fixture->client,
                            (struct lk_lock_options){.ttl_ms = 2000, .is_fair = 1});
    locks[1] = open_lock_as(fixture, other_client(fixture),
                            (struct lk_lock_options){.ttl_ms = 2000, .is_fair = 1});
    obtain(fixture, &holder, locks[0], LK_TRY);
    for (size_t i = 0; i < IN_LINE; i++) {
        start(&waiters[i], locks[i * 5 % 3 % 2], LK_FOREVER); /* 0 0 1 0 0 1 */
        await_crowd(fixture, 1, i + 1);
    }
    assert_int_equal(give(fixture, &holder), LK_OK);
    for (size_t i = 0; i < IN_LINE; i++) {
        WAIT_FOR(&fixture->loop, waiters[i].calls == 1);
        for (size_t j = i + 1; j < IN_LINE; j++)
            assert_int_equal(waiters[j].calls, 0);
        assert_int_equal(give(fixture, &waiters[i]), LK_OK);
    }
    await_crowd(fixture, 0, 0);
}

static void test_one_who_gives_up_leaves_the_line(void **state) {
    struct fixture *fixture = *state;
    struct caller holder, waiter;
    lk_lock *other;

    if (!has(fixture, LK_CAP_WAITERS))
        return;
    other = open_lock(fixture, other_client(fixture), 2000);
    obtain(fixture, &holder, fixture->lock, LK_TRY);
    start(&waiter, other, LK_FOREVER);
    await_crowd(fixture, 1, 1);
    lk_cancel(waiter.request);
    WAIT_FOR(&fixture->loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_CANCELED);
    await_crowd(fixture, 1, 0);
    assert_int_equal(give(fixture, &holder), LK_OK);
    assert_free(fixture, other);
}

struct state_seen {
    int calls;
    enum lk_state last;
};

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct state_seen *seen = data;

    assert_non_null(lease);
    assert_non_null(why);
    seen->calls++;
    seen->last = state;
}

/* A holder with a TTL may hear of it only at the next renewal. */
static void test_broken_lock_is_lost_and_the_next_token_is_higher(void **state) {
    struct fixture *fixture = *state;
    struct caller holder, next;
    struct state_seen seen = {0};
    uint64_t fence;

    if (!has(fixture, LK_CAP_BREAK))
        return;
    assert_int_equal(break_lock(fixture, fixture->lock, NULL), LK_LOST);
    obtain(fixture, &holder, fixture->lock, LK_TRY);
    fence = lk_lease_fence(holder.lease);
    lk_lease_on_state(holder.lease, on_state, &seen);
    assert_int_equal(break_lock(fixture, fixture->lock, lk_lease_owner(holder.lease)), LK_OK);
    obtain(fixture, &next, fixture->lock, 10000);
    assert_true(fence == 0 || lk_lease_fence(next.lease) > fence);
    WAIT_FOR(&fixture->loop, seen.last == LK_LOST_STATE && seen.calls > 0);
    assert_int_equal(lk_lease_check(holder.lease, 0), LK_LOST);
    assert_int_equal(give(fixture, &holder), LK_LOST);
    assert_int_equal(break_lock(fixture, fixture->lock, "nobody"), LK_LOST);
    assert_int_equal(lk_lease_check(next.lease, 1), LK_OK);
    assert_int_equal(give(fixture, &next), LK_OK);
}

/* A token above all clocks was counted, not read from a clock. */
#define BEYOND_CLOCKS (UINT64_C(1) << 52)

/* The server grants once. Each heir excludes the others, like the first holder. */
static void test_tokens_rise_as_it_is_handed_over_and_the_next_grant_is_above_them(void **state) {
    struct fixture *fixture = *state;
    /* A lock is not handed over after a third of the TTL, nor to a waiter that polls at that
     * moment. These values are so long that neither happens in a stall of the machine. */
    const struct lk_lock_options twice = {
        .handover = 2, .ttl_ms = 3 * PATIENCE_MS, .poll_ms = 3 * PATIENCE_MS};
    struct caller callers[3], next;
    lk_lock *lock, *other;
    uint64_t fence;

    if (!has(fixture, LK_CAP_HANDOVER))
        return;
    lock = open_lock_as(fixture, fixture->client, twice);
    other = open_lock_as(fixture, other_client(fixture),
                         (struct lk_lock_options){.ttl_ms = 2000, .handover = 1});
    obtain(fixture, &callers[0], lock, LK_TRY);
    lk_lease_saw_fence(callers[0].lease, BEYOND_CLOCKS);
    assert_int_equal(give(fixture, &callers[0]), LK_OK);
    obtain(fixture, &callers[0], lock, LK_TRY);
    fence = lk_lease_fence(callers[0].lease);
    start(&callers[1], lock, LK_FOREVER);
    start(&callers[2], lock, LK_FOREVER);
    for (unsigned i = 1; i <= 2; i++) {
        assert_int_equal(give(fixture, &callers[i - 1]), LK_OK);
        WAIT_FOR(&fixture->loop, callers[i].calls == 1);
        assert_int_equal(callers[i].status, LK_OK);
        assert_true(lk_lease_fence(callers[i].lease) == fence + i);
        assert_int_equal(take(fixture, &next, other, LK_TRY), LK_BUSY);
    }
    assert_int_equal(counters(fixture->client).handed_over, 2);
    assert_int_equal(give(fixture, &callers[2]), LK_OK);
    obtain(fixture, &next, other, 10000);
    assert_true(lk_lease_fence(next.lease) > fence + 2);
    assert_int_equal(give(fixture, &next), LK_OK);
    assert_free(fixture, fixture->lock);
}

/* Both waited before the resource was asked for its token: one may inherit, one may stand in line. */
static void expect_tokens_above_seen(struct fixture *fixture, struct lk_lock_options options) {
    struct caller holder, waiters[2];
    uint64_t seen;
    lk_lock *lock = open_lock_as(fixture, fixture->client, options);

    obtain(fixture, &holder, lock, 10000);
    for (int i = 0; i < 2; i++)
        start(&waiters[i], lock, LK_FOREVER);
    turn(fixture, 5);
    seen = BEYOND_CLOCKS + lk_lease_fence(holder.lease) / 2;
    lk_lease_saw_fence(holder.lease, seen);
    assert_int_equal(give(fixture, &holder), LK_OK);
    for (int i = 0, first = 0; i < 2; i++) { /* one that asks again may stand behind the other */
        struct caller *next;

        WAIT_FOR(&fixture->loop, waiters[0].calls + waiters[1].calls == i + 1);
        first = i == 0 ? waiters[1].calls : first;
        next = &waiters[first ^ i];
        assert_int_equal(next->status, LK_OK);
        assert_true(lk_lease_fence(next->lease) > seen);
        seen = lk_lease_fence(next->lease);
        assert_int_equal(give(fixture, next), LK_OK);
    }
    lk_lock_close(lock);
}

static void test_waiters_and_heirs_get_tokens_above_that_of_the_resource(void **state) {
    struct fixture *fixture = *state;
    struct lk_lock_options options = {.ttl_ms = 60000};

    if (!has(fixture, LK_CAP_HANDOVER))
        return;
    expect_tokens_above_seen(fixture, options);
    options.handover = 2;
    expect_tokens_above_seen(fixture, options);
    options.handover = 0;
    options.is_fair = has(fixture, LK_CAP_FAIR);
    expect_tokens_above_seen(fixture, options);
}

/* Tokens that cannot be reserved for heirs are the server's own count, which goes its own way. */
static void expect_above_or_refused(struct fixture *fixture, lk_client *client, uint64_t seen) {
    const bool has_own_count = has(fixture, LK_CAP_FENCE_LINEAR) && !has(fixture, LK_CAP_HANDOVER);
    lk_lock *lock = open_lock(fixture, client, 2000);
    struct caller caller;

    obtain(fixture, &caller, lock, 10000);
    lk_lease_saw_fence(caller.lease, seen);
    assert_int_equal(give(fixture, &caller), LK_OK);
    if (take(fixture, &caller, lock, LK_TRY) != LK_OK) {
        assert_false(has_own_count);
        assert_int_equal(caller.status, LK_REFUSED);
        return;
    }
    assert_true(lk_lease_fence(caller.lease) > seen || has_own_count);
    assert_int_equal(give(fixture, &caller), LK_OK);
}

static void test_grant_that_cannot_have_a_token_above_the_resources_is_refused(void **state) {
    struct fixture *fixture = *state;

    expect_above_or_refused(fixture, fixture->client, (UINT64_C(1) << 53) - 1);
    close_client(fixture, fixture->client); /* it may be refused every token from now on */
    fixture->client = open_client(fixture, contract->url);
    expect_above_or_refused(fixture, fixture->client, UINT64_MAX);
}

const struct CMUnitTest contract_modes[] = {
    CONTRACT(test_what_it_cannot_do_is_refused),
    CONTRACT(test_permits_out_of_range_are_invalid),
    CONTRACT(test_shared_ones_hold_together_and_never_beside_an_exclusive_one),
    CONTRACT(test_readers_who_wait_are_let_in_together),
    CONTRACT(test_no_more_permits_are_out_than_there_are),
    CONTRACT(test_fair_ones_are_served_in_the_order_they_came_across_clients),
    CONTRACT(test_one_who_gives_up_leaves_the_line),
    CONTRACT(test_broken_lock_is_lost_and_the_next_token_is_higher),
    CONTRACT(test_tokens_rise_as_it_is_handed_over_and_the_next_grant_is_above_them),
    CONTRACT(test_waiters_and_heirs_get_tokens_above_that_of_the_resource),
    CONTRACT(test_grant_that_cannot_have_a_token_above_the_resources_is_refused),
};
const size_t contract_modes_count = sizeof contract_modes / sizeof *contract_modes;
