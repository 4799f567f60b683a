/* A lease: how it is made, moves from phase to phase, is held, renewed, given back, and freed. */
#include "lease.h"
#include "number.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define OWNER_BYTES (OWNER_SIZE / 2)
/* an unconfirmed renewal is repeated after this part of the TTL */
#define RETRY_PART    10
#define RENEW_PART    3
#define EXTEND_MS     50   /* at most, between two attempts to extend an abandoned lease */
#define FORGET_PART   16   /* a slow answer of 100 ms is forgotten after 1.6 s */
#define PAUSE_MOST_MS 2000 /* between two releases; jitter and doubling reach at most twice this */

/* ---- From phase to phase */

static int make_owner(char owner[OWNER_SIZE]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[OWNER_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return -1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        owner[2 * i] = digits[bytes[i] >> 4];
        owner[2 * i + 1] = digits[bytes[i] & 15];
    }
    owner[OWNER_SIZE - 1] = '\0';
    return 0;
}

/* A waiter of a fair lock has a queue of its own. */
static struct lk_queue *queue_of(struct lk_lock *lock, const char *owner) {
    if (lock->policy.is_fair)
        return queue_ref(lock->queue->client, lock->queue->name, owner);
    lock->queue->refs++;
    return lock->queue;
}

enum lk_status lease_new(struct lk_lease **out, struct lk_lock *lock) {
    struct lk_client *client = lock->queue->client;
    size_t unit = sizeof(max_align_t);
    size_t units = (client->backend->ops->command_size + unit - 1) / unit;
    struct lk_lease *lease = calloc(1, sizeof *lease + 2 * units * unit);
    enum lk_status status = LK_UNSUPPORTED;

    assert(lock->policy.suspect_ms < lock->policy.ttl_ms && lock->policy.poll_ms > 0);
    if (lease == NULL)
        return LK_NOMEM;
    if (make_owner(lease->owner) == 0) {
        status = LK_NOMEM;
        lease->queue = queue_of(lock, lease->owner);
    }
    if (lease->queue == NULL) {
        free(lease);
        return status;
    }
    lease->client = client;
    lease->command.internal = lease->internal;
    lease->renewal.internal = lease->internal + units;
    lease->policy = lock->policy;
    lease->phase = LEASE_QUEUED;
    lease->request.lease = lease;
    lease->joined_ns = client_now_ns(client);
    lease->until_ns = VALIDITY_FOREVER;
    atomic_init(&lease->valid_until_ns, VALIDITY_NONE);
    atomic_init(&lease->is_suspended, false);
    (void)uv_timer_init(client->loop, &lease->timer);
    lease->timer.data = lease;
    TAILQ_INSERT_TAIL(&client->leases, lease, entry);
    LIST_INSERT_HEAD(&lease->queue->named->leases, lease, named_entry);
    *out = lease;
    return LK_OK;
}

void lease_move(struct lk_lease *lease, enum lease_phase phase) {
#define TO(phase) (1U << LEASE_##phase)
    static const unsigned arrows[] = {
        [LEASE_QUEUED] = TO(TRYING) | TO(HELD) | TO(RELEASING) | TO(ENDED),
        [LEASE_TRYING] = TO(QUEUED) | TO(ORPHANED) | TO(HELD) | TO(RELEASING) | TO(ENDED),
        [LEASE_ORPHANED] = TO(RELEASING) | TO(ENDED),
        [LEASE_HELD] = TO(ABANDONED) | TO(RELEASING) | TO(ENDED),
        [LEASE_ABANDONED] = TO(RELEASING) | TO(ENDED),
        [LEASE_RELEASING] = TO(ENDED),
        [LEASE_ENDED] = 0,
    };
#undef TO

    assert(arrows[lease->phase] & 1U << phase);
    assert(phase != LEASE_HELD || lease->in_flight == 0);
    lease->phase = phase;
}

