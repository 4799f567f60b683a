/* The waiters of a name, and the way of a lock to them: attempts at the server.
 *
 * Happy path: the lease joins the queue, becomes its head, attempts and is granted; its callback
 * runs in the next turn of the loop. A refused lease stays the head and attempts again. So does an
 * unanswered lease, but it is doubtful from then on: it may own the lock.
 *
 * A lease that ends leaves its place in the server's line, or its doubt, to the next waiter, if
 * that waiter asks for the same. The waiter goes on under the same owner token. Without such a
 * waiter the lease is released. If the wait ends during an attempt, the lease is an orphan: the
 * answer goes to the head of that moment. So a server that answers after the wait is over still
 * serves somebody. */
#include "lease.h"
#include "number.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* ---- The queue of a name */

static int queue_compare(const void *a, const void *b) {
    const struct queue_key *one = a, *other = b;

    if (one->is_own != other->is_own)
        return one->is_own ? 1 : -1;
    return strcmp(one->text, other->text);
}

static struct lk_queue *queue_new(struct lk_client *client, const char *name, const char *owner) {
    size_t name_size = strlen(name) + 1, owner_size = owner != NULL ? strlen(owner) + 1 : 0;
    struct lk_queue *queue = calloc(1, sizeof *queue + name_size + owner_size);

    assert(name_size > 1 && name_size <= NAME_MAX_BYTES + 1);
    if (queue == NULL)
        return NULL;
    memcpy(queue->text, name, name_size);
    if (owner != NULL)
        memcpy(queue->text + name_size, owner, owner_size);
    queue->name = queue->text;
    queue->key =
        (struct queue_key){owner != NULL ? queue->text + name_size : queue->name, owner != NULL};
    queue->client = client;
    TAILQ_INIT(&queue->waiters);
    queue->named = owner != NULL ? queue_ref(client, name, NULL) : queue;
    if (queue->named == NULL || tsearch(queue, &client->queues, queue_compare) == NULL) {
        if (owner != NULL && queue->named != NULL)
            queue_unref(queue->named);
        free(queue);
        return NULL;
    }
    if (owner != NULL)
        LIST_INSERT_HEAD(&queue->named->own, queue, own_entry);
    (void)uv_timer_init(client->loop, &queue->poll);
    queue->poll.data = queue;
    client->parts++;
    return queue;
}

static struct lk_queue *queue_find(struct lk_client *client, const char *text, bool is_own) {
    struct lk_queue **found =
        tfind(&(struct queue_key){text, is_own}, &client->queues, queue_compare);

    return found != NULL ? *found : NULL;
}

struct lk_queue *queue_named(struct lk_client *client, const char *name) {
    return queue_find(client, name, false);
}

struct lk_queue *queue_ref(struct lk_client *client, const char *name, const char *owner) {
    struct lk_queue *queue = queue_find(client, owner != NULL ? owner : name, owner != NULL);

    if (queue == NULL)
        queue = queue_new(client, name, owner);
    if (queue != NULL)
        queue->refs++;
    return queue;
}

static void on_queue_closed(uv_handle_t *handle) {
    struct lk_queue *queue = handle->data;
    struct lk_client *client = queue->client;

    free(queue);
    client_part_gone(client);
}

void queue_unref(struct lk_queue *queue) {
    assert(queue->refs > 0);
    if (--queue->refs > 0)
        return;
    assert(TAILQ_EMPTY(&queue->waiters) && !queue->is_due && !queue->is_trying);
    tdelete(queue, &queue->client->queues, queue_compare);
    if (queue->key.is_own) {
        LIST_REMOVE(queue, own_entry);
        queue_unref(queue->named);
    }
    uv_close((uv_handle_t *)&queue->poll, on_queue_closed);
}

static void on_attempt_answered(struct lk_command *command);

