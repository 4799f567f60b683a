/* Locks: a name and a policy; inspecting a lock, and breaking it. For all leases of a client: the
 * events of its backend, and closing. */
#include "lease.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MIN_MS 10
#define TTL_MAX_MS 86400000

/* The caps that the backend needs for it. */
static unsigned needed_caps(const struct lk_policy *policy) {
    return (policy->is_fair ? LK_CAP_FAIR : 0U) | (policy->mode == LK_SHARED ? LK_CAP_SHARED : 0U) |
           (policy->limit > 0 ? LK_CAP_PERMITS : 0U) |
           (policy->handover > 0 ? LK_CAP_HANDOVER : 0U);
}

static bool lock_may_hand_over(const struct lk_policy *policy) {
    return policy->mode == LK_EXCLUSIVE && !policy->is_fair;
}

static bool lock_is_in_range(const struct lk_policy *policy) {
    return policy->ttl_ms >= TTL_MIN_MS && policy->ttl_ms <= TTL_MAX_MS &&
           policy->suspect_ms < policy->ttl_ms && policy->poll_ms <= TTL_MAX_MS &&
           policy->handover <= HANDOVER_MOST &&
           (policy->handover == 0 || lock_may_hand_over(policy)) &&
           (policy->mode == LK_SHARED ? policy->limit == 0 || policy->permits <= policy->limit
                                      : policy->limit == 0 && policy->permits == 1);
}

/* LK_INVALID for options that are out of range, or that have a size that no version of lockkit had.
 */
static enum lk_status fill_policy(struct lk_policy *policy, const struct lk_client *client,
                                  const struct lk_lock_options *given) {
    struct lk_lock_options options = {0};
    const unsigned caps = client->caps;

    if (given != NULL && (given->size < sizeof given->size || given->size > sizeof options))
        return LK_INVALID;
    if (given != NULL)
        memcpy(&options, given, given->size);
    policy->mode = options.mode;
    policy->limit = options.limit;
    policy->permits = options.permits ? options.permits : 1;
    policy->is_session = (caps & LK_CAP_SESSION) != 0;
    policy->is_fair = options.is_fair != 0;
    policy->has_ttl = (caps & LK_CAP_TTL) != 0;
    policy->ttl_ms = options.ttl_ms ? options.ttl_ms : 10000;
    policy->asked_ms = policy->ttl_ms;
    policy->suspect_ms = options.suspect_ms ? options.suspect_ms : policy->ttl_ms / 4;
    policy->asked_suspect_ms = policy->suspect_ms;
    policy->poll_ms = options.poll_ms ? options.poll_ms : 250;
    policy->handover = options.handover;
    if (policy->handover == 0 && lock_may_hand_over(policy))
        policy->handover = client->handover;
    policy->is_renewed = policy->has_ttl && !options.no_renew;
    if (!lock_is_in_range(policy))
        return LK_INVALID;
    if (needed_caps(policy) & ~caps)
        return LK_UNSUPPORTED;
    /* Where all waiters belong to this client, they are in order anyway. */
    policy->is_fair = policy->is_fair && (caps & LK_CAP_CROSS_PROCESS);
    return LK_OK;
}

enum lk_status lk_lock_open(lk_lock **out, lk_client *client, const char *name,
                            const struct lk_lock_options *options) {
    struct lk_policy policy;
    struct lk_lock *lock;
    enum lk_status status = fill_policy(&policy, client, options);

    *out = NULL;
    if (client_is_inherited(client))
        return LK_INVALID;
    if (*name == '\0' || strlen(name) > NAME_MAX_BYTES)
        return LK_INVALID;
    if (status != LK_OK)
        return status;
    lock = calloc(1, sizeof *lock);
    if (lock == NULL)
        return LK_NOMEM;
    lock->queue = queue_ref(client, name, NULL);
    if (lock->queue == NULL) {
        free(lock);
        return LK_NOMEM;
    }
    lock->policy = policy;
    TAILQ_INSERT_TAIL(&client->locks, lock, entry);
    *out = lock;
    return LK_OK;
}

const char *lk_lock_name(const lk_lock *lock) {
    return lock->queue->name;
}

lk_client *lk_lock_client(const lk_lock *lock) {
    return lock->queue->client;
}

void lk_lock_close(lk_lock *lock) {
    if (lock == NULL)
        return;
    TAILQ_REMOVE(&lock->queue->client->locks, lock, entry);
    queue_unref(lock->queue);
    free(lock);
}

/* ---- Inspecting and breaking a lock: one command, without a lease */

struct inspection {
    struct lk_command command;
    struct lk_queue *queue;
    lk_inspect_cb on_inspected;
    lk_release_cb on_broken;
    void *data;
    char owner[LABEL_MAX_BYTES + 1]; /* another program may have written it */
    max_align_t internal[];
};

/* In the queue of the name, and in those of one waiter. */
static unsigned waiters_here(const struct lk_queue *queue) {
    const struct lk_lease *lease;
    unsigned count = 0;

    LIST_FOREACH (lease, &queue->leases, named_entry)
        count += lease->phase == LEASE_QUEUED || lease->phase == LEASE_TRYING;
    return count;
}

