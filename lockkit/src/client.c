/* A client: it opens a backend, runs what is due, and goes when nothing is left of it. */
#include "client.h"
#include "clock.h"
#ifdef LOCKKIT_WITH_file
#include "file.h"
#endif
#include "local.h"
#include "log.h"
#include "parameter.h"
#ifdef LOCKKIT_WITH_postgres
#include "postgres_backend.h"
#endif
#include "validity.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORGET_PART 16 /* a slow answer of 100 ms is forgotten after 1.6 s */

/* Every backend, with what this build has of it: NULL for one that was left out. */
static const struct {
    const char *scheme;
    const struct lk_backend_ops *ops;
} backends[] = {
    {"local:", &backend_local},
#ifdef LOCKKIT_WITH_etcd
    {"etcd://", &backend_etcd},
#else
    {"etcd://", NULL},
#endif
#ifdef LOCKKIT_WITH_file
    {"file:", &backend_file},
#else
    {"file:", NULL},
#endif
#ifdef LOCKKIT_WITH_redis
    {"redis://", &backend_redis},
    {"rediss://", &backend_redis},
    {"redis+unix://", &backend_redis},
    {"unix://", &backend_redis},
#else
    {"redis://", NULL},
#endif
#ifdef LOCKKIT_WITH_redis_cluster
    {"redis+cluster://", &backend_redis_cluster},
#else
    {"redis+cluster://", NULL},
#endif
#ifdef LOCKKIT_WITH_redlock
    {"redlock:", &backend_redlock},
#else
    {"redlock:", NULL},
#endif
#ifdef LOCKKIT_WITH_postgres
    {"postgres://", &backend_postgres},
    {"postgresql://", &backend_postgres},
#else
    {"postgres://", NULL},
    {"postgresql://", NULL},
#endif
#ifdef LOCKKIT_WITH_redis_wire
    {"redis+string:", &backend_redis_string},
    {"redis+redisson:", &backend_redis_redisson},
#else
    {"redis+string:", NULL},
    {"redis+redisson:", NULL},
#endif
#ifdef LOCKKIT_WITH_zookeeper
    {"zookeeper://", &backend_zookeeper},
#else
    {"zookeeper://", NULL},
#endif
};

const char *lk_version(void) {
    return LK_VERSION;
}

const char *lk_status_text(enum lk_status status) {
    static const char *const texts[] = {
#define X(name, text) text,
        LK_STATUSES(X)
#undef X
    };

    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

int64_t client_now_ns(const struct lk_client *client) {
    return client->clock_ns != NULL ? (int64_t)client->clock_ns(client->clock_data)
                                    : clock_ns(CLOCK_BOOTTIME);
}

int64_t client_moment_ns(const struct lk_client *client, uint32_t ms) {
    return client_now_ns(client) + (int64_t)ms * NS_PER_MS;
}

int64_t client_answer_ns(const struct lk_client *client) {
    const int64_t ns = client->slow_ns - (client_now_ns(client) - client->slow_at_ns) / FORGET_PART;

    return ns > 0 ? ns : 0;
}

void client_saw_answer(struct lk_client *client, int64_t sent_ns) {
    const int64_t now_ns = client_now_ns(client);
    const int64_t most_ns = (int64_t)client->reply_ms * NS_PER_MS; /* the machine may have slept */
    const int64_t took_ns = now_ns - sent_ns < most_ns ? now_ns - sent_ns : most_ns;

    if (took_ns < client_answer_ns(client))
        return;
    client->slow_ns = took_ns;
    client->slow_at_ns = now_ns;
}

uint32_t client_jitter_ms(struct lk_client *client, uint32_t ms) {
    return ms < 2 ? 1 : ms / 2 + (uint32_t)nrand48(client->random) % (ms - ms / 2 + 1);
}

/* Those that are due now: what becomes due meanwhile waits for the next turn. */
static void run_tasks(struct task_list *tasks) {
    struct task_list due = TAILQ_HEAD_INITIALIZER(due);
    struct client_task *task;

    TAILQ_CONCAT(&due, tasks, entry);
    while ((task = TAILQ_FIRST(&due)) != NULL) {
        TAILQ_REMOVE(&due, task, entry);
        task->run(task->data);
    }
}

static void client_on_idle(uv_idle_t *idle) {
    struct lk_client *client = idle->data;

    (void)uv_idle_stop(idle);
    run_tasks(&client->attempts);
    run_tasks(&client->outcomes);
}

void client_run_soon(struct lk_client *client, struct task_list *tasks, struct client_task *task) {
    assert(client->tearing_down == 0 && task->run);
    TAILQ_INSERT_TAIL(tasks, task, entry);
    (void)uv_idle_start(&client->idle, client_on_idle);
}

/* ---- Opening */

/* 0, or -1 for options of a size that was never ours. */
static int client_init(struct lk_client *client, uv_loop_t *loop,
                       const struct lk_client_options *given) {
    struct lk_client_options options = {0};
    const int64_t now_ns = client_now_ns(client);
    char host[200] = "?";

    if (given != NULL && (given->size < sizeof given->size || given->size > sizeof options))
        return -1;
    if (given != NULL)
        memcpy(&options, given, given->size);
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(client->label, sizeof client->label, "%s:%d", host, (int)getpid());
    if (options.label != NULL)
        (void)snprintf(client->label, sizeof client->label, "%s", options.label);
    memcpy(client->random, &now_ns, sizeof client->random);
    client->loop = loop;
    client->reply_ms = options.reply_ms ? options.reply_ms : 500;
    client->cleanup_ms = options.cleanup_ms ? options.cleanup_ms : 10000;
    client->clock_ns = options.clock_ns;
    client->clock_data = options.clock_data;
    TAILQ_INIT(&client->attempts);
    TAILQ_INIT(&client->outcomes);
    TAILQ_INIT(&client->locks);
    TAILQ_INIT(&client->leases);
    return 0;
}

/* By the URL's scheme. */
static enum lk_status find_backend(const struct lk_backend_ops **ops, const char *url) {
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (strncmp(url, backends[i].scheme, strlen(backends[i].scheme)) == 0) {
            *ops = backends[i].ops;
            return *ops ? LK_OK : LK_UNSUPPORTED;
        }
    }
    return LK_INVALID;
}

