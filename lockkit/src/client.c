/* A client: it opens a backend, runs due tasks, and goes when nothing is left of it. */
#include "client.h"
#include "clock.h"
#include "fork.h"
#include "log.h"
#include "number.h"
#include "parameter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_LEAST 16 /* ACQUIREs at a time, however slow the answers are */

/* Every backend; NULL where this build lacks it. */
#define BUILT(room, ops) (LOCKKIT_WITH_##room ? &(ops) : NULL)
static const struct {
    const char *scheme;
    const struct lk_backend_ops *ops;
} backends[] = {
    {"local:", &backend_local},
    {"etcd://", BUILT(etcd, backend_etcd)},
    {"file:", BUILT(file, backend_file)},
    {"redis://", BUILT(redis, backend_redis)},
    {"rediss://", BUILT(redis, backend_redis)},
    {"redis+unix://", BUILT(redis, backend_redis)},
    {"unix://", BUILT(redis, backend_redis)},
    {"redis+cluster://", BUILT(redis_cluster, backend_redis_cluster)},
    {"redlock:", BUILT(redlock, backend_redlock)},
    {"postgres://", BUILT(postgres, backend_postgres)},
    {"postgresql://", BUILT(postgres, backend_postgres)},
    {"redis+string:", BUILT(redis_wire, backend_redis_string)},
    {"redis+redisson:", BUILT(redis_wire, backend_redis_redisson)},
    {"zookeeper://", BUILT(zookeeper, backend_zookeeper)},
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

bool client_is_inherited(const struct lk_client *client) {
    return client->fork_depth != fork_depth();
}

int64_t client_now_ns(const struct lk_client *client) {
    return client->clock_ns != NULL ? (int64_t)client->clock_ns(client->clock_data)
                                    : clock_ns(CLOCK_BOOTTIME);
}

int64_t client_moment_ns(const struct lk_client *client, uint32_t ms) {
    return client_now_ns(client) + (int64_t)ms * NS_PER_MS;
}

int64_t validity_until(int64_t sent_ns, uint32_t ttl_ms) {
    int64_t drift_ms = ttl_ms / 100 + 2;

    if (drift_ms >= ttl_ms)
        return VALIDITY_NONE;
    return sent_ns + ((int64_t)ttl_ms - drift_ms) * NS_PER_MS;
}

enum lk_state validity_state(int64_t until_ns, uint32_t suspect_ms, int64_t now_ns) {
    if (until_ns == VALIDITY_FOREVER)
        return LK_HELD;
    if (until_ns <= now_ns)
        return LK_LOST_STATE;
    return until_ns - now_ns < (int64_t)suspect_ms * NS_PER_MS ? LK_SUSPECT : LK_HELD;
}

int64_t validity_left_ms(int64_t until_ns, int64_t now_ns) {
    if (until_ns == VALIDITY_FOREVER)
        return INT64_MAX;
    return until_ns <= now_ns ? 0 : (until_ns - now_ns) / NS_PER_MS;
}

uint32_t client_jitter_ms(struct lk_client *client, uint32_t ms) {
    return ms < 2 ? 1 : ms / 2 + (uint32_t)nrand48(client->random) % (ms - ms / 2 + 1);
}

/* Run the tasks that are due now. A task that becomes due meanwhile waits for the next turn. */
static void run_tasks(struct task_list *tasks) {
    struct task_list due = TAILQ_HEAD_INITIALIZER(due);
    struct client_task *task;

    TAILQ_CONCAT(&due, tasks, entry);
    while ((task = TAILQ_FIRST(&due)) != NULL) {
        TAILQ_REMOVE(&due, task, entry);
        task->run(task->data);
    }
}

static bool client_has_room(const struct lk_client *client) {
    return client->backend->acquires_most == 0 || client->acquires_out < client->acquires_room;
}

static bool run_first(struct task_list *tasks) {
    struct client_task *task = TAILQ_FIRST(tasks);

    if (task == NULL)
        return false;
    TAILQ_REMOVE(tasks, task, entry);
    task->run(task->data);
    return true;
}

/* Run the attempts that are due now, as far as there is room. Where both kinds wait they take
 * turns, so that no crowd in line keeps new waiters from the server. */
static void run_attempts(struct lk_client *client) {
    struct task_list urgent = TAILQ_HEAD_INITIALIZER(urgent);
    struct task_list due = TAILQ_HEAD_INITIALIZER(due);
    bool has_more = true;

    TAILQ_CONCAT(&urgent, &client->urgent_attempts, entry);
    TAILQ_CONCAT(&due, &client->attempts, entry);
    while (has_more && client_has_room(client)) {
        has_more = run_first(&urgent);
        if (client_has_room(client))
            has_more |= run_first(&due);
    }
    TAILQ_CONCAT(&urgent, &client->urgent_attempts, entry);
    TAILQ_CONCAT(&due, &client->attempts, entry);
    TAILQ_CONCAT(&client->urgent_attempts, &urgent, entry);
    TAILQ_CONCAT(&client->attempts, &due, entry);
}

static void client_on_idle(uv_idle_t *idle) {
    struct lk_client *client = idle->data;

    (void)uv_idle_stop(idle);
    run_attempts(client);
    run_tasks(&client->outcomes);
}

void client_acquire_begun(struct lk_client *client) {
    client->acquires_out++;
}

static void adapt_room(struct lk_client *client, int64_t sent_ns, bool is_timely) {
    const struct lk_backend *backend = client->backend;
    const unsigned most = backend->acquires_most;
    const unsigned least = backend->acquires_least > 0 ? backend->acquires_least : ROOM_LEAST;

    if (is_timely && client->acquires_room < most) {
        client->acquires_room++;
    } else if (!is_timely && sent_ns >= client->narrowed_ns) {
        /* Answers to attempts from before say nothing about the narrower room. */
        client->acquires_room =
            (unsigned)number_min(number_max(client->acquires_room / 2, least), most);
        client->narrowed_ns = client_now_ns(client);
    }
}

void client_acquire_answered(struct lk_client *client, int64_t sent_ns, const bool *is_timely) {
    const bool is_waited_for =
        !TAILQ_EMPTY(&client->attempts) || !TAILQ_EMPTY(&client->urgent_attempts);

    assert(client->acquires_out > 0);
    client->acquires_out--;
    if (is_timely != NULL && (!*is_timely || is_waited_for))
        adapt_room(client, sent_ns, *is_timely);
    if (is_waited_for)
        (void)uv_idle_start(&client->idle, client_on_idle);
}

void client_run_soon(struct lk_client *client, struct task_list *tasks, struct client_task *task,
                     void (*run)(void *data), void *data) {
    assert(client->tearing_down == 0);
    task->run = run;
    task->data = data;
    TAILQ_INSERT_TAIL(tasks, task, entry);
    (void)uv_idle_start(&client->idle, client_on_idle);
}

/* ---- Opening */

/* False for options with a size that no version of lockkit had. */
static bool client_init(struct lk_client *client, uv_loop_t *loop,
                        const struct lk_client_options *given) {
    struct lk_client_options options = {0};
    const int64_t now_ns = client_now_ns(client);
    char host[200] = "?";

    if (given != NULL && (given->size < sizeof given->size || given->size > sizeof options))
        return false;
    if (given != NULL)
        memcpy(&options, given, given->size);
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(client->label, sizeof client->label, "%s:%d", host, (int)getpid());
    if (options.label != NULL)
        (void)snprintf(client->label, sizeof client->label, "%s", options.label);
    memcpy(client->random, &now_ns, sizeof client->random);
    client->fork_depth = fork_depth();
    client->loop = loop;
    client->parts = 1;
    client->reply_ms = options.reply_ms ? options.reply_ms : 500;
    client->cleanup_ms = options.cleanup_ms ? options.cleanup_ms : 10000;
    client->clock_ns = options.clock_ns;
    client->clock_data = options.clock_data;
    TAILQ_INIT(&client->urgent_attempts);
    TAILQ_INIT(&client->attempts);
    TAILQ_INIT(&client->outcomes);
    TAILQ_INIT(&client->locks);
    TAILQ_INIT(&client->leases);
    return true;
}

/* Find the backend by the scheme of the URL. */
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
    if (!client_init(client, loop, options))
        goto err_after_client;
    status = open_backend(client, ops, url);
    if (status != LK_OK)
        goto err_after_client;
    assert(client->backend->ops == ops);
    client->acquires_room = client->backend->acquires_most;
    client->caps = ops->caps_of != NULL ? ops->caps_of(client->backend) : ops->caps;
    (void)uv_idle_init(loop, &client->idle);
    client->idle.data = client;
    *out = client;
    return LK_OK;

err_after_client:
    free(client);
    return status;
}

