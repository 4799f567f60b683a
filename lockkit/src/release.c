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
#define FRESH_PART    3    /* of the TTL, after which a lease is not handed over */

/* Tell the caller, once. Last line of what calls it. */
static void release_report(struct lk_lease *lease, enum lk_status status) {
    struct lk_counters *counters = &lease->client->counters;

    if (lease->is_answered)
        return;
    lease->is_answered = true;
    counters->released += status == LK_OK;
    counters->release_lost += status == LK_LOST;
    counters->unknown += status == LK_UNKNOWN;
    if (lease->on_released != NULL)
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
    release_report(lease, status);
}

static void release_give_back(struct lk_lease *lease) {
    assert(lease->phase == LEASE_RELEASING);
    lease_run(lease, &lease->command, LK_RELEASE, lease->client->reply_ms, on_release_answered);
}

static void on_retry(uv_timer_t *timer) {
    release_give_back(timer->data);
}

static void begin_release(struct lk_lease *lease) {
    uint32_t cleanup_ms = lease->client->cleanup_ms;

    if (lease->policy.has_ttl && lease->policy.asked_ms < cleanup_ms)
        cleanup_ms = lease->policy.asked_ms;
    lease->cleanup_until_ns = client_moment_ns(lease->client, cleanup_ms);
    lease->pause_ms = lease->policy.poll_ms < PAUSE_MOST_MS ? lease->policy.poll_ms : PAUSE_MOST_MS;
    (void)uv_timer_stop(&lease->timer); /* of one that was abandoned */
    lease_move(lease, LEASE_RELEASING);
    release_give_back(lease);
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
    begin_release(lease);
    if (was_held)
        queue_giving_back(lease->queue);
}

void lease_hurry_release(struct lk_lease *lease) {
    assert(lease->phase == LEASE_RELEASING);
    if (uv_is_active((uv_handle_t *)&lease->timer))
        (void)uv_timer_start(&lease->timer, on_retry, 0, 0);
}

/* ---- Handing over: a lock that is given back goes to the next waiter of the same client, without
 * a word to the server, as in cohort locking (Dice, Marathe, Shavit: Lock Cohorting, 2012).
 *
 * At the server one lease is held throughout, of which only the holder changes. So the heir has its
 * owner token, its validity, and its renewals, and the next of the fencing tokens that were
 * reserved with the grant. In return it leaves its own token, which may stand in the server's line:
 * the client's next waiter has that place, or it is withdrawn.
 *
 * The number of hand-overs is bounded for the sake of other clients. The time, a third of the TTL
 * since the grant or its last renewal, leaves each heir two thirds of it; that is when renewal is
 * due, so none is under way while the token changes hands. */

/* What it held was handed over, and it has only a place in the line of the server to give back. */
static void release_place(struct lk_lease *lease) {
    lease->is_answered = true; /* it was a hand-over to the caller */
    begin_release(lease);
}

static bool release_may_hand_over(const struct lk_lease *lease, int64_t now_ns) {
    const int64_t fresh_ns = (int64_t)lease->policy.ttl_ms * NS_PER_MS / FRESH_PART;

    return lease->phase == LEASE_HELD && lease->handovers_left > 0 && !lease->is_doubtful &&
           lease->in_flight == 0 && lease->told == LK_HELD && lk_lease_state(lease) == LK_HELD &&
           (!lease->policy.has_ttl || now_ns - lease->sent_ns < fresh_ns);
}

/* One who asked for the same, and for whom it is not SUSPECT from the start. */
static bool may_inherit(const struct lk_lease *heir, const struct lk_lease *lease, int64_t now_ns) {
    assert(heir->phase == LEASE_QUEUED && heir->in_flight == 0);
    return !heir->is_doubtful && heir->policy.handover == lease->policy.handover &&
           heir->policy.mode == lease->policy.mode &&
           heir->policy.asked_ms == lease->policy.asked_ms &&
           validity_state(atomic_load(&lease->valid_until_ns), heir->policy.suspect_ms, now_ns) ==
               LK_HELD;
}

static void swap_tokens(struct lk_lease *lease, struct lk_lease *heir) {
    const bool is_in_line = heir->is_in_line;

    lease_swap_owners(lease, heir);
    heir->is_in_line = false; /* who holds does not wait */
    lease->is_in_line = is_in_line;
}

static void tell_handed_over(void *data) {
    struct lk_lease *lease = data;
    lk_release_cb cb = lease->on_released;
    void *cb_data = lease->release_data;

    lease->is_outcome_due = false;
    lease_maybe_free(lease);
    if (cb != NULL)
        cb(LK_OK, cb_data);
}

static void end_handed_over(struct lk_lease *lease) {
    struct lk_client *client = lease->client;

    assert(!lease->is_outcome_due);
    client->counters.released++;
    client->counters.handed_over++;
    lease->is_outcome_due = true;
    lease->tell_outcome = (struct client_task){.run = tell_handed_over, .data = lease};
    client_run_soon(client, &client->outcomes, &lease->tell_outcome);
    if (lease->is_in_line)
        release_place(lease);
    else
        lease_end(lease);
}

static void hand_over(struct lk_lease *lease, struct lk_lease *heir) {
    bool is_in_line;

    lease_stop_holding(lease);
    queue_saw_change(lease->queue);
    is_in_line = lease_pass_on(heir, TAILQ_NEXT(&heir->waiter, entry));
    swap_tokens(lease, heir);
    heir->policy.ttl_ms = lease->policy.ttl_ms;
    heir->sent_ns = lease->sent_ns;
    heir->fence = lease->fence + 1;
    heir->handovers_left = lease->handovers_left - 1;
    atomic_store(&heir->valid_until_ns, atomic_load(&lease->valid_until_ns));
    queue_handed_over(lease->queue, &heir->waiter, is_in_line);
    lease_inherit(heir);
    end_handed_over(lease);
}

static bool lease_hand_over(struct lk_lease *lease) {
    const int64_t now_ns = client_now_ns(lease->client);
    const struct queue_waiter *waiter = queue_heir(lease->queue);

    if (waiter == NULL || !release_may_hand_over(lease, now_ns) ||
        !may_inherit(waiter->data, lease, now_ns))
        return false;
    hand_over(lease, waiter->data);
    return true;
}

void lk_release(lk_lease *lease, lk_release_cb cb, void *data) {
    lease->on_released = cb;
    lease->release_data = data;
    if (!lease_hand_over(lease))
        lease_release(lease);
}
