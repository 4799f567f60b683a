/* Giving back: a lease that the caller releases, and one that may have been granted to nobody.
 *
 * Happy path: one release, confirmed. Without an answer the caller is told UNKNOWN, and the release
 * is repeated until it is confirmed, or until the clean-up time or the TTL has passed, after which
 * the server has forgotten the lock by itself. Repeating is safe: a release only ever deletes what
 * carries this lease's owner token. It is also repeated after an answer while an attempt of ours
 * is unanswered: that attempt may reach the server after the release. The pauses between double, so
 * that those who clean up after a slow server do not keep it slow. */
#include "lease.h"

#include <assert.h>

#define PAUSE_MOST_MS 2000 /* between two releases, at most twice this */

/* Tell the caller, once. Last line of what calls it. */
static void report(struct lk_lease *lease, enum lk_status status) {
    struct lk_counters *counters = &lease->client->counters;

    if (lease->is_answered)
        return;
    lease->is_answered = true;
    counters->released += status == LK_OK;
    counters->release_lost += status == LK_LOST;
    counters->unknown += status == LK_UNKNOWN;
    if (lease->on_released)
        lease->on_released(status, lease->release_data);
}

/* What no TTL of its own ends is given back for as long as it takes, or as the client is there. */
static bool is_final(const struct lk_lease *lease, enum lk_status status) {
    const bool ends_by_itself = lease->policy.has_ttl && !lease->policy.is_session;

    if (client_now_ns(lease->client) >= lease->cleanup_until_ns &&
        (ends_by_itself || lease->client->is_closing))
        return true;
    return status != LK_UNKNOWN && (!lease->is_doubtful || lease->client->is_closing);
}

static void on_retry(uv_timer_t *timer);

/* Once more when the clean-up time ends; after it, what goes on does so at its own pace. */
static void retry_later(struct lk_lease *lease) {
    int64_t left_ms = validity_left_ms(lease->cleanup_until_ns, client_now_ns(lease->client));
    uint64_t pause_ms = client_jitter_ms(lease->client, lease->pause_ms);

    assert(pause_ms > 0 && !uv_is_active((const uv_handle_t *)&lease->timer));
    if (left_ms > 0 && (uint64_t)left_ms < pause_ms)
        pause_ms = (uint64_t)left_ms + 1;
    (void)uv_timer_start(&lease->timer, on_retry, pause_ms, 0);
    if (lease->pause_ms < PAUSE_MOST_MS)
        lease->pause_ms *= 2;
}

static void on_release_answered(struct lk_command *command) {
    struct lk_lease *lease = command->data;
    enum lk_status status = command->status;

    assert(lease->phase == LEASE_RELEASING && command == &lease->command);
    lease_answered(lease, command);
    if (status != LK_OK && status != LK_LOST)
        status = LK_UNKNOWN;
    queue_given_back(lease->queue);
    if (is_final(lease, status))
        lease_end(lease);
    else
        retry_later(lease);
    report(lease, status);
}

static void give_back(struct lk_lease *lease) {
    assert(lease->phase == LEASE_RELEASING);
    lease_run(lease, &lease->command, LK_RELEASE, lease->client->reply_ms, on_release_answered);
}

static void on_retry(uv_timer_t *timer) {
    give_back(timer->data);
}

static void begin(struct lk_lease *lease) {
    uint32_t cleanup_ms = lease->client->cleanup_ms;

    if (lease->policy.has_ttl && lease->policy.asked_ms < cleanup_ms)
        cleanup_ms = lease->policy.asked_ms;
    lease->cleanup_until_ns = client_moment_ns(lease->client, cleanup_ms);
    lease->pause_ms = lease->policy.poll_ms < PAUSE_MOST_MS ? lease->policy.poll_ms : PAUSE_MOST_MS;
    (void)uv_timer_stop(&lease->timer); /* of one that was abandoned */
    lease_move(lease, LEASE_RELEASING);
    give_back(lease);
}

void lease_release(struct lk_lease *lease) {
    const bool was_held = lease->phase == LEASE_HELD;

    if (was_held) {
        queue_saw_change(lease->queue);
        lease_stop_holding(lease);
        lease->queue->is_ours = false;
    } else {
        lease->is_answered = true; /* nobody asked for it */
    }
    begin(lease);
    if (was_held)
        queue_giving_back(lease->queue);
}

void lease_withdraw(struct lk_lease *lease) {
    lease->is_answered = true; /* it was a hand-over to the caller */
    begin(lease);
}

void lease_hurry_release(struct lk_lease *lease) {
    assert(lease->phase == LEASE_RELEASING);
    if (uv_is_active((uv_handle_t *)&lease->timer))
        (void)uv_timer_start(&lease->timer, on_retry, 0, 0);
}

void lk_release(lk_lease *lease, lk_release_cb cb, void *data) {
    lease->on_released = cb;
    lease->release_data = data;
    if (!lease_hand_over(lease))
        lease_release(lease);
}