/* How long an answer may take, judged by recent answers. */
static int64_t lease_answer_ns(const struct lk_client *client) {
    const int64_t age_ns = client_now_ns(client) - client->slow_at_ns;

    return number_max(client->slow_ns - age_ns / FORGET_PART, 0);
}

/* An attempt of `sent_ns` was answered, or will get no answer. */
static void lease_saw_answer(struct lk_client *client, int64_t sent_ns) {
    const int64_t now_ns = client_now_ns(client);
    const int64_t most_ns = (int64_t)client->reply_ms * NS_PER_MS; /* the machine may have slept */
    const int64_t took_ns = number_min(now_ns - sent_ns, most_ns);

    if (took_ns < lease_answer_ns(client))
        return;
    client->slow_ns = took_ns;
    client->slow_at_ns = now_ns;
}

/* How long the server may still grant the lock to this lease. A waiter in a queue of its own passes
 * its place on to nobody. So a grant that comes after its wait is lost, and so is the time until
 * that grant is given back. In a crowd the first in line always has the least time left: every
 * grant would be lost. So the place ends before the wait does, by the time that this request and
 * the grant may be under way. A slow server never costs more than half of the wait. */
static int64_t usable_ms(const struct lk_lease *lease) {
    const int64_t most_ns = (lease->until_ns - lease->joined_ns) / 2;
    const int64_t late_ns = 2 * lease_answer_ns(lease->client);

    return validity_left_ms(lease->until_ns - number_min(late_ns, most_ns),
                            client_now_ns(lease->client));
}

/* Two polls may be lost, and the answer to the second may take its time. */
static uint32_t patience_ms(const struct lk_lease *lease) {
    const uint32_t ms = 2 * lease->policy.poll_ms + lease->client->reply_ms;
    int64_t usable;

    if (lease->is_try)
        return 0;
    if (!lease->policy.is_fair || lease->until_ns == VALIDITY_FOREVER)
        return ms;
    usable = usable_ms(lease);
    return usable < 1 ? 1 : usable < ms ? (uint32_t)usable : ms;
}

void lease_run(struct lk_lease *lease, struct lk_command *command, enum lk_verb verb,
               uint32_t reply_ms, void (*on_answer)(struct lk_command *command)) {
    void *internal = command->internal;

    assert(command == &lease->command || command == &lease->renewal);
    assert(!command->on_answer); /* one command at a time */
    memset(internal, 0, lease->client->backend->ops->command_size);
    *command = (struct lk_command){.verb = verb,
                                   .name = lease->queue->name,
                                   .owner = lease->owner,
                                   .mode = lease->policy.mode,
                                   .permits = lease->policy.permits,
                                   .limit = lease->policy.limit,
                                   .ttl_ms = lease->policy.asked_ms,
                                   .reply_ms = reply_ms,
                                   .patience_ms = patience_ms(lease),
                                   .fence_above = lease->client->seen_fence,
                                   .handover = lease->policy.handover,
                                   .on_answer = on_answer,
                                   .data = lease,
                                   .internal = internal};
    lease->in_flight++;
    if (verb == LK_ACQUIRE)
        client_acquire_begun(lease->client);
    lease->client->backend->ops->run(lease->client->backend, command);
}

/* An answer without a round trip was a hand-over, or was never sent. If the answer took half of the
 * time that it may take, there is a queue before the server. */
static void lease_saw_acquired(struct lk_lease *lease, const struct lk_command *command) {
    struct lk_client *client = lease->client;
    const int64_t most_ns = (int64_t)command->reply_ms * NS_PER_MS / 2;
    const bool is_timely =
        command->status != LK_UNKNOWN && client_now_ns(client) - lease->sent_ns < most_ns;

    client_acquire_answered(client, lease->sent_ns, command->round_trips > 0 ? &is_timely : NULL);
    if (command->round_trips > 0)
        lease_saw_answer(client, lease->sent_ns);
}

