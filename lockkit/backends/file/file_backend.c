/* Locks in a folder: file:/folder, by flock(2), and file:/folder?kind=mkdir, by folders in it.
 *
 * It is for the processes of one machine. There is no TTL: a lock is free when its holder gives it
 * back, or when the holder's process ends. The disk is used only on libuv's threads, by one command
 * at a time, in the order of arrival. A waiter hears from inotify that a file of the folder was
 * closed or moved away, and it polls. */
#include "clock.h"
#include "file_lock.h"
#include "log.h"

#include <assert.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/queue.h>
#include <unistd.h>

#define SCHEME        "file:"
#define ACQUIRES_MOST 4 /* one is under way at a time: a release should not wait for many */

/* Work for a thread: the backend's memory for a command, or a check whether a lock is still held.
 */
struct task {
    struct file_job job;
    enum lk_status status;
    struct lk_command *command; /* NULL: a check */
    struct owner *owner;        /* ACQUIRE: the new owner */
    struct lk_holder holder;
    STAILQ_ENTRY(task) entry;
    char text[]; /* a check: the strings of the job */
};

/* A holder, or somebody with an ACQUIRE under way. */
struct owner {
    const char *token; /* the key of the tree; first, so that a search needs no whole owner */
    struct file_held held;
    LIST_ENTRY(owner) entry;
    const char *name;
    char text[];
};

struct folder {
    struct lk_backend base;
    struct lk_backend_config config;
    const struct file_kind *kind;
    char path[PATH_MAX];
    void *by_token;            /* tree of all owners, also while their ACQUIRE is under way */
    LIST_HEAD(, owner) owners; /* the holders among them */
    STAILQ_HEAD(, task) tasks; /* the first is under way */
    uv_work_t work;
    int events; /* descriptor of inotify */
    bool is_watched, is_closing;
    struct log_limit refusals;
    uv_poll_t poll;
};

static void file_backend_start(struct folder *folder);

static int file_backend_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct owner *file_backend_find(struct folder *folder, const char *token) {
    struct owner **found =
        token != NULL ? tfind(&token, &folder->by_token, file_backend_compare) : NULL;

    return found != NULL ? *found : NULL;
}

/* NULL: out of memory. */
static struct owner *owner_new(struct folder *folder, const char *token, const char *name) {
    size_t size = strlen(name) + 1;
    struct owner *owner = calloc(1, sizeof *owner + OWNER_SIZE + size);

    if (owner == NULL)
        return NULL;
    assert(strlen(token) == OWNER_SIZE - 1);
    owner->token = memcpy(owner->text, token, OWNER_SIZE);
    owner->name = memcpy(owner->text + OWNER_SIZE, name, size);
    owner->held = (struct file_held){-1, -1};
    if (tsearch(owner, &folder->by_token, file_backend_compare) == NULL) {
        free(owner);
        return NULL;
    }
    return owner;
}

static void owner_forget(struct folder *folder, struct owner *owner) {
    tdelete(owner, &folder->by_token, file_backend_compare);
    free(owner);
}

/* ---- A task */

static void file_backend_on_thread(uv_work_t *work) {
    struct folder *folder = work->data;
    struct task *task = STAILQ_FIRST(&folder->tasks);

    if (task->status != LK_NOMEM)
        task->status = folder->kind->run(&task->job);
}

static void file_backend_take_acquired(struct folder *folder, struct task *task) {
    struct owner *owner = task->owner;

    if (owner != NULL && task->status == LK_OK) {
        assert((task->job.held.lock >= 0) == (folder->kind == &file_flock));
        owner->held = task->job.held;
        LIST_INSERT_HEAD(&folder->owners, owner, entry);
    } else if (owner != NULL) {
        owner_forget(folder, owner);
    }
    task->command->fence = task->job.fence;
    if (task->job.again_ms > 0)
        task->command->remaining_ms = task->job.again_ms;
}

static void take_released(struct folder *folder, struct task *task) {
    struct owner *owner = file_backend_find(folder, task->job.owner);

    if (owner == NULL || (task->status != LK_OK && task->status != LK_LOST))
        return;
    assert(task->job.held.lock < 0 && task->job.held.record < 0); /* the kind has closed them */
    LIST_REMOVE(owner, entry);
    owner_forget(folder, owner);
}

static void take_inspected(struct task *task) {
    const struct file_record *record = &task->job.record;

    if (task->status != LK_OK || !task->job.is_taken)
        return;
    task->holder = (struct lk_holder){.owner = record->owner,
                                      .label = record->label,
                                      .fence = record->fence,
                                      .remaining_ms = -1,
                                      .permits = 1};
    task->command->holders = &task->holder;
    task->command->holder_count = 1;
}

