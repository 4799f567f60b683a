/* Acquiring: queue, attempt, and what each answer means for the caller.
 *
 * Happy path: the lease joins the queue, becomes its head, attempts and is granted; its callback
 * runs in the next turn of the loop. A refused one stays the head and attempts again. One that was
 * not answered does the same, but is doubtful from then on, as it may own the lock.
 *
 * A lease that ends leaves its place in the server's line, or its doubt, to the next waiter, which
 * goes on under the same owner token, if it asks for the same. A lease that finds no such waiter is
 * released. When the wait ends during an attempt, the lease is an orphan: the answer is for the
 * head of that moment. So a server that takes longer to answer than waits have left still serves
 * somebody. */
#include "lease.h"

#include <assert.h>

static bool is_anything_begun(const struct lk_lease *lease) {
    return lease->is_in_line || lease->is_doubtful;
}

/* `next` has begun nothing at the server, and asks for the same as `lease` does. */
static bool may_go_on(const struct lk_lease *next, const struct lk_lease *lease) {
    const struct lk_policy *one = &next->policy, *other = &lease->policy;

    return next->phase == LEASE_QUEUED && !is_anything_begun(next) && one->mode == other->mode &&
           one->limit == other->limit && one->permits == other->permits &&
           one->handover == other->handover && one->asked_ms == other->asked_ms;
}

/* With the owner token that the server knows. */
static void acquire_go_on(struct lk_lease *next, struct lk_lease *lease) {
    lease_swap_owners(next, lease);
    next->is_in_line = lease->is_in_line;
    next->is_doubtful = lease->is_doubtful;
    lease->is_in_line = lease->is_doubtful = false;
}

bool lease_pass_on(struct lk_lease *lease, const struct queue_waiter *waiter) {
    struct lk_lease *next = waiter != NULL ? waiter->data : NULL;

    if (next == NULL || lease->in_flight > 0 || !is_anything_begun(lease) || next->waiter.is_try ||
        !may_go_on(next, lease))
        return false;
    acquire_go_on(next, lease);
    return next->is_in_line;
}

/* Its request is over. */
static void acquire_let_go(struct lk_lease *lease) {
    if (is_anything_begun(lease))
        lease_release(lease);
    else
        lease_end(lease);
}

/* A lease that is given is the caller's, who may end it at once: not ours to touch any more. */
static void tell_outcome(void *data) {
    struct lk_lease *lease = data;
    bool is_granted = lease->outcome == LK_OK;

    assert(lease->is_outcome_due);
    assert(!is_granted || lease->phase == LEASE_HELD);
    lease->is_outcome_due = !is_granted; /* keeps the request for the callback */
    lease->on_acquired(&lease->request, lease->outcome, is_granted ? lease : NULL,
                       lease->acquire_data);
    if (is_granted)
        return;
    lease->is_outcome_due = false;
    if (lease->phase == LEASE_QUEUED) { /* to one who has come again, in the callback */
        (void)lease_pass_on(lease, TAILQ_FIRST(&lease->queue->waiters));
        acquire_let_go(lease);
    } else {
        lease_maybe_free(lease);
    }
}

static void acquire_set_outcome(struct lk_lease *lease, enum lk_status status) {
    struct lk_client *client = lease->client;

    assert(!lease->is_outcome_due);
    lease->outcome = status;
    lease->kept_ns = queue_kept_ns(lease->queue, lease->joined_ns);
    lease->is_outcome_due = true;
    lease->tell_outcome = (struct client_task){.run = tell_outcome, .data = lease};
    client_run_soon(client, &client->outcomes, &lease->tell_outcome);
}

/* LK_OK is counted where holding begins. */
static void acquire_count(struct lk_counters *counters, enum lk_status status) {
    counters->busy += status == LK_BUSY;
    counters->timed_out += status == LK_TIMEOUT;
    counters->canceled += status == LK_CANCELED;
    counters->unknown += status == LK_UNKNOWN;
    counters->unavailable += status == LK_UNAVAILABLE;
    counters->refused += status == LK_REFUSED;
}