static enum lk_status open_backend(struct lk_client *client, const struct lk_backend_ops *ops,
                                   const char *url) {
    char *rest = strdup(url);
    const struct lk_backend_config config = {.loop = client->loop,
                                             .url = rest,
                                             .label = client->label,
                                             .push = client_push,
                                             .data = client};
    enum lk_status status = rest != NULL ? LK_OK : LK_NOMEM;

    if (rest != NULL && !parameter_take_number(rest, "handover", HANDOVER_MOST, &client->handover))
        status = LK_INVALID;
    if (status == LK_OK)
        status = ops->open(&client->backend, &config);
    free(rest);
    return status;
}

enum lk_status lk_client_open(lk_client **out, uv_loop_t *loop, const char *url,
                              const struct lk_client_options *options) {
    const struct lk_backend_ops *ops;
    struct lk_client *client;
    enum lk_status status = find_backend(&ops, url);

    *out = NULL;
    if (status != LK_OK)
        return status;
    client = calloc(1, sizeof *client);
    if (client == NULL)
        return LK_NOMEM;
    status = LK_INVALID;
    if (client_init(client, loop, options) != 0)
        goto err_after_client;
    status = open_backend(client, ops, url);
    if (status != LK_OK)
        goto err_after_client;
    assert(client->backend->ops == ops);
    client->caps = ops->caps_of != NULL ? ops->caps_of(client->backend) : ops->caps;
    (void)uv_idle_init(loop, &client->idle);
    client->idle.data = client;
    *out = client;
    return LK_OK;

err_after_client:
    free(client);
    return status;
}

/* ---- Its end, when the last queue has gone */

static void part_torn_down(void *data) {
    struct lk_client *client = data;
    lk_close_cb cb = client->on_closed;
    void *cb_data = client->close_data;

    assert(client->tearing_down > 0);
    if (--client->tearing_down > 0)
        return;
    free(client);
    if (cb != NULL)
        cb(cb_data);
}

static void client_on_idle_closed(uv_handle_t *handle) {
    part_torn_down(handle->data);
}

void client_maybe_closed(struct lk_client *client) {
    if (!client->is_closing || client->tearing_down > 0 || client->queue_count > 0)
        return;
    assert(!client->queues && TAILQ_EMPTY(&client->leases) && TAILQ_EMPTY(&client->locks));
    assert(TAILQ_EMPTY(&client->attempts) && TAILQ_EMPTY(&client->outcomes));
    client->tearing_down = 2;
    uv_close((uv_handle_t *)&client->idle, client_on_idle_closed);
    client->backend->ops->close(client->backend, part_torn_down, client);
}

void client_queue_gone(struct lk_client *client) {
    assert(client->queue_count > 0);
    client->queue_count--;
    client_maybe_closed(client);
}

/* ---- What it tells */

uv_loop_t *lk_client_loop(const lk_client *client) {
    return client->loop;
}

unsigned lk_client_caps(const lk_client *client) {
    return client->caps;
}

void lk_client_counters(const lk_client *client, struct lk_counters *counters) {
    const size_t size = counters->size;

    assert(size >= sizeof size && size <= sizeof client->counters);
    memcpy(counters, &client->counters, size);
    counters->size = size;
}

/* What lockkit tells a person goes to the program's callback, or nowhere. */
static lk_log_cb told;

static enum lk_log_level level_of(enum log_level level) {
    switch (level) {
    case LOG_DEBUG:
        return LK_LOG_DEBUG;
    case LOG_INFO:
        return LK_LOG_INFO;
    case LOG_WARN:
        return LK_LOG_WARN;
    case LOG_ERROR:
        return LK_LOG_ERROR;
    }
    return LK_LOG_ERROR;
}

static void on_event(enum log_level level, const char *message, const char *pairs, void *data) {
    told(level_of(level), message, pairs, data);
}

void lk_set_log(lk_log_cb cb, void *data) {
    told = cb;
    log_set_sink(cb != NULL ? on_event : NULL, data);
}
