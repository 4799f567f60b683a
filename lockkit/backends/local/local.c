/* Locks inside one client. There is no TTL and no server, and only the fence outlives the client.
 *
 * A command takes effect when it starts, and is answered in the next turn of the loop. Only the
 * head of a queue asks, so later readers do not overtake a writer. */
#include "backend.h"
#include "fnv.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define LISTS_AT_FIRST 64

struct held {
    struct lk_holder holder;
    char owner[OWNER_SIZE];
    LIST_ENTRY(held) entry;
    char name[]; /* a lease that was broken outlives its struct name */
};

/* A name with its holders: one exclusive, or several that share it. */
struct name {
    LIST_ENTRY(name) entry;
    uint64_t hash;
    LIST_HEAD(held_list, held) held;
    char text[];
};
LIST_HEAD(name_list, name);

struct answer {
    struct lk_command *command;
    STAILQ_ENTRY(answer) entry;
};

struct local {
    struct lk_backend base;
    struct lk_backend_config config;
    struct name_list *lists; /* of names, by their hash */
    size_t list_count;       /* a power of two */
    size_t name_count;
    struct held_list broken; /* the core does not know yet that these leases have ended */
    uv_idle_t idle;
    STAILQ_HEAD(, answer) answers;
};

/* One counter for all names and clients. It also rises from one client to the next. */
static atomic_uint_fast64_t last_fence;

/* Above the last one of the process, and above the one that the resource has seen. 0: none is. */
static uint64_t mint(const struct lk_command *command) {
    uint_fast64_t last = atomic_load(&last_fence), from;

    do {
        from = last > command->fence_above ? last : command->fence_above;
        if (from > UINT64_MAX - 1 - command->handover)
            return 0;
    } while (!atomic_compare_exchange_weak(&last_fence, &last, from + 1 + command->handover));
    return from + 1;
}

static struct name_list *list_of(const struct local *local, uint64_t hash) {
    return &local->lists[hash & (local->list_count - 1)];
}

static struct name *local_find(const struct local *local, const char *text) {
    const uint64_t hash = fnv_hash(text);
    struct name *name;

    LIST_FOREACH (name, list_of(local, hash), entry)
        if (name->hash == hash && strcmp(name->text, text) == 0)
            break;
    return name;
}

/* Without memory for more lists they stay as they are, and grow longer. */
static void add_lists(struct local *local) {
    struct local more = {.list_count = 2 * local->list_count};
    struct name *name;

    more.lists = calloc(more.list_count, sizeof *more.lists);
    if (more.lists == NULL)
        return;
    for (size_t i = 0; i < local->list_count; i++)
        while ((name = LIST_FIRST(&local->lists[i])) != NULL) {
            LIST_REMOVE(name, entry);
            LIST_INSERT_HEAD(list_of(&more, name->hash), name, entry);
        }
    free(local->lists);
    local->lists = more.lists;
    local->list_count = more.list_count;
}

static struct name *add_name(struct local *local, const char *text) {
    size_t size = strlen(text) + 1;
    struct name *name = malloc(sizeof *name + size);

    if (name == NULL)
        return NULL;
    memcpy(name->text, text, size);
    name->hash = fnv_hash(text);
    LIST_INIT(&name->held);
    if (local->name_count++ == local->list_count)
        add_lists(local);
    LIST_INSERT_HEAD(list_of(local, name->hash), name, entry);
    return name;
}

static struct held *find_held(struct name *name, const char *owner) {
    struct held *held = NULL;

    if (name == NULL || owner == NULL)
        return NULL;
    LIST_FOREACH (held, &name->held, entry)
        if (strcmp(held->owner, owner) == 0)
            break;
    return held;
}

static void drop_name_if_free(struct local *local, struct name *name) {
    if (!LIST_EMPTY(&name->held))
        return;
    LIST_REMOVE(name, entry);
    local->name_count--;
    free(name);
}

/* Whether `command` fits beside the holders. */
static bool fits(const struct name *name, const struct lk_command *command) {
    const struct held *held;
    uint64_t taken = 0;

    LIST_FOREACH (held, &name->held, entry) {
        if (held->holder.mode == LK_EXCLUSIVE || command->mode == LK_EXCLUSIVE)
            return false;
        taken += held->holder.permits;
    }
    return command->limit == 0 || taken + command->permits <= command->limit;
}

static enum lk_status grant(struct local *local, struct name *name, struct lk_command *command) {
    const size_t size = strlen(name->text) + 1;
    struct held *held = calloc(1, sizeof *held + size);
    const uint64_t fence = mint(command);

    if (held == NULL || fence == 0) {
        free(held);
        return fence == 0 ? LK_REFUSED : LK_NOMEM;
    }
    assert(strlen(command->owner) == OWNER_SIZE - 1);
    memcpy(held->owner, command->owner, OWNER_SIZE);
    memcpy(held->name, name->text, size);
    held->holder = (struct lk_holder){.owner = held->owner,
                                      .label = local->config.label,
                                      .fence = fence,
                                      .remaining_ms = -1,
                                      .mode = command->mode,
                                      .permits = command->permits};
    LIST_INSERT_HEAD(&name->held, held, entry);
    command->fence = fence;
    return LK_OK;
}

static enum lk_status local_acquire(struct local *local, struct lk_command *command) {
    struct name *name = local_find(local, command->name);
    const struct held *held = find_held(name, command->owner);
    enum lk_status status;

    if (held != NULL) {
        command->fence = held->holder.fence;
        return LK_OK;
    }
    if (name == NULL)
        name = add_name(local, command->name);
    if (name == NULL)
        return LK_NOMEM;
    status = fits(name, command) ? grant(local, name, command) : LK_BUSY;
    drop_name_if_free(local, name);
    return status;
}