void lease_answered(struct lk_lease *lease, struct lk_command *command) {
    assert(lease->in_flight > 0 && command->on_answer);
    command->on_answer = NULL;
    lease->in_flight--;
    if (command->verb == LK_ACQUIRE)
        lease_saw_acquired(lease, command);
}

static void lease_on_timer_closed(uv_handle_t *handle) {
    struct lk_lease *lease = handle->data;

    assert(lease->phase == LEASE_ENDED && lease->in_flight == 0 && !lease->is_outcome_due);
    TAILQ_REMOVE(&lease->client->leases, lease, entry);
    LIST_REMOVE(lease, named_entry);
    queue_unref(lease->queue);
    free(lease);
}

void lease_maybe_free(struct lk_lease *lease) {
    if (lease->phase != LEASE_ENDED || lease->in_flight > 0 || lease->is_outcome_due)
        return;
    if (!uv_is_closing((uv_handle_t *)&lease->timer))
        uv_close((uv_handle_t *)&lease->timer, lease_on_timer_closed);
}

void lease_end(struct lk_lease *lease) {
    lease_move(lease, LEASE_ENDED);
    lease_maybe_free(lease);
}

enum lk_state lk_lease_state(const lk_lease *lease) {
    enum lk_state state = validity_state(atomic_load(&lease->valid_until_ns),
                                         lease->policy.suspect_ms, client_now_ns(lease->client));

    if (client_is_inherited(lease->client))
        return LK_LOST_STATE;
    return state == LK_HELD && atomic_load(&lease->is_suspended) ? LK_SUSPECT : state;
}

int64_t lk_lease_remaining_ms(const lk_lease *lease) {
    return validity_left_ms(atomic_load(&lease->valid_until_ns), client_now_ns(lease->client));
}

enum lk_status lk_lease_check(const lk_lease *lease, uint32_t need_ms) {
    int64_t until_ns = atomic_load(&lease->valid_until_ns);
    int64_t then_ns = client_moment_ns(lease->client, need_ms);

    if (client_is_inherited(lease->client))
        return LK_INVALID;
    return validity_state(until_ns, 0, then_ns) == LK_LOST_STATE ? LK_LOST : LK_OK;
}

uint64_t lk_lease_fence(const lk_lease *lease) {
    return lease->fence;
}

static void client_saw_fence(struct lk_client *client, uint64_t fence) {
    if (fence > client->seen_fence)
        client->seen_fence = fence;
}

void lk_lease_saw_fence(const lk_lease *lease, uint64_t fence) {
    struct lk_queue *named = lease->queue->named;

    client_saw_fence(lease->client, fence);
    if (fence > named->seen_fence)
        named->seen_fence = fence;
}

const char *lk_lease_owner(const lk_lease *lease) {
    return lease->owner;
}

/* ---- Giving back: a lease that the caller releases, or a grant that may have come for nobody.
 *
 * Happy path: one release, confirmed. If no answer comes, the caller is told UNKNOWN, and the
 * release is repeated until the server confirms it, or until the clean-up time or the TTL has
 * passed. After the TTL the server has forgotten the lock by itself. Repeating is safe: a release
 * only deletes an entry with this lease's owner token. The release is also repeated after an
 * answer, while an attempt of this lease is unanswered: that attempt may reach the server after the
 * release. The pauses double, so that clean-up does not keep a slow server slow. */

/* Tell the caller, once. Make it the last line of the calling function. */
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

static bool lease_ends_by_itself(const struct lk_lease *lease) {
    return lease->policy.has_ttl && !lease->policy.is_session;
}

/* If no TTL of its own ends a lease, its release is repeated until the server confirms it or the
 * client is gone. */
static bool is_final(const struct lk_lease *lease, enum lk_status status) {
    if (client_now_ns(lease->client) >= lease->cleanup_until_ns &&
        (lease_ends_by_itself(lease) || lease->client->is_closing))
        return true;
    return status != LK_UNKNOWN && (!lease->is_doubtful || lease->client->is_closing);
}