static void file_backend_tell_refused(struct folder *folder, const char *why) {
    char quoted[2 * FILE_WHY_SIZE], path[2 * PATH_MAX];
    unsigned left_out;

    if (log_limit_pass(&folder->refusals, clock_now_ms(), &left_out))
        log_warn("a lock in a file is refused", "folder=%s left_out=%u why=%s",
                 log_quote(path, sizeof path, folder->path), left_out,
                 log_quote(quoted, sizeof quoted, why));
}

static void file_backend_answer(struct folder *folder, struct task *task) {
    struct lk_command *command = task->command;

    if (command->verb == LK_ACQUIRE)
        file_backend_take_acquired(folder, task);
    else if (command->verb == LK_RELEASE)
        take_released(folder, task);
    else if (command->verb == LK_INSPECT)
        take_inspected(task);
    if (task->status == LK_REFUSED) {
        command->why = task->job.why;
        file_backend_tell_refused(folder, task->job.why);
    }
    command->status = task->status;
    command->on_answer(command);
}

/* The lock was there and has gone, and this client has not given it back meanwhile. */
static void tell_lost(struct folder *folder, struct task *task) {
    if (task->status == LK_LOST && file_backend_find(folder, task->job.owner) != NULL &&
        !folder->is_closing)
        folder->config.push(folder->config.data, LK_PUSH_LOST, task->job.name, task->job.owner,
                            "its folder was taken away");
    free(task);
}

static void file_backend_maybe_closed(struct folder *folder);

static void file_backend_on_done(uv_work_t *work, int status) {
    struct folder *folder = work->data;
    struct task *task = STAILQ_FIRST(&folder->tasks);

    (void)status; /* nobody cancels the work */
    STAILQ_REMOVE_HEAD(&folder->tasks, entry);
    file_backend_start(folder);
    if (task->command != NULL)
        file_backend_answer(folder, task);
    else
        tell_lost(folder, task);
    file_backend_maybe_closed(folder);
}

/* ---- Events */

/* If this client holds the lock, its folder may have been taken away. The walk over all owners is
 * short beside an acquire, which writes to the disk. */
static void look_after(struct folder *folder, const char *name) {
    const size_t size = strlen(name) + 1;
    struct owner *owner;

    LIST_FOREACH (owner, &folder->owners, entry) {
        struct task *task;

        if (strcmp(owner->name, name) != 0)
            continue;
        task = calloc(1, sizeof *task + size + OWNER_SIZE);
        if (task == NULL)
            continue; /* the holder learns it at its release */
        memcpy(task->text, name, size);
        memcpy(task->text + size, owner->token, OWNER_SIZE);
        task->job = (struct file_job){.verb = LK_RENEW,
                                      .root = folder->path,
                                      .name = task->text,
                                      .owner = task->text + size,
                                      .deadline_ms = clock_now_ms() + 1000,
                                      .held = {-1, -1}};
        STAILQ_INSERT_TAIL(&folder->tasks, task, entry);
        if (STAILQ_FIRST(&folder->tasks) == task)
            file_backend_start(folder);
    }
}

static void file_backend_take_event(struct folder *folder, const struct inotify_event *event) {
    char name[NAME_MAX_BYTES + 1];
    const char *ending = event->len > 0 ? strrchr(event->name, '.') : NULL;

    if (event->mask & (IN_Q_OVERFLOW | IN_IGNORED)) {
        folder->is_watched = false; /* the next command makes a new watch */
        folder->config.push(folder->config.data, LK_PUSH_FREE, NULL, NULL, NULL);
    } else if (ending != NULL && (strcmp(ending, ".lock") == 0 || strcmp(ending, ".held") == 0) &&
               file_name_decode(name, sizeof name, event->name)) {
        if (folder->kind == &file_mkdir)
            look_after(folder, name);
        folder->config.push(folder->config.data, LK_PUSH_FREE, name, NULL, NULL);
    }
}