static enum lk_status local_release(struct local *local, const struct lk_command *command) {
    struct name *name = local_find(local, command->name);
    struct held *held = find_held(name, command->owner);

    if (held == NULL)
        return LK_LOST;
    LIST_REMOVE(held, entry);
    free(held);
    drop_name_if_free(local, name);
    return LK_OK;
}

static enum lk_status take_away(struct local *local, const struct lk_command *command) {
    struct name *name = local_find(local, command->name);
    struct held *held = name != NULL ? LIST_FIRST(&name->held) : NULL, *next;
    enum lk_status status = LK_LOST;

    for (; held != NULL; held = next) {
        next = LIST_NEXT(held, entry);
        if (command->owner != NULL && strcmp(held->owner, command->owner) != 0)
            continue;
        LIST_REMOVE(held, entry);
        LIST_INSERT_HEAD(&local->broken, held, entry);
        status = LK_OK;
    }
    if (name != NULL)
        drop_name_if_free(local, name);
    return status;
}

static enum lk_status execute(struct local *local, struct lk_command *command) {
    switch (command->verb) {
    case LK_ACQUIRE:
        return local_acquire(local, command);
    case LK_RENEW:
        return find_held(local_find(local, command->name), command->owner) != NULL ? LK_OK
                                                                                   : LK_LOST;
    case LK_RELEASE:
        return local_release(local, command);
    case LK_BREAK:
        return take_away(local, command);
    case LK_INSPECT: /* the holders are read at the answer, when the strings are still there */
        return LK_OK;
    }
    return LK_UNSUPPORTED;
}

static void answer_inspection(struct local *local, struct lk_command *command) {
    struct name *name = local_find(local, command->name);
    struct lk_holder *holders;
    const struct held *held;
    size_t count = 0;

    if (name != NULL)
        LIST_FOREACH (held, &name->held, entry)
            count++;
    holders = calloc(count + 1, sizeof *holders);
    if (holders == NULL)
        command->status = LK_NOMEM;
    count = 0;
    if (name != NULL && holders != NULL)
        LIST_FOREACH (held, &name->held, entry)
            holders[count++] = held->holder;
    command->holders = holders;
    command->holder_count = count;
    command->on_answer(command);
    free(holders);
}

static void tell_broken(struct local *local) {
    struct held *held;

    while ((held = LIST_FIRST(&local->broken)) != NULL) {
        LIST_REMOVE(held, entry);
        local->config.push(local->config.data, LK_PUSH_LOST, held->name, held->owner,
                           "somebody broke the lock");
        free(held);
    }
}

static void local_on_idle(uv_idle_t *idle) {
    struct local *local = idle->data;
    STAILQ_HEAD(, answer) answers = STAILQ_HEAD_INITIALIZER(answers);
    struct answer *answer;

    (void)uv_idle_stop(idle);
    STAILQ_CONCAT(&answers, &local->answers);
    tell_broken(local); /* before any successor is told of its grant */
    while ((answer = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, entry);
        if (answer->command->verb == LK_INSPECT)
            answer_inspection(local, answer->command);
        else
            answer->command->on_answer(answer->command);
    }
}

static void local_run(struct lk_backend *backend, struct lk_command *command) {
    struct local *local = (struct local *)backend;
    struct answer *answer = command->internal;

    assert(command->on_answer);
    assert(command->owner || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    command->remaining_ms = -1;
    command->status = execute(local, command);
    answer->command = command;
    STAILQ_INSERT_TAIL(&local->answers, answer, entry);
    (void)uv_idle_start(&local->idle, local_on_idle);
}

static enum lk_status open_local(struct lk_backend **backend,
                                 const struct lk_backend_config *config) {
    struct local *local;

    if (strcmp(config->url, backend_local.scheme) != 0)
        return LK_INVALID;
    local = calloc(1, sizeof *local);
    if (local == NULL)
        return LK_NOMEM;
    local->list_count = LISTS_AT_FIRST;
    local->lists = calloc(local->list_count, sizeof *local->lists);
    if (local->lists == NULL) {
        free(local);
        return LK_NOMEM;
    }
    local->base.ops = &backend_local;
    local->base.is_instant = true;
    local->config = *config;
    LIST_INIT(&local->broken);
    STAILQ_INIT(&local->answers);
    (void)uv_idle_init(config->loop, &local->idle);
    local->idle.data = local;
    *backend = &local->base;
    return LK_OK;
}

static void free_name(struct name *name) {
    struct held *held;

    while ((held = LIST_FIRST(&name->held)) != NULL) {
        LIST_REMOVE(held, entry);
        free(held);
    }
    LIST_REMOVE(name, entry);
    free(name);
}

static void local_on_closed(uv_handle_t *handle) {
    struct local *local = handle->data;
    struct name *name;

    for (size_t i = 0; i < local->list_count; i++)
        while ((name = LIST_FIRST(&local->lists[i])) != NULL)
            free_name(name);
    free(local->lists);
    backend_end(&local->base);
}

static void close_local(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct local *local = (struct local *)backend;

    assert(STAILQ_EMPTY(&local->answers) && LIST_EMPTY(&local->broken));
    backend->on_closed = cb;
    backend->data = data;
    uv_close((uv_handle_t *)&local->idle, local_on_closed);
}

const struct lk_backend_ops backend_local = {
    .scheme = "local:",
    .caps = LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR | LK_CAP_SHARED | LK_CAP_PERMITS |
            LK_CAP_HANDOVER | LK_CAP_BREAK,
    .command_size = sizeof(struct answer),
    .open = open_local,
    .close = close_local,
    .run = local_run,
};
