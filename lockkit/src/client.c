/* A client: opens a backend, runs what is due, and closes when nothing is left. */
#include "client.h"
#include "lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000

const char *lk_status_text(enum lk_status status) {
    static const char *const texts[] = {
#define X(name, text) text,
        LK_STATUSES(X)
#undef X
    };

    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

int64_t client_now_ns(const struct lk_client *client) {
    struct timespec now;

    if (client->clock_ns)
        return (int64_t)client->clock_ns(client->clock_data);
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

int64_t client_moment_ns(const struct lk_client *client, uint32_t ms) {
    return client_now_ns(client) + (int64_t)ms * NS_PER_MS;
}

/* splitmix64, Steele, Lea and Flood 2014 */
uint32_t client_jitter_ms(struct lk_client *client, uint32_t ms) {
    uint64_t z = client->random += 0x9e3779b97f4a7c15U;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    if (ms < 2)
        return 1;
    return ms / 2 + (uint32_t)(z % (ms - ms / 2 + 1));
}

static void attempt_due(struct lk_client *client) {
    struct queue_list due = TAILQ_HEAD_INITIALIZER(due);
    struct lk_queue *queue;

    TAILQ_CONCAT(&due, &client->due, entry);
    while ((queue = TAILQ_FIRST(&due))) {
        TAILQ_REMOVE(&due, queue, entry);
        queue->is_due = false;
        queue_attempt(queue);
        queue_unref(queue);
    }
}

static void tell_ended(struct lk_client *client) {
    struct lease_list ended = TAILQ_HEAD_INITIALIZER(ended);
    struct lk_lease *lease;

    TAILQ_CONCAT(&ended, &client->ended, in_ended);
    while ((lease = TAILQ_FIRST(&ended))) {
        TAILQ_REMOVE(&ended, lease, in_ended);
        lease_tell_outcome(lease);
    }
}

static void on_idle(uv_idle_t *idle) {
    struct lk_client *client = idle->data;

    (void)uv_idle_stop(idle);
    attempt_due(client);
    tell_ended(client);
}

void client_run_soon(struct lk_client *client) {
    (void)uv_idle_start(&client->idle, on_idle);
}

static void init(struct lk_client *client, uv_loop_t *loop) {
    char host[200] = "?";

    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(client->label, sizeof client->label, "%s:%d", host, (int)getpid());
    client->loop = loop;
    client->reply_ms = 500;
    client->cleanup_ms = 10000;
    client->random = (uint64_t)client_now_ns(client);
    TAILQ_INIT(&client->due);
    TAILQ_INIT(&client->ended);
    TAILQ_INIT(&client->idle_queues);
    TAILQ_INIT(&client->locks);
    TAILQ_INIT(&client->leases);
}

/* 0, or -1 for a struct of a size that was never ours. */
static int configure(struct lk_client *client, const struct lk_client_options *given) {
    struct lk_client_options options = {0};

    if (!given)
        return 0;
    if (given->size < sizeof given->size || given->size > sizeof options)
        return -1;
    memcpy(&options, given, given->size);
    if (options.label)
        (void)snprintf(client->label, sizeof client->label, "%s", options.label);
    if (options.reply_ms)
        client->reply_ms = options.reply_ms;
    if (options.cleanup_ms)
        client->cleanup_ms = options.cleanup_ms;
    client->clock_ns = options.clock_ns;
    client->clock_data = options.clock_data;
    return 0;
}

enum lk_status lk_client_open(lk_client **out, uv_loop_t *loop, const char *url,
                              const struct lk_client_options *options) {
    const struct lk_backend_ops *ops = backend_find(url);
    struct lk_backend_config config = {.loop = loop, .url = url};
    struct lk_client *client;
    enum lk_status status = LK_INVALID;

    *out = NULL;
    if (!ops)
        return LK_INVALID;
    client = calloc(1, sizeof *client);
    if (!client)
        return LK_NOMEM;
    init(client, loop);
    if (configure(client, options) != 0)
        goto err_after_client;
    config.label = client->label;
    status = ops->open(&client->backend, &config);
    if (status != LK_OK)
        goto err_after_client;
    (void)uv_idle_init(loop, &client->idle);
    client->idle.data = client;
    *out = client;
    return LK_OK;

err_after_client:
    free(client);
    return status;
}

static void part_torn_down(struct lk_client *client) {
    lk_close_cb cb = client->on_closed;
    void *data = client->close_data;

    if (--client->tearing_down > 0)
        return;
    free(client);
    if (cb)
        cb(data);
}

static void on_idle_closed(uv_handle_t *handle) {
    part_torn_down(handle->data);
}

static void on_backend_closed(void *data) {
    part_torn_down(data);
}

static void maybe_tear_down(struct lk_client *client) {
    if (!client->is_closing || client->is_torn_down || client->parts > 0)
        return;
    client->is_torn_down = true;
    client->tearing_down = 2;
    uv_close((uv_handle_t *)&client->idle, on_idle_closed);
    client->backend->ops->close(client->backend, on_backend_closed, client);
}

void client_part_gone(struct lk_client *client) {
    client->parts--;
    maybe_tear_down(client);
}

/* A lease that the caller has, or could still be given. */
static void close_lease(struct lk_lease *lease) {
    switch (lease->phase) {
    case LEASE_QUEUED:
    case LEASE_TRYING:
        lease_end_request(lease, LK_CANCELED);
        break;
    case LEASE_HELD:
        if (lease->is_outcome_due) {
            lease->outcome = LK_CANCELED;
            lease->client->counters.late_grants++;
        }
        lease->on_state = NULL;
        lease_release(lease);
        break;
    case LEASE_RELEASING:
        lease_hurry_release(lease);
        break;
    case LEASE_ORPHANED:
    case LEASE_ENDED:
        break;
    }
}

void lk_client_close(lk_client *client, lk_close_cb cb, void *data) {
    struct lk_lock *lock;
    struct lk_lease *lease;
    struct lk_queue *queue;

    if (client->is_closing)
        return;
    client->is_closing = true;
    client->on_closed = cb;
    client->close_data = data;
    TAILQ_FOREACH (lease, &client->leases, in_client)
        close_lease(lease);
    while ((lock = TAILQ_FIRST(&client->locks)))
        lk_lock_close(lock);
    while ((queue = TAILQ_FIRST(&client->idle_queues)))
        queue_discard(queue);
    maybe_tear_down(client);
}

unsigned lk_client_caps(const lk_client *client) {
    return client->backend->ops->caps;
}

void lk_client_counters(const lk_client *client, struct lk_counters *counters) {
    *counters = client->counters;
}