static void acquire_attempt(struct lk_lease *lease) {
    struct lk_client *client = lease->client;
    uint32_t reply_ms = client->reply_ms;

    assert(!lease->is_outcome_due && lease->in_flight == 0);
    /* An answer after the TTL is worth nothing. */
    if (lease->policy.has_ttl && lease->policy.asked_ms < reply_ms)
        reply_ms = lease->policy.asked_ms;
    lease_move(lease, LEASE_TRYING);
    lease->is_lost_early = false;
    if (lease->is_try)
        (void)uv_timer_stop(&lease->timer); /* from now on the backend has a deadline */
    lease->sent_ns = client_now_ns(client); /* before it is sent: the validity counts from here */
    lease_run(lease, &lease->command, LK_ACQUIRE, reply_ms, on_attempt_answered);
}

static void queue_attempt(struct lk_queue *queue) {
    queue->is_trying = true;
    (void)uv_timer_stop(&queue->poll);
    acquire_attempt(TAILQ_FIRST(&queue->waiters));
}

static void queue_on_due(void *data) {
    struct lk_queue *queue = data;
    struct lk_counters *counters = &queue->client->counters;

    assert(queue->is_due);
    queue->is_due = false;
    if (!TAILQ_EMPTY(&queue->waiters) && !queue->is_trying) {
        counters->polls += queue->reason == QUEUE_POLL;
        counters->wakeups += queue->reason == QUEUE_EVENT;
        queue_attempt(queue);
    }
    queue_unref(queue);
}

/* Attempt in the next turn of the loop. Events until then need no attempt of their own. */
static void set_due(struct lk_queue *queue, enum queue_reason reason) {
    struct lk_client *client = queue->client;

    if (queue->is_due)
        return;
    queue->is_due = true;
    queue->reason = reason;
    queue->refs++;
    client_run_soon(client,
                    reason == QUEUE_EVENT || queue->is_in_line ? &client->urgent_attempts
                                                               : &client->attempts,
                    &queue->task, queue_on_due, queue);
}

static void on_poll(uv_timer_t *timer) {
    set_due(timer->data, QUEUE_POLL);
}

/* The lock may have become free. */
static void queue_wake_waiters(struct lk_queue *queue) {
    if (queue->is_trying)
        /* the answer may be older than this event: ask again after a refusal */
        queue->is_woken = true;
    else if (!TAILQ_EMPTY(&queue->waiters))
        set_due(queue, QUEUE_EVENT);
}

void queue_saw_change(struct lk_queue *queue) {
    queue->named->kept_since_ns = 0;
    queue->named->known_ns = client_now_ns(queue->client);
}

/* The server says that another owner holds it. */
static void queue_saw_kept(struct lk_queue *queue) {
    queue->named->known_ns = client_now_ns(queue->client);
    if (queue->named->kept_since_ns == 0)
        queue->named->kept_since_ns = queue->named->known_ns;
}

/* For how long others have kept it, counted from `from_ns` at the earliest. 0: it has changed since
 * then, and was not seen kept after that. -1: not known. */
static int64_t queue_kept_ns(struct lk_queue *queue, int64_t from_ns) {
    const struct lk_queue *named = queue->named;
    const int64_t now_ns = client_now_ns(queue->client);

    if (named->kept_since_ns == 0 && named->known_ns < from_ns)
        return -1;
    if (named->kept_since_ns == 0)
        return 0;
    return now_ns - number_max(named->kept_since_ns, from_ns);
}

void queue_giving_back(struct lk_queue *queue) {
    const unsigned caps = LK_CAP_FAIR | LK_CAP_CROSS_PROCESS;

    queue->is_ours = false;
    queue_saw_change(queue);
    if (!TAILQ_EMPTY(&queue->waiters) && !queue->is_trying && !queue->is_in_line &&
        (queue->client->caps & caps) == caps && !queue->client->is_closing)
        queue_attempt(queue);
}

void queue_given_back(struct lk_queue *queue) {
    assert(queue->refs > 0);
    if (queue->is_trying)
        queue->is_given_back = true;
    else if (!queue->is_in_line)
        queue_wake_waiters(queue);
}

void queue_not_ours(struct lk_queue *queue) {
    const bool was_ours = queue->is_ours;

    queue->is_ours = false;
    if (was_ours)
        queue_given_back(queue);
}