/* ---- Closing, when the last queue has gone */

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

void client_part_gone(struct lk_client *client) {
    assert(client->parts > 0);
    if (--client->parts > 0)
        return;
    assert(!client->queues && TAILQ_EMPTY(&client->leases) && TAILQ_EMPTY(&client->locks));
    assert(TAILQ_EMPTY(&client->attempts) && TAILQ_EMPTY(&client->outcomes));
    client->tearing_down = 2;
    uv_close((uv_handle_t *)&client->idle, client_on_idle_closed);
    client->backend->ops->close(client->backend, part_torn_down, client);
}

/* ---- For programs to read */

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

/* Events for the operator go to the program's callback, or nowhere. */
static lk_log_cb told;

_Static_assert((int)LOG_DEBUG == (int)LK_LOG_DEBUG && (int)LOG_INFO == (int)LK_LOG_INFO &&
                   (int)LOG_WARN == (int)LK_LOG_WARN && (int)LOG_ERROR == (int)LK_LOG_ERROR,
               "a level of the log has the number that programs know");

static void on_event(enum log_level level, const char *message, const char *pairs, void *data) {
    told((enum lk_log_level)level, message, pairs, data);
}

void lk_set_log(lk_log_cb cb, void *data) {
    told = cb;
    log_set_sink(cb != NULL ? on_event : NULL, data);
}
