/* Abandoning: the holder has gone without giving the lock back, as its last write may still take
 * effect, and the lock stays taken until it cannot any more.
 *
 * Where a TTL frees the lock, nothing is to be done if it ends late enough; else one renewal with
 * the time that is missing, repeated until the server answers it. Where there is none, or a session
 * that outlives the lease, the lease itself waits for the time to pass, renewed where it needs to
 * be, and is released. A session is asked to stay a TTL longer than that, so that the lock is kept
 * should we stand still, and given back by us should we not. */
#include "lease.h"

#include <assert.h>

#define RETRY_MS   50 /* at most between two attempts to extend */
#define RENEW_PART 3

static void on_time(uv_timer_t *timer) {
    lease_stay_abandoned(timer->data);
}

static void wait_ms(struct lk_lease *lease, uint64_t ms) {
    uv_update_time(lease->client->loop);
    (void)uv_timer_start(&lease->timer, on_time, ms, 0);
}

static void on_extended(struct lk_command *command) {
    struct lk_lease *lease = command->data;

    lease_answered(lease, command);
    if (lease->phase != LEASE_ABANDONED) { /* the client was closed */
        lease_maybe_free(lease);
        return;
    }
    if (command->status == LK_LOST || (command->status == LK_OK && !lease->policy.is_session)) {
        lease_end(lease);
        return;
    }
    if (command->status == LK_OK) {
        wait_ms(lease, client_jitter_ms(lease->client, lease->policy.ttl_ms / RENEW_PART));
        return;
    }
    lease->client->counters.renew_failed++;
    if (lease->client->is_closing && client_now_ns(lease->client) >= lease->cleanup_until_ns)
        lease_end(lease);
    else
        wait_ms(lease, client_jitter_ms(lease->client, RETRY_MS));
}

bool lease_outlives_hold(const struct lk_lease *lease) {
    return lease->policy.has_ttl && !lease->policy.is_session &&
           atomic_load(&lease->valid_until_ns) >= lease->hold_until_ns;
}

static uint32_t missing_ms(const struct lk_lease *lease, int64_t left_ms) {
    if (!lease->policy.is_session)
        return (uint32_t)left_ms + 1;
    left_ms += lease->policy.ttl_ms;
    return left_ms < INT32_MAX ? (uint32_t)left_ms : INT32_MAX; /* the most that Postgres takes */
}

void lease_stay_abandoned(struct lk_lease *lease) {
    int64_t left_ms = validity_left_ms(lease->hold_until_ns, client_now_ns(lease->client));
    bool is_freed_by_us = !lease->policy.has_ttl || lease->policy.is_session;

    assert(lease->phase == LEASE_ABANDONED);
    if (lease_outlives_hold(lease) || (left_ms == 0 && !is_freed_by_us)) {
        lease_end(lease);
    } else if (left_ms == 0) {
        lease_release(lease);
    } else if (!lease->policy.has_ttl) {
        wait_ms(lease, (uint64_t)left_ms + 1);
    } else if (lease->in_flight == 0) {
        lease->policy.asked_ms = missing_ms(lease, left_ms);
        lease_run(lease, &lease->renewal, LK_RENEW, lease->client->reply_ms, on_extended);
    }
}

void lk_abandon(lk_lease *lease, uint32_t hold_ms) {
    lease_stop_holding(lease);
    lease->hold_until_ns = client_moment_ns(lease->client, hold_ms);
    lease_move(lease, LEASE_ABANDONED);
    queue_not_ours(lease->queue);
    lease_stay_abandoned(lease);
}