static void release_give_back(uv_timer_t *timer);
static void stay_abandoned(uv_timer_t *timer);

/* Repeat the release when the clean-up time ends, if that comes before the pause is over. After the
 * clean-up time only the pause counts. */
static void retry_later(struct lk_lease *lease) {
    int64_t left_ms = validity_left_ms(lease->cleanup_until_ns, client_now_ns(lease->client));
    uint64_t pause_ms = client_jitter_ms(lease->client, lease->pause_ms);

    assert(pause_ms > 0 && !uv_is_active((const uv_handle_t *)&lease->timer));
    if (left_ms > 0 && (uint64_t)left_ms < pause_ms)
        pause_ms = (uint64_t)left_ms + 1;
    (void)uv_timer_start(&lease->timer, release_give_back, pause_ms, 0);
    if (lease->pause_ms < PAUSE_MOST_MS)
        lease->pause_ms *= 2;
}

static void on_release_answered(struct lk_command *command) {
    struct lk_lease *lease = command->data;
    enum lk_status status = command->status;

    assert(command == &lease->command);
    lease_answered(lease, command);
    if (lease->phase != LEASE_RELEASING) { /* it was withdrawn */
        if (lease->phase == LEASE_ABANDONED)
            stay_abandoned(&lease->timer);
        else
            lease_maybe_free(lease);
        return;
    }
    if (status != LK_OK && status != LK_LOST)
        status = LK_UNKNOWN;
    queue_given_back(lease->queue);
    if (is_final(lease, status))
        lease_end(lease);
    else
        retry_later(lease);
    release_report(lease, status);
}

static void release_give_back(uv_timer_t *timer) {
    struct lk_lease *lease = timer->data;

    assert(lease->phase == LEASE_RELEASING);
    if (lease->command.on_answer == NULL) /* else it is being withdrawn */
        lease_run(lease, &lease->command, LK_RELEASE, lease->client->reply_ms, on_release_answered);
}

/* The lease was lost by this client's clock. Where the session goes on at the server, so would the
 * lock, for as long as the caller does nothing. A session that others cannot reach now does it
 * later. */
static void withdraw_lost(struct lk_lease *lease) {
    if (lease->policy.is_session && lease->phase == LEASE_HELD && lease->command.on_answer == NULL)
        lease_run(lease, &lease->command, LK_RELEASE, lease->client->reply_ms, on_release_answered);
}

static void begin_release(struct lk_lease *lease) {
    uint32_t cleanup_ms = lease->client->cleanup_ms;

    if (lease->policy.has_ttl && lease->policy.asked_ms < cleanup_ms)
        cleanup_ms = lease->policy.asked_ms;
    lease->cleanup_until_ns = client_moment_ns(lease->client, cleanup_ms);
    lease->pause_ms = lease->policy.poll_ms < PAUSE_MOST_MS ? lease->policy.poll_ms : PAUSE_MOST_MS;
    (void)uv_timer_stop(&lease->timer); /* of an abandoned lease */
    lease_move(lease, LEASE_RELEASING);
    release_give_back(&lease->timer);
}

void lease_withdraw(struct lk_lease *lease) {
    lease->is_answered = true; /* no caller asked for this release */
    begin_release(lease);
}

void lease_release(struct lk_lease *lease) {
    lease_stop_holding(lease);
    begin_release(lease);
    queue_giving_back(lease->queue);
}

/* ---- Holding: renewal, and the local timer that says SUSPECT and LOST, whether the network works
 * or not */

static int64_t part_ns(const struct lk_lease *lease, uint32_t part) {
    return (int64_t)lease->policy.ttl_ms * NS_PER_MS / part;
}

/* The next moment at which the lease changes by itself. */
static int64_t next_moment_ns(const struct lk_lease *lease) {
    int64_t next_ns = atomic_load(&lease->valid_until_ns);
    int64_t suspect_ns = next_ns - (int64_t)lease->policy.suspect_ms * NS_PER_MS + 1;

    if (lease->told == LK_HELD)
        next_ns = number_min(next_ns, suspect_ns);
    /* A renewal under way has a deadline of its own, and its answer arms the timer again. */
    if (lease->policy.is_renewed && lease->in_flight == 0)
        next_ns = number_min(next_ns, lease->renew_at_ns);
    return next_ns;
}

