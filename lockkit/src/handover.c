/* Handing over: a lock that is given back goes to the next waiter of the same client, without a
 * word to the server, as in cohort locking (Dice, Marathe, Shavit: Lock Cohorting, 2012).
 *
 * At the server one lease is held throughout, of which only the holder changes. So the heir has its
 * owner token, its validity, and its renewals, and the next of the fencing tokens that were
 * reserved with the grant. In return it leaves its own token, which may stand in the server's line:
 * the client's next waiter has that place, or it is withdrawn.
 *
 * The number of hand-overs is bounded for the sake of other clients. The time, a third of the TTL
 * since the grant or its last renewal, leaves each heir two thirds of it; that is when renewal is
 * due, so none is under way while the token changes hands. */
#include "lease.h"

#include <assert.h>

#define FRESH_PART 3

static bool may_hand_over(const struct lk_lease *lease, int64_t now_ns) {
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
    if (cb)
        cb(LK_OK, cb_data);
}

static void end(struct lk_lease *lease) {
    struct lk_client *client = lease->client;

    assert(!lease->is_outcome_due);
    client->counters.released++;
    client->counters.handed_over++;
    lease->is_outcome_due = true;
    lease->tell_outcome = (struct client_task){.run = tell_handed_over, .data = lease};
    client_run_soon(client, &client->outcomes, &lease->tell_outcome);
    if (lease->is_in_line)
        lease_withdraw(lease);
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
    end(lease);
}

bool lease_hand_over(struct lk_lease *lease) {
    const int64_t now_ns = client_now_ns(lease->client);
    const struct queue_waiter *waiter = queue_heir(lease->queue);

    if (!waiter || !may_hand_over(lease, now_ns) || !may_inherit(waiter->data, lease, now_ns))
        return false;
    hand_over(lease, waiter->data);
    return true;
}