static void wake_each(const void *node, VISIT visit, void *data) {
    (void)data;
    if (visit == postorder || visit == leaf)
        queue_wake_waiters(*(struct lk_queue *const *)node);
}

/* A client may have queues of many names: do not look at all of them for each event. */
static void wake_named(struct lk_queue *named) {
    struct lk_queue *queue;

    queue_wake_waiters(named);
    LIST_FOREACH (queue, &named->own, own_entry)
        queue_wake_waiters(queue);
}

void queue_wake(struct lk_client *client, const char *name, const char *owner) {
    struct lk_queue *queue = owner != NULL ? queue_find(client, owner, true) : NULL;

    if (queue == NULL && name != NULL)
        queue = queue_find(client, name, false);
    if (name == NULL)
        twalk_r(client->queues, wake_each, NULL);
    else if (queue != NULL && owner != NULL)
        queue_wake_waiters(queue);
    else if (queue != NULL)
        wake_named(queue);
}

void queue_wait_for_event(struct lk_queue *queue, int64_t remaining_ms) {
    const struct lk_lease *head = TAILQ_FIRST(&queue->waiters);
    uint64_t wait_ms = client_jitter_ms(queue->client, head->policy.poll_ms);

    assert(!queue->is_trying);
    if (remaining_ms >= 0 && (uint64_t)remaining_ms + 1 < wait_ms)
        wait_ms = (uint64_t)remaining_ms + 1;
    if (queue->is_woken)
        set_due(queue, QUEUE_EVENT);
    queue->is_woken = queue->is_given_back = false;
    (void)uv_timer_start(&queue->poll, on_poll, wait_ms, 0);
}

/* The head was refused. It waits for an event, for at most its `poll_ms`, and no longer than
 * `remaining_ms` (negative: unknown). `is_in_line`: the head stands in line at the server. */
static void queue_refused(struct lk_queue *queue, int64_t remaining_ms, bool is_in_line) {
    assert(queue->is_trying && !TAILQ_EMPTY(&queue->waiters));
    queue->is_trying = false;
    queue->is_in_line = is_in_line;
    queue->is_woken |= queue->is_given_back && !is_in_line;
    queue_wait_for_event(queue, remaining_ms);
}

static void queue_join(struct lk_queue *queue, struct lk_lease *lease) {
    assert(queue->refs > 0); /* at least that of the lease */
    TAILQ_INSERT_TAIL(&queue->waiters, lease, place);
    if (TAILQ_FIRST(&queue->waiters) != lease || queue->is_trying)
        return;
    if (queue->is_ours && !lease->is_try)
        queue_wait_for_event(queue, -1);
    else
        set_due(queue, QUEUE_FRESH);
}

struct lk_lease *queue_take_out(struct lk_queue *queue, struct lk_lease *lease) {
    if (lease == TAILQ_FIRST(&queue->waiters))
        queue->is_in_line = false;
    TAILQ_REMOVE(&queue->waiters, lease, place);
    if (TAILQ_EMPTY(&queue->waiters)) {
        (void)uv_timer_stop(&queue->poll);
        if (!queue->is_trying)
            queue->is_woken = queue->is_given_back = false;
    }
    return TAILQ_FIRST(&queue->waiters);
}

/* A lease gives up, at any place, with no attempt of its own under way. `is_in_line`: the next
 * lease takes over its place at the server, which tells the next lease when it is its turn. Then
 * nothing is asked, and the poll goes on. */
static void queue_leave(struct lk_queue *queue, struct lk_lease *lease, bool is_in_line) {
    const bool was_head = TAILQ_FIRST(&queue->waiters) == lease;

    if (queue_take_out(queue, lease) == NULL || !was_head)
        return;
    queue->is_in_line = is_in_line;
    if (!is_in_line && !queue->is_trying)
        set_due(queue, QUEUE_FRESH);
}

/* The attempt got nothing for the head. The head, if there is one, asks again. */
static void queue_attempt_ended(struct lk_queue *queue) {
    assert(queue->is_trying);
    queue->is_trying = queue->is_woken = queue->is_given_back = false;
    if (!TAILQ_EMPTY(&queue->waiters))
        set_due(queue, QUEUE_FRESH);
}