static void file_backend_on_events(uv_poll_t *poll, int status, int events) {
    struct folder *folder = poll->data;
    union {
        struct inotify_event first; /* for the alignment */
        char bytes[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
    } buffer;
    ssize_t length = read(folder->events, buffer.bytes, sizeof buffer.bytes);

    (void)status;
    (void)events;
    for (ssize_t at = 0; at < length;) {
        struct inotify_event *event = (struct inotify_event *)(void *)(buffer.bytes + at);

        at += (ssize_t)(sizeof *event + event->len);
        file_backend_take_event(folder, event);
    }
}

/* Fails while the folder is missing: the first command makes it. */
static void watch(struct folder *folder) {
    if (!folder->is_watched)
        folder->is_watched =
            inotify_add_watch(folder->events, folder->path,
                              IN_CLOSE_WRITE | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR) >= 0;
}

/* ---- The backend */

static void file_backend_start(struct folder *folder) {
    struct task *task = STAILQ_FIRST(&folder->tasks);
    const struct owner *owner;

    if (task == NULL)
        return;
    watch(folder);
    owner = file_backend_find(folder, task->job.owner);
    if (owner != NULL)
        task->job.held = owner->held;
    folder->work.data = folder;
    (void)uv_queue_work(folder->config.loop, &folder->work, file_backend_on_thread,
                        file_backend_on_done);
}

static void file_backend_run(struct lk_backend *backend, struct lk_command *command) {
    struct folder *folder = (struct folder *)backend;
    struct task *task = command->internal;

    assert(command->on_answer != NULL && strlen(command->name) <= NAME_MAX_BYTES);
    assert(command->owner != NULL || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    assert(!folder->is_closing);
    task->command = command;
    task->job = (struct file_job){.verb = command->verb,
                                  .root = folder->path,
                                  .name = command->name,
                                  .owner = command->owner,
                                  .label = folder->config.label,
                                  .fence_above = command->fence_above,
                                  .handover = command->handover,
                                  .deadline_ms = clock_now_ms() + command->reply_ms,
                                  .held = {-1, -1}};
    command->remaining_ms = -1;
    command->round_trips = 1; /* to the disk */
    if (command->verb == LK_ACQUIRE && file_backend_find(folder, command->owner) == NULL) {
        task->owner = owner_new(folder, command->owner, command->name);
        task->status = task->owner != NULL ? LK_OK : LK_NOMEM;
    }
    STAILQ_INSERT_TAIL(&folder->tasks, task, entry);
    if (STAILQ_FIRST(&folder->tasks) == task)
        file_backend_start(folder);
}

static bool file_backend_parse(struct folder *folder, const char *url) {
    const char *path = url + strlen(SCHEME), *query = strchr(path, '?');
    size_t length = query != NULL ? (size_t)(query - path) : strlen(path);

    if (strncmp(path, "///", 3) == 0)
        path += 2, length -= 2;
    if (path[0] != '/' || path[1] == '/' || length >= sizeof folder->path)
        return false;
    memcpy(folder->path, path, length);
    folder->kind = query == NULL || strcmp(query, "?kind=flock") == 0 ? &file_flock
                   : strcmp(query, "?kind=mkdir") == 0                ? &file_mkdir
                                                                      : NULL;
    return folder->kind != NULL;
}

static enum lk_status file_backend_open_file(struct lk_backend **backend,
                                             const struct lk_backend_config *config) {
    struct folder *folder = calloc(1, sizeof *folder);

    if (folder == NULL)
        return LK_NOMEM;
    if (!file_backend_parse(folder, config->url)) {
        free(folder);
        return LK_INVALID;
    }
    folder->base.ops = &backend_file;
    folder->base.acquires_most = ACQUIRES_MOST;
    folder->config = *config;
    LIST_INIT(&folder->owners);
    STAILQ_INIT(&folder->tasks);
    folder->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (folder->events < 0 || uv_poll_init(config->loop, &folder->poll, folder->events) != 0) {
        if (folder->events >= 0)
            (void)close(folder->events);
        free(folder);
        return LK_UNAVAILABLE;
    }
    folder->poll.data = folder;
    (void)uv_poll_start(&folder->poll, UV_READABLE, file_backend_on_events);
    *backend = &folder->base;
    return LK_OK;
}

static void on_poll_closed(uv_handle_t *handle) {
    struct folder *folder = handle->data;
    struct owner *owner;

    assert(folder->is_closing && STAILQ_EMPTY(&folder->tasks));
    while ((owner = LIST_FIRST(&folder->owners)) != NULL) {
        LIST_REMOVE(owner, entry);
        if (owner->held.lock >= 0) {
            (void)close(owner->held.lock);
            (void)close(owner->held.record);
        }
        owner_forget(folder, owner);
    }
    (void)close(folder->events);
    backend_end(&folder->base);
}

static void file_backend_maybe_closed(struct folder *folder) {
    if (folder->is_closing && STAILQ_EMPTY(&folder->tasks) &&
        !uv_is_closing((uv_handle_t *)&folder->poll))
        uv_close((uv_handle_t *)&folder->poll, on_poll_closed);
}

static void close_file(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct folder *folder = (struct folder *)backend;

    folder->is_closing = true;
    backend->on_closed = cb;
    backend->data = data;
    (void)uv_poll_stop(&folder->poll);
    file_backend_maybe_closed(folder);
}

static unsigned file_backend_caps_of(const struct lk_backend *backend) {
    return ((const struct folder *)backend)->kind->caps;
}

const struct lk_backend_ops backend_file = {
    .scheme = SCHEME,
    .command_size = sizeof(struct task),
    .open = file_backend_open_file,
    .close = close_file,
    .run = file_backend_run,
    .caps_of = file_backend_caps_of,
};
