/* The local waiters of one name. */
#include "queue.h"
#include "lease.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* How long a name that nobody refers to keeps its subscription, so that a caller who opens a lock
 * for each acquisition does not subscribe each time. */
#define IDLE_MS       5000

#define ROW_MOST      16
#define ROW_LIMIT     256
#define STAND_BACK_MS 25 /* enough for an event and an attempt in answer to it */

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct lk_queue *queue_new(struct lk_client *client, const char *name) {
    size_t size = strlen(name) + 1;
    struct lk_queue *queue = calloc(1, sizeof *queue + size);

    if (!queue)
        return NULL;
    memcpy(queue->name_copy, name, size);
    queue->name = queue->name_copy;
    queue->client = client;
    queue->in_row_most = ROW_MOST;
    TAILQ_INIT(&queue->waiters);
    if (!tsearch(queue, &client->queues, compare)) {
        free(queue);
        return NULL;
    }
    (void)uv_timer_init(client->loop, &queue->poll);
    queue->poll.data = queue;
    TAILQ_INSERT_TAIL(&client->idle_queues, queue, entry);
    client->parts++;
    return queue;
}

struct lk_queue *queue_ref(struct lk_client *client, const char *name) {
    struct lk_queue **found = tfind(&name, &client->queues, compare);
    struct lk_queue *queue = found ? *found : queue_new(client, name);

    if (queue && queue->refs++ == 0) {
        TAILQ_REMOVE(&client->idle_queues, queue, entry);
        (void)uv_timer_stop(&queue->poll);
    }
    return queue;
}

static void on_queue_closed(uv_handle_t *handle) {
    struct lk_queue *queue = handle->data;
    struct lk_client *client = queue->client;

    free(queue);
    client_part_gone(client);
}

void queue_discard(struct lk_queue *queue) {
    struct lk_backend *backend = queue->client->backend;

    TAILQ_REMOVE(&queue->client->idle_queues, queue, entry);
    if (queue->watch)
        backend->ops->unwatch(backend, queue->watch);
    tdelete(queue, &queue->client->queues, compare);
    uv_close((uv_handle_t *)&queue->poll, on_queue_closed);
}

static void on_idle_for_long(uv_timer_t *timer) {
    queue_discard(timer->data);
}

void queue_unref(struct lk_queue *queue) {
    if (--queue->refs > 0)
        return;
    TAILQ_INSERT_TAIL(&queue->client->idle_queues, queue, entry);
    if (queue->watch && !queue->client->is_closing)
        (void)uv_timer_start(&queue->poll, on_idle_for_long, IDLE_MS, 0);
    else
        queue_discard(queue);
}

/* Attempt in the next turn of the loop. What has come meanwhile needs no attempt of its own. */
static void set_due(struct lk_queue *queue, enum queue_reason reason) {
    if (queue->is_due)
        return;
    queue->is_due = true;
    queue->reason = reason;
    queue->refs++;
    TAILQ_INSERT_TAIL(&queue->client->due, queue, entry);
    client_run_soon(queue->client);
}

static void on_poll(uv_timer_t *timer) {
    set_due(timer->data, QUEUE_POLL);
}

static uint64_t left_to_stand_back_ms(const struct lk_queue *queue) {
    uint64_t now_ms = uv_now(queue->client->loop);

    return queue->stand_back_until_ms > now_ms ? queue->stand_back_until_ms - now_ms : 0;
}

/* Let the head attempt soon: at once, or when it has stood back, if it has the time for both. */
static void set_soon(struct lk_queue *queue, enum queue_reason reason) {
    const struct lk_lease *head = TAILQ_FIRST(&queue->waiters);
    uint64_t pause_ms = left_to_stand_back_ms(queue);
    bool is_short = uv_is_active((const uv_handle_t *)&head->timer) &&
                    uv_timer_get_due_in(&head->timer) <= pause_ms + queue->client->reply_ms;

    if (pause_ms > head->policy.poll_ms)
        pause_ms = head->policy.poll_ms;
    if (pause_ms == 0 || head->is_try || is_short)
        set_due(queue, reason);
    else
        (void)uv_timer_start(&queue->poll, on_poll, pause_ms, 0);
}