/* The head has the lock, and leaves. */
static void queue_granted(struct lk_queue *queue, struct lk_lease *lease) {
    const struct lk_lease *next;

    assert(TAILQ_FIRST(&queue->waiters) == lease && queue->is_trying);
    queue->is_trying = queue->is_woken = queue->is_given_back = false;
    next = queue_take_out(queue, lease);
    if (next != NULL && lease->policy.mode == LK_SHARED && next->policy.mode == LK_SHARED)
        set_due(queue, QUEUE_FRESH);
    else if (next != NULL)
        queue_wait_for_event(queue, -1);
}

/* ---- Acquiring */

static bool is_anything_begun(const struct lk_lease *lease) {
    return lease->is_in_line || lease->is_doubtful;
}

/* `next` has begun nothing at the server, and asks for the same as `lease`. */
static bool may_go_on(const struct lk_lease *next, const struct lk_lease *lease) {
    const struct lk_policy *one = &next->policy, *other = &lease->policy;

    return next->phase == LEASE_QUEUED && !is_anything_begun(next) && one->mode == other->mode &&
           one->limit == other->limit && one->permits == other->permits &&
           one->handover == other->handover && one->asked_ms == other->asked_ms;
}

void lease_swap_owners(struct lk_lease *lease, struct lk_lease *other) {
    char owner[OWNER_SIZE];

    assert(lease->in_flight == 0 && other->in_flight == 0);
    memcpy(owner, other->owner, sizeof owner);
    memcpy(other->owner, lease->owner, sizeof owner);
    memcpy(lease->owner, owner, sizeof owner);
}

/* `next` takes over the owner token that the server knows, and the server's last answer to it. */
static void acquire_go_on(struct lk_lease *next, struct lk_lease *lease) {
    lease_swap_owners(next, lease);
    next->last = lease->last;
    next->is_in_line = lease->is_in_line;
    next->is_doubtful = lease->is_doubtful;
    lease->is_in_line = lease->is_doubtful = false;
}

bool lease_pass_on(struct lk_lease *lease, struct lk_lease *next) {
    if (next == NULL || lease->in_flight > 0 || !is_anything_begun(lease) || next->is_try ||
        !may_go_on(next, lease))
        return false;
    acquire_go_on(next, lease);
    return next->is_in_line;
}

void acquire_let_go(struct lk_lease *lease) {
    if (is_anything_begun(lease))
        lease_withdraw(lease);
    else
        lease_end(lease);
}

/* On LK_OK the callback owns the lease and may end it at once: do not touch the lease afterwards.
 */
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
    if (lease->phase == LEASE_QUEUED) { /* the callback may have started a waiter */
        (void)lease_pass_on(lease, TAILQ_FIRST(&lease->queue->waiters));
        acquire_let_go(lease);
    } else {
        lease_maybe_free(lease);
    }
}

void acquire_tell_soon(struct lk_lease *lease, void (*tell)(void *data)) {
    assert(!lease->is_outcome_due);
    lease->is_outcome_due = true;
    client_run_soon(lease->client, &lease->client->outcomes, &lease->tell_outcome, tell, lease);
}