static void hold_on_moment(uv_timer_t *timer);

static void hold_arm(struct lk_lease *lease) {
    int64_t left_ns = next_moment_ns(lease) - client_now_ns(lease->client);
    /* Rounded up, so that the timer never fires a fraction too early and must be armed again. */
    uint64_t left_ms = left_ns > 0 ? ((uint64_t)left_ns + NS_PER_MS - 1) / NS_PER_MS : 0;

    assert(lease->phase == LEASE_HELD);
    if (!lease->policy.has_ttl)
        return;
    uv_update_time(lease->client->loop);
    (void)uv_timer_start(&lease->timer, hold_on_moment, left_ms, 0);
}

/* It is given back, abandoned or LOST, whichever comes first. */
static void count_held(struct lk_lease *lease) {
    unsigned *held = &lease->queue->named->held[lease->policy.mode];

    assert(*held > 0);
    --*held;
    lease->client->counters.hold_ns += (uint64_t)(client_now_ns(lease->client) - lease->granted_ns);
}

static void hold_count(struct lk_lease *lease, enum lk_state state) {
    struct lk_counters *counters = &lease->client->counters;

    counters->suspected += state == LK_SUSPECT;
    if (state != LK_LOST_STATE)
        return;
    counters->lost++;
    count_held(lease);
}

/* Make it the last line of the calling function: the callback may release the lease, or abandon it,
 * which keeps the lock a little longer if it can still be kept. */
static void tell_state(struct lk_lease *lease, const char *why) {
    enum lk_state state = lk_lease_state(lease);

    if (state == lease->told && !lease->is_unheard)
        return;
    if (state != lease->told)
        hold_count(lease, state);
    lease->told = state;
    lease->is_unheard = lease->on_state == NULL && state != LK_HELD;
    if (state == LK_LOST_STATE) {
        (void)uv_timer_stop(&lease->timer);
        queue_not_ours(lease->queue);
    } else {
        hold_arm(lease);
    }
    if (lease->on_state != NULL)
        lease->on_state(lease, state, why, lease->state_data);
    if (state == LK_LOST_STATE && lease->phase == LEASE_HELD)
        withdraw_lost(lease);
}

void lease_set_validity(struct lk_lease *lease, const struct lk_command *command, int64_t sent_ns) {
    struct lk_policy *policy = &lease->policy;

    if (!policy->has_ttl) {
        atomic_store(&lease->valid_until_ns, VALIDITY_FOREVER);
        return;
    }
    policy->ttl_ms = command->granted_ms > 0 ? command->granted_ms : policy->asked_ms;
    policy->suspect_ms =
        policy->asked_suspect_ms < policy->ttl_ms ? policy->asked_suspect_ms : policy->ttl_ms / 4;
    atomic_store(&lease->valid_until_ns, validity_until(sent_ns, policy->ttl_ms));
}

/* LOST is final: a late extension does not bring the lease back. */
static void extend(struct lk_lease *lease) {
    lease->client->counters.renewed++;
    if (lk_lease_state(lease) == LK_LOST_STATE)
        return;
    lease->sent_ns = lease->renewal_sent_ns;
    lease_set_validity(lease, &lease->renewal, lease->sent_ns);
    atomic_store(&lease->is_suspended, false);
    lease->renew_at_ns = lease->sent_ns + part_ns(lease, RENEW_PART);
}

