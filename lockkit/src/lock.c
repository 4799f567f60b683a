/* A lock: a name and a policy. */
#include "lease.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MIN_MS 10
#define TTL_MAX_MS 86400000

/* What the backend must be able to do for it. */
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

/* LK_INVALID for options that are out of range, or of a size that was never ours. */
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
    /* Where all waiters are ours, they are in order as it is. */
    policy->is_fair = policy->is_fair && (caps & LK_CAP_CROSS_PROCESS);
    return LK_OK;
}

enum lk_status lk_lock_open(lk_lock **out, lk_client *client, const char *name,
                            const struct lk_lock_options *options) {
    struct lk_policy policy;
    struct lk_lock *lock;
    enum lk_status status = fill_policy(&policy, client, options);

    *out = NULL;
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