void acquire_set_outcome(struct lk_lease *lease, enum lk_status status) {
    lease->outcome = status;
    lease->kept_ns = status == LK_UNKNOWN || status == LK_UNAVAILABLE
                         ? -1
                         : queue_kept_ns(lease->queue, lease->joined_ns);
    acquire_tell_soon(lease, tell_outcome);
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

void queue_end_wait(struct lk_lease *lease, enum lk_status status) {
    assert(lease->phase == LEASE_QUEUED || lease->phase == LEASE_TRYING);
    assert(status != LK_OK);
    (void)uv_timer_stop(&lease->timer);
    acquire_count(&lease->client->counters, status);
    acquire_set_outcome(lease, status);
    if (lease->in_flight > 0) {
        assert(TAILQ_FIRST(&lease->queue->waiters) == lease && lease->queue->is_trying);
        lease->round_trips += lease->command.round_trips;
        (void)queue_take_out(lease->queue, lease); /* no other waiter asks before the answer */
        lease_move(lease, LEASE_ORPHANED);
        return;
    }
    queue_leave(lease->queue, lease, lease_pass_on(lease, TAILQ_NEXT(lease, place)));
    if (lease->phase == LEASE_TRYING || !lease->is_in_line || lease->is_doubtful ||
        lease->client->is_closing)
        acquire_let_go(lease);
}

static bool is_still_valid(struct lk_lease *lease) {
    lease_set_validity(lease, &lease->command, lease->sent_ns);
    return lk_lease_state(lease) != LK_LOST_STATE;
}

/* A lease of this client keeps `lease` from the lock. */
static bool is_kept_here(const struct lk_lease *lease) {
    const unsigned *held = lease->queue->named->held;

    return held[LK_EXCLUSIVE] > 0 || (lease->policy.mode == LK_EXCLUSIVE && held[LK_SHARED] > 0);
}

/* TIMEOUT says that another owner holds the lock, so it needs the word of the server, or of this
 * client. A waiter without an answer of its own knows as much as the head of its queue. */
static enum lk_status status_of_wait(const struct lk_lease *lease) {
    const struct lk_queue *queue = lease->queue;
    const struct lk_lease *head = TAILQ_FIRST(&queue->waiters);

    if (lease->last != LK_OK)
        return lease->last;
    if (queue->named->known_ns >= lease->joined_ns || is_kept_here(lease))
        return LK_TIMEOUT;
    if (head->last != LK_OK)
        return head->last;
    return queue->is_trying ? LK_UNKNOWN : LK_UNAVAILABLE;
}

static void on_wait_over(uv_timer_t *timer) {
    struct lk_lease *lease = timer->data;

    queue_end_wait(lease, status_of_wait(lease));
}

static void acquire_end_after(struct lk_lease *lease, uint64_t wait_ms) {
    /* The time of a busy loop is old, and the wait would end early. */
    uv_update_time(lease->client->loop);
    (void)uv_timer_start(&lease->timer, on_wait_over, wait_ms, 0);
}

/* It attempts in the next turn of the loop, and has the answer in the turn after that. Until then
 * its wait needs no timer. In a crowd of 2,000 the timer would be an eighth of a lock's cost. */
static bool is_answered_at_once(const struct lk_lease *lease) {
    const struct lk_queue *queue = lease->queue;

    return lease->client->backend->is_instant && TAILQ_EMPTY(&queue->waiters) &&
           !queue->is_trying && !queue->is_ours;
}

static void acquire_told_no(struct lk_lease *lease, enum lk_status status, int64_t remaining_ms) {
    if (lease->is_try || status == LK_NOMEM) {
        queue_attempt_ended(lease->queue);
        queue_end_wait(lease, status);
        return;
    }
    if (lease->until_ns != VALIDITY_FOREVER && !uv_is_active((uv_handle_t *)&lease->timer))
        acquire_end_after(
            lease, (uint64_t)validity_left_ms(lease->until_ns, client_now_ns(lease->client)) + 1);
    lease->last = status == LK_BUSY ? LK_TIMEOUT : status;
    lease_move(lease, LEASE_QUEUED);
    queue_refused(lease->queue, remaining_ms, lease->is_in_line);
}

/* The resource has seen this token, or a greater one, while the attempt was under way or in line at
 * the server: it may refuse the token. */
static bool has_seen_token(const struct lk_lease *lease) {
    return lease->fence > 0 && lease->fence <= lease->queue->named->seen_fence &&
           !lease->client->backend->has_own_count;
}

/* Give the grant back in the name of `rest`, and go on as the head, under its owner token. */
static void acquire_anew(struct lk_lease *lease, struct lk_lease *rest) {
    struct lk_queue *queue = lease->queue;

    queue->is_trying = queue->is_woken = queue->is_given_back = false;
    (void)queue_take_out(queue, lease);
    lease_swap_owners(lease, rest);
    lease->queue = rest->queue; /* the queue of one waiter has its owner token */
    rest->queue = queue;
    rest->is_doubtful = lease->is_doubtful;
    lease->is_doubtful = lease->is_in_line = false;
    lease_move(lease, LEASE_QUEUED);
    lease_withdraw(rest);
    TAILQ_INSERT_HEAD(&lease->queue->waiters, lease, place);
    set_due(lease->queue, QUEUE_FRESH);
}

/* False: out of memory. */
static bool acquire_again(struct lk_lease *lease) {
    struct lk_lock lock = {.queue = lease->queue, .policy = lease->policy};
    struct lk_lease *rest;

    lock.policy.ttl_ms = lock.policy.asked_ms;
    lock.policy.suspect_ms = lock.policy.asked_suspect_ms;
    if (lease_new(&rest, &lock) != LK_OK)
        return false;
    lease->client->counters.late_grants++;
    acquire_anew(lease, rest);
    return true;
}

static void acquire_take_answer(struct lk_lease *lease, enum lk_status status) {
    if (status == LK_OK && has_seen_token(lease)) {
        if (acquire_again(lease))
            return;
        lease->is_doubtful = true;
        status = LK_UNKNOWN;
    }
    if (status != LK_OK) {
        acquire_told_no(lease, status, status == LK_BUSY ? lease->command.remaining_ms : -1);
        return;
    }
    lease->handovers_left = lease->policy.handover;
    queue_granted(lease->queue, lease);
    lease_hold(lease);
    acquire_set_outcome(lease, LK_OK);
}

/* Find the waiter that takes the answer to the attempt of `orphan`. An LK_TRY waiter makes an
 * attempt of its own, unless the lock is already there. */
static struct lk_lease *find_heir(const struct lk_lease *orphan, enum lk_status status) {
    struct lk_lease *head = TAILQ_FIRST(&orphan->queue->waiters);

    if (head == NULL || status == LK_NOMEM || (head->is_try && status != LK_OK) ||
        !may_go_on(head, orphan))
        return NULL;
    return head;
}

static void orphan_answered(struct lk_lease *orphan, enum lk_status status) {
    struct lk_lease *heir = find_heir(orphan, status);

    if (heir == NULL) {
        orphan->client->counters.late_grants += status == LK_OK;
        queue_attempt_ended(orphan->queue);
        if (status == LK_OK || is_anything_begun(orphan))
            lease_withdraw(orphan);
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
    lease->fence = command->fence;
    if (lease->phase == LEASE_TRYING)
        lease->round_trips += command->round_trips;
    /* A grant counts as no answer if its validity ended before the answer came, or if the backend
     * has said that it was lost. The next attempt, with the same owner token, renews it, or it is
     * given back. */
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

static void acquire_start(struct lk_lease *lease, uint32_t wait_ms) {
    lease->is_try = wait_ms == LK_TRY;
    if (lease->is_try && !TAILQ_EMPTY(&lease->queue->waiters)) {
        /* Other waiters of this client come first, whether it is held or free. */
        acquire_count(&lease->client->counters, LK_BUSY);
        acquire_set_outcome(lease, LK_BUSY);
        lease_end(lease);
        return;
    }
    if (lease->is_try) {
        /* For as long it waits for its turn to be sent. */
        wait_ms = lease->client->reply_ms;
        lease->last = LK_UNAVAILABLE;
    }
    if (wait_ms != LK_FOREVER) {
        if (!lease->is_try)
            lease->until_ns = client_moment_ns(lease->client, wait_ms);
        if (!is_answered_at_once(lease))
            acquire_end_after(lease, wait_ms);
    }
    queue_join(lease->queue, lease);
}

enum lk_status lk_acquire(lk_lock *lock, uint32_t wait_ms, lk_acquire_cb cb, void *data,
                          lk_request **request) {
    struct lk_lease *lease;
    enum lk_status status =
        client_is_inherited(lock->queue->client) ? LK_INVALID : lease_new(&lease, lock);

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

    if (!lease->is_outcome_due && !client_is_inherited(lease->client))
        queue_end_wait(lease, LK_CANCELED);
}