/* The lock may have become free. */
static void wake(struct lk_queue *queue) {
    struct lk_lease *head = TAILQ_FIRST(&queue->waiters);

    if (!head)
        return;
    if (head->phase == LEASE_TRYING)
        queue->is_woken = true;
    else
        set_soon(queue, QUEUE_EVENT);
}

void queue_given_back(struct lk_queue *queue, unsigned heard_by) {
    unsigned by_us = queue->watch != NULL;

    if (heard_by > by_us && queue->in_row >= queue->in_row_most) {
        queue->in_row = 0;
        if (queue->in_row_most < ROW_LIMIT)
            queue->in_row_most *= 2;
        queue->stand_back_until_ms = uv_now(queue->client->loop) + STAND_BACK_MS;
    }
    wake(queue);
}

/* By the fencing tokens, as each grant has the next one. */
static void count_grant(struct lk_queue *queue, uint64_t fence) {
    if (fence != queue->last_fence + 1) {
        queue->in_row = 0;
        queue->in_row_most = ROW_MOST;
    }
    queue->in_row++;
    queue->last_fence = fence;
}

static void on_event(void *data, const char *owner) {
    struct lk_queue *queue = data;

    if (owner && strcmp(owner, queue->last_owner) == 0)
        return; /* our own: the reply tells, and if none comes, that */
    if (owner)
        queue->stand_back_until_ms = 0;
    wake(queue);
}

static void watch(struct lk_queue *queue) {
    struct lk_backend *backend = queue->client->backend;

    /* Without memory for it the poll goes on alone, and the next refusal tries again. */
    if (!queue->watch && backend->ops->watch)
        queue->watch = backend->ops->watch(backend, queue->name, on_event, queue);
}

void queue_wait(struct lk_queue *queue, uint32_t poll_ms, int64_t remaining_ms) {
    uint64_t wait_ms = client_jitter_ms(queue->client, poll_ms);

    if (remaining_ms >= 0 && (uint64_t)remaining_ms + 1 < wait_ms)
        wait_ms = (uint64_t)remaining_ms + 1;
    watch(queue);
    if (queue->is_woken)
        set_due(queue, QUEUE_EVENT);
    queue->is_woken = false;
    (void)uv_timer_start(&queue->poll, on_poll, wait_ms, 0);
}

void queue_join(struct lk_queue *queue, struct lk_lease *lease) {
    TAILQ_INSERT_TAIL(&queue->waiters, lease, in_queue);
    if (queue->length++ == 0)
        set_soon(queue, QUEUE_FRESH);
}

void queue_leave(struct lk_queue *queue, struct lk_lease *lease, bool is_granted) {
    bool was_head = TAILQ_FIRST(&queue->waiters) == lease;
    struct lk_lease *head;

    TAILQ_REMOVE(&queue->waiters, lease, in_queue);
    queue->length--;
    head = TAILQ_FIRST(&queue->waiters);
    if (is_granted)
        count_grant(queue, lease->fence);
    if (is_granted || !head)
        queue->is_woken = false;
    if (!head)
        (void)uv_timer_stop(&queue->poll);
    else if (is_granted)
        queue_wait(queue, head->policy.poll_ms, -1);
    else if (was_head && (lease->phase == LEASE_TRYING || left_to_stand_back_ms(queue) > 0))
        set_soon(queue, QUEUE_FRESH);
}

void queue_attempt(struct lk_queue *queue) {
    struct lk_lease *head = TAILQ_FIRST(&queue->waiters);

    if (!head || head->phase != LEASE_QUEUED)
        return;
    (void)uv_timer_stop(&queue->poll);
    lease_attempt(head, queue->reason);
}