static const char *hold_take_answer(struct lk_lease *lease, enum lk_status status) {
    if (status == LK_OK) {
        extend(lease);
        return lk_lease_state(lease) == LK_LOST_STATE ? "it was renewed too late" : "renewed";
    }
    if (status == LK_LOST) {
        atomic_store(&lease->valid_until_ns, VALIDITY_NONE);
        return "the server says that this client does not hold it";
    }
    lease->client->counters.renew_failed++;
    lease->renew_at_ns = client_now_ns(lease->client) + part_ns(lease, RETRY_PART);
    return "the renewal was not confirmed";
}

static void on_renewal_answered(struct lk_command *command) {
    struct lk_lease *lease = command->data;
    const char *why;

    assert(command == &lease->renewal);
    lease_answered(lease, command);
    if (lease->phase == LEASE_ABANDONED) {
        stay_abandoned(&lease->timer);
        return;
    }
    if (lease->phase != LEASE_HELD) {
        lease_maybe_free(lease);
        return;
    }
    if (lease->told == LK_LOST_STATE)
        return;
    why = hold_take_answer(lease, command->status);
    hold_arm(lease);
    tell_state(lease, why);
}

static void renew(struct lk_lease *lease) {
    uint32_t reply_ms = lease->client->reply_ms;
    uint32_t limit_ms = lease->policy.ttl_ms / RENEW_PART;

    assert(lease->policy.is_renewed && lease->in_flight == 0);
    lease->renewal_sent_ns = client_now_ns(lease->client);
    lease_run(lease, &lease->renewal, LK_RENEW, reply_ms < limit_ms ? reply_ms : limit_ms,
              on_renewal_answered);
}

static void hold_on_moment(uv_timer_t *timer) {
    struct lk_lease *lease = timer->data;
    int64_t now_ns = client_now_ns(lease->client);

    assert(lease->phase == LEASE_HELD);
    if (lk_lease_state(lease) != LK_LOST_STATE && lease->policy.is_renewed &&
        lease->in_flight == 0 && lease->renew_at_ns <= now_ns)
        renew(lease);
    hold_arm(lease);
    tell_state(lease, "no renewal was confirmed in time");
}

void lease_hold(struct lk_lease *lease) {
    struct lk_counters *counters = &lease->client->counters;

    assert(!lease->on_state);
    (void)uv_timer_stop(&lease->timer);
    lease_move(lease, LEASE_HELD);
    client_saw_fence(lease->client, lease->fence);
    lease->granted_ns = client_now_ns(lease->client);
    counters->acquired++;
    counters->wait_ns += (uint64_t)(lease->granted_ns - lease->joined_ns);
    lease->told = LK_HELD;
    lease->queue->named->held[lease->policy.mode]++;
    lease->queue->is_ours = lease->handovers_left > 0;
    lease->renew_at_ns = lease->sent_ns + part_ns(lease, RENEW_PART);
    hold_arm(lease);
}

void lease_doubt(struct lk_lease *lease, enum lk_state state, const char *why) {
    assert(lease->phase == LEASE_HELD && state != LK_HELD);
    if (lease->told == LK_LOST_STATE)
        return;
    if (state == LK_LOST_STATE)
        atomic_store(&lease->valid_until_ns, VALIDITY_NONE);
    else
        atomic_store(&lease->is_suspended, true);
    tell_state(lease, why);
}

void lease_stop_holding(struct lk_lease *lease) {
    assert(lease->phase == LEASE_HELD);
    (void)uv_timer_stop(&lease->timer);
    if (lease->told != LK_LOST_STATE)
        count_held(lease);
}

void lk_lease_on_state(lk_lease *lease, lk_state_cb cb, void *data) {
    lease->on_state = cb;
    lease->state_data = data;
    if (lease->is_unheard)
        (void)uv_timer_start(&lease->timer, hold_on_moment, 0, 0);
}

/* ---- Abandoning: the holder has gone without giving the lock back. Its last write may still take
 * effect, and the lock stays taken until that can no longer happen.
 *
 * Where a TTL frees the lock, nothing is to be done if the TTL ends late enough. Else the client
 * sends one renewal with the missing time, and repeats it until the server answers. Without a TTL,
 * or in a session that outlives the lease, the lease waits until the time has passed, is renewed
 * where necessary, and is then released. Such a session is asked to last a TTL longer than the hold
 * time: it keeps the lock if this process stands still, and else the client gives the lock back. */

