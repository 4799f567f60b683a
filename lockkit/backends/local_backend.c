/* Locks inside one client: no TTL, no server, nothing survives the client but the fence.
 *
 * A command takes effect when it is started and is answered in the next turn of the loop. */
#include "backend.h"

#include <assert.h>
#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct held {
    const char *name; /* the key; first, so that a search needs no whole `struct held` */
    uint64_t fence;
    char owner[OWNER_SIZE];
    char name_copy[];
};

struct answer {
    struct lk_command *command;
    STAILQ_ENTRY(answer) entry;
};

struct local {
    struct lk_backend base;
    const char *label;
    void *held; /* tree of struct held, by name */
    uv_idle_t idle;
    STAILQ_HEAD(, answer) answers;
    lk_close_cb on_closed;
    void *data;
};

/* One counter for all names and clients: it rises across the life of a client, too. */
static atomic_uint_fast64_t last_fence;

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct held *find(struct local *local, const char *name) {
    struct held **found = tfind(&name, &local->held, compare);

    return found ? *found : NULL;
}

static struct held *add(struct local *local, const char *name, const char *owner) {
    size_t size = strlen(name) + 1;
    struct held *held = malloc(sizeof *held + size);

    assert(strlen(owner) == OWNER_SIZE - 1);
    if (!held)
        return NULL;
    memcpy(held->name_copy, name, size);
    memcpy(held->owner, owner, OWNER_SIZE);
    held->name = held->name_copy;
    if (!tsearch(held, &local->held, compare)) {
        free(held);
        return NULL;
    }
    held->fence = atomic_fetch_add(&last_fence, 1) + 1;
    return held;
}

static enum lk_status execute(struct local *local, struct lk_command *command) {
    struct held *held = find(local, command->name);
    bool is_ours = held && command->owner && strcmp(held->owner, command->owner) == 0;

    switch (command->verb) {
    case LK_ACQUIRE:
        if (held && !is_ours)
            return LK_BUSY;
        if (!held)
            held = add(local, command->name, command->owner);
        if (!held)
            return LK_NOMEM;
        command->holder.fence = held->fence;
        command->fence_before = held->fence - 1;
        return LK_OK;
    case LK_RENEW:
        return is_ours ? LK_OK : LK_LOST;
    case LK_RELEASE:
        if (!is_ours)
            return LK_LOST;
        tdelete(held, &local->held, compare);
        free(held);
        return LK_OK;
    case LK_INSPECT:
        /* Looked up when it is answered, so that the strings are still there. */
        return LK_OK;
    }
    return LK_UNSUPPORTED;
}

static void inspect(struct local *local, struct lk_command *command) {
    const struct held *held = find(local, command->name);

    if (held)
        command->holder = (struct lk_holder){
            .owner = held->owner, .label = local->label, .fence = held->fence, .remaining_ms = -1};
}

static void on_idle(uv_idle_t *idle) {
    struct local *local = idle->data;
    STAILQ_HEAD(, answer) answers = STAILQ_HEAD_INITIALIZER(answers);
    struct answer *answer;

    (void)uv_idle_stop(idle);
    STAILQ_CONCAT(&answers, &local->answers);
    while ((answer = STAILQ_FIRST(&answers))) {
        STAILQ_REMOVE_HEAD(&answers, entry);
        if (answer->command->verb == LK_INSPECT)
            inspect(local, answer->command);
        answer->command->on_answer(answer->command);
    }
}

static void run(struct lk_backend *backend, struct lk_command *command) {
    struct local *local = (struct local *)backend;
    struct answer *answer = command->internal;

    assert(command->on_answer && (command->owner || command->verb == LK_INSPECT));
    command->holder = (struct lk_holder){.remaining_ms = -1};
    command->status = execute(local, command);
    answer->command = command;
    STAILQ_INSERT_TAIL(&local->answers, answer, entry);
    (void)uv_idle_start(&local->idle, on_idle);
}

static enum lk_status open_local(struct lk_backend **backend,
                                 const struct lk_backend_config *config) {
    struct local *local;

    if (strcmp(config->url, backend_local.scheme) != 0)
        return LK_INVALID;
    local = calloc(1, sizeof *local);
    if (!local)
        return LK_NOMEM;
    local->base.ops = &backend_local;
    local->label = config->label;
    STAILQ_INIT(&local->answers);
    (void)uv_idle_init(config->loop, &local->idle);
    local->idle.data = local;
    *backend = &local->base;
    return LK_OK;
}

static void on_closed(uv_handle_t *handle) {
    struct local *local = handle->data;
    lk_close_cb cb = local->on_closed;
    void *data = local->data;

    tdestroy(local->held, free);
    free(local);
    cb(data);
}

static void close_local(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct local *local = (struct local *)backend;

    assert(STAILQ_EMPTY(&local->answers));
    local->on_closed = cb;
    local->data = data;
    uv_close((uv_handle_t *)&local->idle, on_closed);
}

const struct lk_backend_ops backend_local = {
    .scheme = "local:",
    .caps = LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR,
    .command_size = sizeof(struct answer),
    .open = open_local,
    .close = close_local,
    .run = run,
};
