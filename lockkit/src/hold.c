/* Holding: renewal, and the local timer that says SUSPECT and LOST whatever the network does. */
#include "lease.h"

#include <assert.h>

/* A renewal that was not confirmed is repeated after this part of the TTL. */
#define RETRY_PART 10
#define RENEW_PART 3
#define EXTEND_MS  50 /* at most between two attempts to extend one that is abandoned */

static void stay_abandoned(struct lk_lease *lease);

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t part_ns(const struct lk_lease *lease, uint32_t part) {
    return (int64_t)lease->policy.ttl_ms * NS_PER_MS / part;
}

/* The next moment at which something changes by itself. */
static int64_t next_moment_ns(const struct lk_lease *lease) {
    int64_t next_ns = atomic_load(&lease->valid_until_ns);
    int64_t suspect_ns = next_ns - (int64_t)lease->policy.suspect_ms * NS_PER_MS + 1;

    if (lease->told == LK_HELD)
        next_ns = earlier(next_ns, suspect_ns);
    /* One that is under way has a deadline of its own, and its answer arms the timer again. */
    if (lease->policy.is_renewed && lease->in_flight == 0)
        next_ns = earlier(next_ns, lease->renew_at_ns);
    return next_ns;
}

static void hold_on_moment(uv_timer_t *timer);

static void hold_arm(struct lk_lease *lease) {
    int64_t left_ns = next_moment_ns(lease) - client_now_ns(lease->client);
    /* Rounded up: at the moment or after it, so that it need not be armed again for a fraction. */
    uint64_t left_ms = left_ns > 0 ? ((uint64_t)left_ns + NS_PER_MS - 1) / NS_PER_MS : 0;

    assert(lease->phase == LEASE_HELD);
    if (!lease->policy.has_ttl)
        return;
    uv_update_time(lease->client->loop);
    (void)uv_timer_start(&lease->timer, hold_on_moment, left_ms, 0);
}

static void hold_count(struct lk_lease *lease, enum lk_state state) {
    struct lk_counters *counters = &lease->client->counters;

    counters->suspected += state == LK_SUSPECT;
    if (state != LK_LOST_STATE)
        return;
    counters->lost++;
    counters->hold_ns += (uint64_t)(client_now_ns(lease->client) - lease->granted_ns);
}

/* Last line of what calls it: the callback may release the lease. */
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

/* LOST is final: an extension that is heard of too late does not bring the lease back. */
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
        return "the server says that it is not ours";
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
        stay_abandoned(lease);
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

    assert(lease->phase == LEASE_HELD && !lease->on_state);
    lease->granted_ns = client_now_ns(lease->client);
    counters->acquired++;
    counters->wait_ns += (uint64_t)(lease->granted_ns - lease->joined_ns);
    lease->told = LK_HELD;
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
    struct lk_counters *counters = &lease->client->counters;

    assert(lease->phase == LEASE_HELD);
    (void)uv_timer_stop(&lease->timer);
    if (lease->told != LK_LOST_STATE) /* then it was counted when it was lost */
        counters->hold_ns += (uint64_t)(client_now_ns(lease->client) - lease->granted_ns);
}

void lk_lease_on_state(lk_lease *lease, lk_state_cb cb, void *data) {
    lease->on_state = cb;
    lease->state_data = data;
    if (lease->is_unheard)
        (void)uv_timer_start(&lease->timer, hold_on_moment, 0, 0);
}

/* ---- Abandoning: the holder has gone without giving the lock back, as its last write may still
 * take effect, and the lock stays taken until it cannot any more.
 *
 * Where a TTL frees the lock, nothing is to be done if it ends late enough; else one renewal with
 * the time that is missing, repeated until the server answers it. Where there is none, or a session
 * that outlives the lease, the lease itself waits for the time to pass, renewed where it needs to
 * be, and is released. A session is asked to stay a TTL longer than that, so that the lock is kept
 * should we stand still, and given back by us should we not. */

static void on_abandoned_time(uv_timer_t *timer) {
    stay_abandoned(timer->data);
}

static void wait_abandoned_ms(struct lk_lease *lease, uint64_t ms) {
    uv_update_time(lease->client->loop);
    (void)uv_timer_start(&lease->timer, on_abandoned_time, ms, 0);
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

static void stay_abandoned(struct lk_lease *lease) {
    int64_t left_ms = validity_left_ms(lease->hold_until_ns, client_now_ns(lease->client));
    bool is_freed_by_us = !lease->policy.has_ttl || lease->policy.is_session;

    assert(lease->phase == LEASE_ABANDONED);
    if (lease_outlives_hold(lease) || (left_ms == 0 && !is_freed_by_us)) {
        lease_end(lease);
    } else if (left_ms == 0) {
        lease_release(lease);
    } else if (!lease->policy.has_ttl) {
        wait_abandoned_ms(lease, (uint64_t)left_ms + 1);
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
    stay_abandoned(lease);
}