static void wait_abandoned_ms(struct lk_lease *lease, uint64_t ms) {
    uv_update_time(lease->client->loop);
    (void)uv_timer_start(&lease->timer, stay_abandoned, ms, 0);
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
        wait_abandoned_ms(lease,
                          client_jitter_ms(lease->client, lease->policy.ttl_ms / RENEW_PART));
        return;
    }
    lease->client->counters.renew_failed++;
    if (lease->client->is_closing && client_now_ns(lease->client) >= lease->cleanup_until_ns)
        lease_end(lease);
    else
        wait_abandoned_ms(lease, client_jitter_ms(lease->client, EXTEND_MS));
}

/* While ABANDONED: whether the TTL that the server knows is long enough. */
static bool lease_outlives_hold(const struct lk_lease *lease) {
    return lease_ends_by_itself(lease) &&
           atomic_load(&lease->valid_until_ns) >= lease->hold_until_ns;
}

static uint32_t missing_ms(const struct lk_lease *lease, int64_t left_ms) {
    if (!lease->policy.is_session)
        return (uint32_t)left_ms + 1;
    left_ms += lease->policy.ttl_ms;
    return left_ms < INT32_MAX ? (uint32_t)left_ms : INT32_MAX; /* the most that Postgres accepts */
}

static void stay_abandoned(uv_timer_t *timer) {
    struct lk_lease *lease = timer->data;
    int64_t left_ms = validity_left_ms(lease->hold_until_ns, client_now_ns(lease->client));

    assert(lease->phase == LEASE_ABANDONED);
    if (lease_outlives_hold(lease) || (left_ms == 0 && lease_ends_by_itself(lease))) {
        lease_end(lease);
    } else if (left_ms == 0) {
        lease_withdraw(lease);
    } else if (!lease->policy.has_ttl) {
        wait_abandoned_ms(lease, (uint64_t)left_ms + 1);
    } else if (lease->in_flight == 0) {
        lease->policy.asked_ms = missing_ms(lease, left_ms);
        lease_run(lease, &lease->renewal, LK_RENEW, lease->client->reply_ms, on_extended);
    }
}

void lk_abandon(lk_lease *lease, uint32_t hold_ms) {
    if (client_is_inherited(lease->client))
        return;
    lease_stop_holding(lease);
    lease->hold_until_ns = client_moment_ns(lease->client, hold_ms);
    lease_move(lease, LEASE_ABANDONED);
    queue_not_ours(lease->queue);
    stay_abandoned(&lease->timer);
}

void lease_close(struct lk_lease *lease) {
    switch (lease->phase) {
    case LEASE_QUEUED:
    case LEASE_TRYING:
        if (!lease->is_outcome_due) /* else it ends after its outcome was told */
            queue_end_wait(lease, LK_CANCELED);
        break;
    case LEASE_HELD:
        if (lease->is_outcome_due) {
            lease->outcome = LK_CANCELED;
            lease->client->counters.late_grants++;
        }
        lease->on_state = NULL;
        lease_release(lease);
        break;
    case LEASE_ABANDONED: /* it stays taken for its time, by its TTL or because the client waits */
        lease->cleanup_until_ns = client_moment_ns(lease->client, lease->client->cleanup_ms);
        if (lease_outlives_hold(lease))
            lease_end(lease);
        else if (!(lease->client->caps & LK_CAP_CROSS_PROCESS))
            lease_withdraw(lease); /* no other process could take it */
        break;
    case LEASE_RELEASING:
        if (uv_is_active((uv_handle_t *)&lease->timer)) /* the release is due again later */
            (void)uv_timer_start(&lease->timer, release_give_back, 0, 0);
        break;
    case LEASE_ORPHANED:
    case LEASE_ENDED:
        break;
    }
}
