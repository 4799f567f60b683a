/* A client: it opens a backend, runs what is due, and goes when nothing is left of it. */
#include "clock.h"
#include "lease.h"
#include "log.h"
#include "parameter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TTL_MIN_MS 10
#define TTL_MAX_MS 86400000

/* Every backend; NULL for one that this build lacks. */
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

int64_t client_now_ns(const struct lk_client *client) {
    return client->clock_ns != NULL ? (int64_t)client->clock_ns(client->clock_data)
                                    : clock_ns(CLOCK_BOOTTIME);
}

int64_t client_moment_ns(const struct lk_client *client, uint32_t ms) {
    return client_now_ns(client) + (int64_t)ms * NS_PER_MS;
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

void client_run_soon(struct lk_client *client, struct task_list *tasks, struct client_task *task,
                     void (*run)(void *data), void *data) {
    assert(client->tearing_down == 0);
    task->run = run;
    task->data = data;
    TAILQ_INSERT_TAIL(tasks, task, entry);
    (void)uv_idle_start(&client->idle, client_on_idle);
}

/* ---- Opening */

/* Into `options`, zeroed, what was given, which begins with its size, or is NULL. False for a size
 * that was never ours. */
static bool take_options(void *options, size_t most, const void *given) {
    const size_t *size = given;

    if (given == NULL)
        return true;
    if (*size < sizeof *size || *size > most)
        return false;
    memcpy(options, given, *size);
    return true;
}

static bool client_init(struct lk_client *client, uv_loop_t *loop,
                        const struct lk_client_options *given) {
    struct lk_client_options options = {0};
    const int64_t now_ns = client_now_ns(client);
    char host[200] = "?";

    if (!take_options(&options, sizeof options, given))
        return false;
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
    return true;
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
    if (!client_init(client, loop, options))
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

/* Tear it down, when it is closing and no queue is left. */
static void client_maybe_closed(struct lk_client *client) {
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

/* ---- Locks */

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

    if (!take_options(&options, sizeof options, given))
        return LK_INVALID;
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

/* ---- Who holds a lock, and taking it away: one command, of no lease */

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

/* ---- What the backend says by itself */

/* Leases are freed in a later turn of the loop, so none goes from the list here, whatever the
 * callbacks do. */
static void client_doubt(struct lk_client *client, const char *name, const char *owner,
                         enum lk_state state, const char *why) {
    struct lk_lease *lease;

    TAILQ_FOREACH (lease, &client->leases, entry) {
        if ((owner != NULL && strcmp(lease->owner, owner) != 0) ||
            (name != NULL && strcmp(lease->queue->name, name) != 0))
            continue;
        if (lease->phase == LEASE_HELD)
            lease_doubt(lease, state, why);
        else if ((lease->phase == LEASE_TRYING || lease->phase == LEASE_ORPHANED) &&
                 state == LK_LOST_STATE)
            lease->is_lost_early = true;
    }
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

/* ---- Closing: every part is told to end, and the last queue to go tears the client down */

void lk_client_close(lk_client *client, lk_close_cb cb, void *data) {
    struct lk_lock *lock;
    struct lk_lease *lease;

    if (client->is_closing)
        return;
    client->is_closing = true;
    client->on_closed = cb;
    client->close_data = data;
    TAILQ_FOREACH (lease, &client->leases, entry)
        lease_close(lease);
    while ((lock = TAILQ_FIRST(&client->locks)) != NULL)
        lk_lock_close(lock);
    client_maybe_closed(client);
}