static void on_inspection_answered(struct lk_command *command) {
    struct inspection *inspection = command->data;
    const struct lk_inspection seen = {.holders = command->holders,
                                       .waiters = command->waiters,
                                       .holder_count = command->holder_count,
                                       .waiter_count = command->waiter_count,
                                       .waiters_here = waiters_here(inspection->queue)};

    assert(command == &inspection->command);
    if (command->verb == LK_BREAK && command->status != LK_LOST)
        queue_given_back(inspection->queue);
    if (inspection->on_inspected != NULL)
        inspection->on_inspected(command->status, command->status == LK_OK ? &seen : NULL,
                                 inspection->data);
    if (inspection->on_broken != NULL)
        inspection->on_broken(command->status, inspection->data);
    queue_unref(inspection->queue);
    free(inspection);
}

static enum lk_status inspect_start(struct lk_lock *lock, enum lk_verb verb, const char *owner,
                                    const struct inspection *wanted) {
    struct lk_client *client = lock->queue->client;
    struct lk_backend *backend = client->backend;
    struct inspection *inspection = calloc(1, sizeof *inspection + backend->ops->command_size);

    if (client_is_inherited(client)) {
        free(inspection);
        return LK_INVALID;
    }
    if (inspection == NULL)
        return LK_NOMEM;
    *inspection = *wanted;
    if (owner != NULL)
        (void)snprintf(inspection->owner, sizeof inspection->owner, "%s", owner);
    inspection->queue = lock->queue;
    inspection->command = (struct lk_command){.verb = verb,
                                              .mode = lock->policy.mode,
                                              .permits = lock->policy.permits,
                                              .limit = lock->policy.limit,
                                              .name = lock->queue->name,
                                              .owner = owner != NULL ? inspection->owner : NULL,
                                              .reply_ms = client->reply_ms,
                                              .on_answer = on_inspection_answered,
                                              .data = inspection,
                                              .internal = inspection->internal};
    lock->queue->refs++;
    backend->ops->run(backend, &inspection->command);
    return LK_OK;
}

enum lk_status lk_inspect(lk_lock *lock, lk_inspect_cb cb, void *data) {
    return inspect_start(lock, LK_INSPECT, NULL,
                         &(struct inspection){.on_inspected = cb, .data = data});
}

enum lk_status lk_break(lk_lock *lock, const char *owner, lk_release_cb cb, void *data) {
    if (!(lock->queue->client->caps & LK_CAP_BREAK))
        return LK_UNSUPPORTED;
    if (owner != NULL && strlen(owner) > LABEL_MAX_BYTES)
        return LK_INVALID;
    return inspect_start(lock, LK_BREAK, owner,
                         &(struct inspection){.on_broken = cb, .data = data});
}

/* ---- Events of the backend */

static void lock_doubt(struct lk_lease *lease, const char *owner, enum lk_state state,
                       const char *why) {
    if (owner != NULL && strcmp(lease->owner, owner) != 0)
        return;
    if (lease->phase == LEASE_HELD)
        lease_doubt(lease, state, why);
    else if ((lease->phase == LEASE_TRYING || lease->phase == LEASE_ORPHANED) &&
             state == LK_LOST_STATE)
        lease->is_lost_early = true;
}

/* A client may hold many names: look only at the leases of this one. Leases are freed in a later
 * turn of the loop. So no callback can take a lease from a list here. */
static void client_doubt(struct lk_client *client, const char *name, const char *owner,
                         enum lk_state state, const char *why) {
    struct lk_queue *named = name != NULL ? queue_named(client, name) : NULL;
    struct lk_lease *lease;

    if (name == NULL)
        TAILQ_FOREACH (lease, &client->leases, entry)
            lock_doubt(lease, owner, state, why);
    else if (named != NULL)
        LIST_FOREACH (lease, &named->leases, named_entry)
            lock_doubt(lease, owner, state, why);
}

void client_push(void *data, enum lk_push what, const char *name, const char *owner,
                 const char *why) {
    struct lk_client *client = data;

    assert(what != LK_PUSH_FREE || name || !owner);
    switch (what) {
    case LK_PUSH_FREE:
        queue_wake(client, name, owner);
        break;
    case LK_PUSH_SUSPECT:
        client_doubt(client, name, owner, LK_SUSPECT, why);
        break;
    case LK_PUSH_LOST:
        client_doubt(client, name, owner, LK_LOST_STATE, why);
        break;
    }
}

/* ---- Closing: every part ends, and the last queue to go tears the client down */

void lk_client_close(lk_client *client, lk_close_cb cb, void *data) {
    struct lk_lock *lock;
    struct lk_lease *lease;

    if (client->is_closing || client_is_inherited(client))
        return;
    client->is_closing = true;
    client->on_closed = cb;
    client->close_data = data;
    TAILQ_FOREACH (lease, &client->leases, entry)
        lease_close(lease);
    while ((lock = TAILQ_FIRST(&client->locks)) != NULL)
        lk_lock_close(lock);
    client_part_gone(client);
}
