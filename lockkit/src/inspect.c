/* Who holds a lock, and taking it away from them: one command, of no lease. */
#include "lease.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inspection {
    struct lk_command command;
    struct lk_queue *queue;
    lk_inspect_cb on_inspected;
    lk_release_cb on_broken;
    void *data;
    char owner[LABEL_MAX_BYTES + 1]; /* another program may have written it */
    max_align_t internal[];
};

/* Of the same name, in whichever queue of ours. */
static unsigned waiters_here(const struct lk_queue *queue) {
    const struct lk_lease *lease;
    unsigned count = 0;

    TAILQ_FOREACH (lease, &queue->client->leases, entry)
        count += (lease->phase == LEASE_QUEUED || lease->phase == LEASE_TRYING) &&
                 strcmp(lease->queue->name, queue->name) == 0;
    return count;
}

static void inspect_end(struct inspection *inspection) {
    queue_unref(inspection->queue);
    free(inspection);
}

static void on_inspect_answered(struct lk_command *command) {
    struct inspection *inspection = command->data;
    const struct lk_inspection seen = {.holders = command->holders,
                                       .waiters = command->waiters,
                                       .holder_count = command->holder_count,
                                       .waiter_count = command->waiter_count,
                                       .waiters_here = waiters_here(inspection->queue)};

    assert(command == &inspection->command && command->verb == LK_INSPECT);
    inspection->on_inspected(command->status, command->status == LK_OK ? &seen : NULL,
                             inspection->data);
    inspect_end(inspection);
}

static void on_break_answered(struct lk_command *command) {
    struct inspection *inspection = command->data;

    assert(command == &inspection->command && command->verb == LK_BREAK);
    if (command->status != LK_LOST)
        queue_given_back(inspection->queue);
    if (inspection->on_broken != NULL)
        inspection->on_broken(command->status, inspection->data);
    inspect_end(inspection);
}

static enum lk_status inspect_start(struct lk_lock *lock, enum lk_verb verb, const char *owner,
                                    const struct inspection *wanted) {
    struct lk_client *client = lock->queue->client;
    struct lk_backend *backend = client->backend;
    struct inspection *inspection = calloc(1, sizeof *inspection + backend->ops->command_size);

    if (inspection == NULL)
        return LK_NOMEM;
    *inspection = *wanted;
    if (owner != NULL)
        (void)snprintf(inspection->owner, sizeof inspection->owner, "%s", owner);
    inspection->queue = lock->queue;
    inspection->command = (struct lk_command){
        .verb = verb,
        .mode = lock->policy.mode,
        .permits = lock->policy.permits,
        .limit = lock->policy.limit,
        .name = lock->queue->name,
        .owner = owner != NULL ? inspection->owner : NULL,
        .reply_ms = client->reply_ms,
        .on_answer = wanted->on_inspected != NULL ? on_inspect_answered : on_break_answered,
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