void lease_end_request(struct lk_lease *lease, enum lk_status status) {
    assert(lease->phase == LEASE_QUEUED || lease->phase == LEASE_TRYING);
    assert(status != LK_OK);
    (void)uv_timer_stop(&lease->timer);
    acquire_count(&lease->client->counters, status);
    acquire_set_outcome(lease, status);
    if (lease->in_flight > 0) {
        lease->round_trips += lease->command.round_trips;
        queue_leave_attempt(lease->queue, &lease->waiter);
        lease_move(lease, LEASE_ORPHANED);
        return;
    }
    queue_leave(lease->queue, &lease->waiter,
                lease_pass_on(lease, TAILQ_NEXT(&lease->waiter, entry)));
    if (lease->phase == LEASE_TRYING || !lease->is_in_line || lease->is_doubtful ||
        lease->client->is_closing)
        acquire_let_go(lease);
}

static void begin_to_hold(struct lk_lease *lease) {
    (void)uv_timer_stop(&lease->timer);
    lease_move(lease, LEASE_HELD);
    lk_lease_saw_fence(lease, lease->fence);
    lease_hold(lease);
    acquire_set_outcome(lease, LK_OK);
}

static void granted(struct lk_lease *lease) {
    lease->handovers_left = lease->policy.handover;
    queue_granted(lease->queue, &lease->waiter);
    begin_to_hold(lease);
}

void lease_inherit(struct lk_lease *lease) {
    begin_to_hold(lease);
}

static bool is_still_valid(struct lk_lease *lease) {
    lease_set_validity(lease, &lease->command, lease->sent_ns);
    return lk_lease_state(lease) != LK_LOST_STATE;
}

static void acquire_told_no(struct lk_lease *lease, enum lk_status status, int64_t remaining_ms) {
    if (lease->waiter.is_try || status == LK_NOMEM) {
        queue_attempt_ended(lease->queue);
        lease_end_request(lease, status);
        return;
    }
    lease->last = status == LK_BUSY ? LK_TIMEOUT : status;
    lease_move(lease, LEASE_QUEUED);
    queue_refused(lease->queue, remaining_ms, lease->is_in_line);
}

static void acquire_take_answer(struct lk_lease *lease, enum lk_status status) {
    if (status == LK_OK)
        granted(lease);
    else
        acquire_told_no(lease, status, status == LK_BUSY ? lease->command.remaining_ms : -1);
}

/* Find the waiter that takes the answer to the attempt of `orphan`. One that only tries has an
 * attempt of its own, but need not make it when the lock is there already. */
static struct lk_lease *find_heir(const struct lk_lease *orphan, enum lk_status status) {
    const struct queue_waiter *head = TAILQ_FIRST(&orphan->queue->waiters);

    if (head == NULL || status == LK_NOMEM || (head->is_try && status != LK_OK) ||
        !may_go_on(head->data, orphan))
        return NULL;
    return head->data;
}

static void orphan_answered(struct lk_lease *orphan, enum lk_status status) {
    struct lk_lease *heir = find_heir(orphan, status);

    if (heir == NULL) {
        orphan->client->counters.late_grants += status == LK_OK;
        queue_attempt_ended(orphan->queue);
        if (status == LK_OK || is_anything_begun(orphan))
            lease_release(orphan);
        else
            lease_end(orphan);
        return;
    }
    acquire_go_on(heir, orphan);
    heir->sent_ns = orphan->sent_ns;
    heir->fence = orphan->fence;
    heir->command.granted_ms = orphan->command.granted_ms;
    heir->command.remaining_ms = orphan->command.remaining_ms;
    if (status == LK_OK)
        lease_set_validity(heir, &heir->command, heir->sent_ns);
    lease_move(heir, LEASE_TRYING);
    lease_end(orphan);
    acquire_take_answer(heir, status);
}

