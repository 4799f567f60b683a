/* A lock: a name and a policy; and who holds it. */
#include "lease.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MIN_MS 10
#define TTL_MAX_MS 86400000

/* False for options that are out of range, or of a size that was never ours. */
static bool fill_policy(struct lk_policy *policy, unsigned caps,
                        const struct lk_lock_options *given) {
    struct lk_lock_options options = {0};

    if (given && (given->size < sizeof given->size || given->size > sizeof options))
        return false;
    if (given)
        memcpy(&options, given, given->size);
    policy->has_ttl = (caps & LK_CAP_TTL) != 0;
    policy->ttl_ms = options.ttl_ms ? options.ttl_ms : 10000;
    policy->suspect_ms = options.suspect_ms ? options.suspect_ms : policy->ttl_ms / 4;
    policy->poll_ms = options.poll_ms ? options.poll_ms : 250;
    policy->is_renewed = policy->has_ttl && !options.no_renew;
    return policy->ttl_ms >= TTL_MIN_MS && policy->ttl_ms <= TTL_MAX_MS &&
           policy->suspect_ms < policy->ttl_ms;
}

enum lk_status lk_lock_open(lk_lock **out, lk_client *client, const char *name,
                            const struct lk_lock_options *options) {
    struct lk_policy policy;
    struct lk_lock *lock;

    *out = NULL;
    if (*name == '\0' || strlen(name) > NAME_MAX_BYTES ||
        !fill_policy(&policy, client->backend->ops->caps, options))
        return LK_INVALID;
    lock = calloc(1, sizeof *lock);
    if (!lock)
        return LK_NOMEM;
    lock->queue = queue_ref(client, name);
    if (!lock->queue) {
        free(lock);
        return LK_NOMEM;
    }
    lock->policy = policy;
    TAILQ_INSERT_TAIL(&client->locks, lock, entry);
    *out = lock;
    return LK_OK;
}

void lk_lock_close(lk_lock *lock) {
    if (!lock)
        return;
    TAILQ_REMOVE(&lock->queue->client->locks, lock, entry);
    queue_unref(lock->queue);
    free(lock);
}

struct inspection {
    struct lk_command command;
    struct lk_queue *queue;
    lk_inspect_cb on_inspected;
    void *data;
    max_align_t internal[];
};

static void on_inspect_answered(struct lk_command *command) {
    struct inspection *inspection = command->data;
    struct lk_queue *queue = inspection->queue;
    const struct lk_holder *holder =
        command->status == LK_OK && command->holder.owner ? &command->holder : NULL;

    assert(command == &inspection->command && command->verb == LK_INSPECT);
    inspection->on_inspected(command->status, holder, queue->length, inspection->data);
    queue_unref(queue);
    free(inspection);
}

enum lk_status lk_inspect(lk_lock *lock, lk_inspect_cb cb, void *data) {
    struct lk_client *client = lock->queue->client;
    struct lk_backend *backend = client->backend;
    struct inspection *inspection = calloc(1, sizeof *inspection + backend->ops->command_size);

    if (!inspection)
        return LK_NOMEM;
    inspection->queue = lock->queue;
    inspection->on_inspected = cb;
    inspection->data = data;
    inspection->command = (struct lk_command){.verb = LK_INSPECT,
                                              .name = lock->queue->name,
                                              .reply_ms = client->reply_ms,
                                              .on_answer = on_inspect_answered,
                                              .data = inspection,
                                              .internal = inspection->internal};
    lock->queue->refs++;
    backend->ops->run(backend, &inspection->command);
    return LK_OK;
}
