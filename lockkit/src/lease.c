/* A lease: made, moved from phase to phase, looked at, and freed. */
#include "lease.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define OWNER_BYTES (OWNER_SIZE / 2)

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

/* The queue is referred to already. */
static void adopt(struct lk_lease *lease, struct lk_lock *lock, struct lk_queue *queue) {
    struct lk_client *client = queue->client;

    assert(lock->policy.suspect_ms < lock->policy.ttl_ms && lock->policy.poll_ms > 0);
    lease->client = client;
    lease->queue = queue;
    lease->policy = lock->policy;
    lease->phase = LEASE_QUEUED;
    lease->last = LK_TIMEOUT;
    lease->request.lease = lease;
    lease->joined_ns = client_now_ns(client);
    lease->until_ns = VALIDITY_FOREVER;
    atomic_init(&lease->valid_until_ns, VALIDITY_NONE);
    atomic_init(&lease->is_suspended, false);
    (void)uv_timer_init(client->loop, &lease->timer);
    lease->timer.data = lease;
    TAILQ_INSERT_TAIL(&client->leases, lease, entry);
}

enum lk_status lease_new(struct lk_lease **out, struct lk_lock *lock) {
    struct lk_client *client = lock->queue->client;
    size_t unit = sizeof(max_align_t);
    size_t units = (client->backend->ops->command_size + unit - 1) / unit;
    struct lk_lease *lease = calloc(1, sizeof *lease + 2 * units * unit);
    enum lk_status status = LK_NOMEM;
    struct lk_queue *queue;

    if (lease == NULL)
        return LK_NOMEM;
    if (make_owner(lease->owner) != 0) {
        status = LK_UNSUPPORTED;
        goto err_after_lease;
    }
    queue = queue_ref(client, lock->queue->name, lock->policy.is_fair ? lease->owner : NULL);
    if (queue == NULL)
        goto err_after_lease;
    lease->command.internal = lease->internal;
    lease->renewal.internal = lease->internal + units;
    adopt(lease, lock, queue);
    *out = lease;
    return LK_OK;

err_after_lease:
    free(lease);
    return status;
}

void lease_swap_owners(struct lk_lease *lease, struct lk_lease *other) {
    char owner[OWNER_SIZE];

    assert(lease->in_flight == 0 && other->in_flight == 0);
    memcpy(owner, other->owner, sizeof owner);
    memcpy(other->owner, lease->owner, sizeof owner);
    memcpy(lease->owner, owner, sizeof owner);
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

/* How long the server may still give it the lock. The place of a waiter in a queue of its own goes
 * to no other, so a grant that comes after the wait is lost, and with it the time until it is given
 * back. In a crowd the first in line is always the one with the least time left: there every grant
 * would be lost. So the place ends before the wait, by the time that this request and the grant may
 * be under way; but a slow server never costs more than half of the wait. */
static int64_t usable_ms(const struct lk_lease *lease) {
    const int64_t most_ns = (lease->until_ns - lease->joined_ns) / 2;
    const int64_t late_ns = 2 * client_answer_ns(lease->client);

    return validity_left_ms(lease->until_ns - (late_ns < most_ns ? late_ns : most_ns),
                            client_now_ns(lease->client));
}

/* Two polls may be lost, and the second's answer may take its time. */
static uint32_t patience_ms(const struct lk_lease *lease) {
    const uint32_t ms = 2 * lease->policy.poll_ms + lease->client->reply_ms;
    int64_t usable;

    if (lease->waiter.is_try)
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
    assert(!command->on_answer); /* it is one command at a time */
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
    lease->client->backend->ops->run(lease->client->backend, command);
}

void lease_answered(struct lk_lease *lease, struct lk_command *command) {
    assert(lease->in_flight > 0 && command->on_answer);
    command->on_answer = NULL;
    lease->in_flight--;
}

static void lease_on_timer_closed(uv_handle_t *handle) {
    struct lk_lease *lease = handle->data;

    assert(lease->phase == LEASE_ENDED && lease->in_flight == 0 && !lease->is_outcome_due);
    TAILQ_REMOVE(&lease->client->leases, lease, entry);
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

    return state == LK_HELD && atomic_load(&lease->is_suspended) ? LK_SUSPECT : state;
}

int64_t lk_lease_remaining_ms(const lk_lease *lease) {
    return validity_left_ms(atomic_load(&lease->valid_until_ns), client_now_ns(lease->client));
}

enum lk_status lk_lease_check(const lk_lease *lease, uint32_t need_ms) {
    int64_t until_ns = atomic_load(&lease->valid_until_ns);
    int64_t then_ns = client_moment_ns(lease->client, need_ms);

    return validity_state(until_ns, 0, then_ns) == LK_LOST_STATE ? LK_LOST : LK_OK;
}

uint64_t lk_lease_fence(const lk_lease *lease) {
    return lease->fence;
}

void lk_lease_saw_fence(const lk_lease *lease, uint64_t fence) {
    if (fence > lease->client->seen_fence)
        lease->client->seen_fence = fence;
}

const char *lk_lease_owner(const lk_lease *lease) {
    return lease->owner;
}