static void on_attempt_answered(struct lk_command *command) {
    struct lk_lease *lease = command->data;
    enum lk_status status = command->status;

    assert(lease->phase == LEASE_TRYING || lease->phase == LEASE_ORPHANED);
    assert(status != LK_LOST && status != LK_INVALID);
    lease_answered(lease, command);
    if (command->round_trips > 0) /* or else a hand-over has answered it */
        client_saw_answer(lease->client, lease->sent_ns);
    lease->fence = command->fence;
    if (lease->phase == LEASE_TRYING)
        lease->round_trips += command->round_trips;
    /* A grant whose validity is over before we heard of it is as good as no answer: the next
     * attempt, with the same owner token, renews it, or it is given back. So is one that the
     * backend has said was lost. */
    if (status == LK_OK && (!is_still_valid(lease) || lease->is_lost_early))
        status = LK_UNKNOWN;
    if (status == LK_UNKNOWN)
        lease->is_doubtful = true;
    if (status == LK_BUSY) {
        lease->is_in_line = command->is_queued;
        queue_saw_kept(lease->queue);
    }
    if (command->status == LK_OK)
        queue_saw_change(lease->queue);
    if (lease->phase == LEASE_ORPHANED)
        orphan_answered(lease, status);
    else
        acquire_take_answer(lease, status);
}

static void acquire_attempt(void *data) {
    struct lk_lease *lease = data;
    struct lk_client *client = lease->client;
    uint32_t reply_ms = client->reply_ms;

    assert(!lease->is_outcome_due && lease->in_flight == 0);
    /* An answer after the TTL would be worth nothing. */
    if (lease->policy.has_ttl && lease->policy.asked_ms < reply_ms)
        reply_ms = lease->policy.asked_ms;
    lease_move(lease, LEASE_TRYING);
    lease->is_lost_early = false;
    lease->sent_ns = client_now_ns(client); /* before it is sent: from here the validity counts */
    lease_run(lease, &lease->command, LK_ACQUIRE, reply_ms, on_attempt_answered);
}

static void on_wait_over(uv_timer_t *timer) {
    struct lk_lease *lease = timer->data;

    lease_end_request(lease, lease->last);
}

static void acquire_start(struct lk_lease *lease, uint32_t wait_ms) {
    uv_loop_t *loop = lease->client->loop;

    lease->waiter = (struct queue_waiter){.is_try = wait_ms == LK_TRY,
                                          .is_shared = lease->policy.mode == LK_SHARED,
                                          .poll_ms = lease->policy.poll_ms,
                                          .attempt = acquire_attempt,
                                          .data = lease};
    if (lease->waiter.is_try && lease->queue->length > 0) {
        /* Others of us are waiting: it is held, or theirs first. */
        acquire_count(&lease->client->counters, LK_BUSY);
        acquire_set_outcome(lease, LK_BUSY);
        lease_end(lease);
        return;
    }
    if (wait_ms != LK_TRY && wait_ms != LK_FOREVER) {
        /* A loop that was busy has an old idea of now, and the wait would end early. */
        uv_update_time(loop);
        lease->until_ns = client_moment_ns(lease->client, wait_ms);
        (void)uv_timer_start(&lease->timer, on_wait_over, wait_ms, 0);
    }
    queue_join(lease->queue, &lease->waiter);
}

enum lk_status lk_acquire(lk_lock *lock, uint32_t wait_ms, lk_acquire_cb cb, void *data,
                          lk_request **request) {
    struct lk_lease *lease;
    enum lk_status status = lease_new(&lease, lock);

    if (status != LK_OK)
        return status;
    lease->on_acquired = cb;
    lease->acquire_data = data;
    if (request != NULL)
        *request = &lease->request;
    acquire_start(lease, wait_ms);
    return LK_OK;
}

int64_t lk_request_kept_ns(const lk_request *request) {
    return request->lease->kept_ns;
}

unsigned lk_request_round_trips(const lk_request *request) {
    return request->lease->round_trips;
}

void lk_cancel(lk_request *request) {
    struct lk_lease *lease = request->lease;

    if (!lease->is_outcome_due)
        lease_end_request(lease, LK_CANCELED);
}
