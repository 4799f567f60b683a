/* Handing over: a lock that is given back goes to the next waiter of the same client, without a word
 * to the server, as in cohort locking (Dice, Marathe, Shavit: Lock Cohorting, 2012).
 *
 * The server sees one lease throughout; only its holder changes. So the heir takes over the owner
 * token, the validity and the renewals, and gets the next of the fencing tokens that the grant
 * reserved. In return the heir leaves its own owner token, which may stand in the server's line.
 * The client's next waiter gets that place, or the place is withdrawn.
 *
 * The number of hand-overs is bounded, so that other clients get the lock. The time is bounded to a
 * third of the TTL since the grant or its last renewal. So each heir has two thirds of the TTL
 * left. Renewal is due after that third, so none is under way while the token changes hands. */
#include "lease.h"

#include <assert.h>
#include <string.h>

#define FRESH_PART 3 /* of the TTL: an older lease is not handed over */

static bool release_may_hand_over(const struct lk_lease *lease, int64_t now_ns) {
    const int64_t fresh_ns = (int64_t)lease->policy.ttl_ms * NS_PER_MS / FRESH_PART;

    return lease->phase == LEASE_HELD && lease->handovers_left > 0 && !lease->is_doubtful &&
           lease->fence + 1 > lease->queue->named->seen_fence && lease->in_flight == 0 &&
           lease->told == LK_HELD && lk_lease_state(lease) == LK_HELD &&
           (!lease->policy.has_ttl || now_ns - lease->sent_ns < fresh_ns);
}

/* The heir asks for the same, and the lease would not be SUSPECT for it from the start. */
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
    heir->is_in_line = false; /* a holder does not wait */
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
    lease->client->counters.released++;
    lease->client->counters.handed_over++;
    acquire_tell_soon(lease, tell_handed_over);
    acquire_let_go(lease); /* gives up its place in the server's line */
}

static void hand_over(struct lk_lease *lease, struct lk_lease *heir) {
    struct lk_queue *queue = lease->queue;
    bool is_in_line;

    lease_stop_holding(lease);
    queue_saw_change(queue);
    is_in_line = lease_pass_on(heir, TAILQ_NEXT(heir, place));
    swap_tokens(lease, heir);
    heir->policy.ttl_ms = lease->policy.ttl_ms;
    heir->sent_ns = lease->sent_ns;
    heir->fence = lease->fence + 1;
    heir->handovers_left = lease->handovers_left - 1;
    atomic_store(&heir->valid_until_ns, atomic_load(&lease->valid_until_ns));
    /* The poll goes on as before: a place in the server's line lasts only while somebody asks. */
    if (queue_take_out(queue, heir) != NULL && !uv_is_active((const uv_handle_t *)&queue->poll))
        queue_wait_for_event(queue, -1);
    queue->is_in_line = is_in_line;
    lease_hold(heir);
    acquire_set_outcome(heir, LK_OK);
    end_handed_over(lease);
}

static bool lease_hand_over(struct lk_lease *lease) {
    const int64_t now_ns = client_now_ns(lease->client);
    struct lk_lease *heir = TAILQ_FIRST(&lease->queue->waiters);

    if (heir == NULL || lease->queue->is_trying || !release_may_hand_over(lease, now_ns) ||
        !may_inherit(heir, lease, now_ns))
        return false;
    hand_over(lease, heir);
    return true;
}

void lk_release(lk_lease *lease, lk_release_cb cb, void *data) {
    if (client_is_inherited(lease->client))
        return;
    lease->on_released = cb;
    lease->release_data = data;
    if (!lease_hand_over(lease))
        lease_release(lease);
}
