/* The local waiters of one name. */
#include "queue.h"

#include <assert.h>
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

    assert(size > 1 && size <= NAME_MAX_BYTES + 1);
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
    client->queue_count++;
    return queue;
}

struct lk_queue *queue_ref(struct lk_client *client, const char *name) {
    struct lk_queue **found = tfind(&name, &client->queues, compare);
    struct lk_queue *queue = found ? *found : queue_new(client, name);

    /* A new one is idle for this moment, so that both ways here are one. */
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
    client_queue_gone(client);
}

void queue_discard(struct lk_queue *queue) {
    struct lk_backend *backend = queue->client->backend;

    assert(queue->refs == 0 && queue->length == 0 && !queue->is_due && !queue->is_trying);
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
    assert(queue->refs > 0);
    if (--queue->refs > 0)
        return;
    TAILQ_INSERT_TAIL(&queue->client->idle_queues, queue, entry);
    if (queue->watch && !queue->client->is_closing)
        (void)uv_timer_start(&queue->poll, on_idle_for_long, IDLE_MS, 0);
    else
        queue_discard(queue);
}

static void on_due(void *data) {
    struct lk_queue *queue = data;
    struct lk_counters *counters = &queue->client->counters;
    struct queue_waiter *head = TAILQ_FIRST(&queue->waiters);

    assert(queue->is_due);
    queue->is_due = false;
    if (head && !queue->is_trying) {
        counters->polls += queue->reason == QUEUE_POLL;
        counters->wakeups += queue->reason == QUEUE_EVENT;
        queue->is_trying = true;
        (void)uv_timer_stop(&queue->poll);
        head->attempt(head->data);
    }
    queue_unref(queue);
}

/* Attempt in the next turn of the loop. What has come meanwhile needs no attempt of its own. */
static void set_due(struct lk_queue *queue, enum queue_reason reason) {
    if (queue->is_due)
        return;
    queue->is_due = true;
    queue->reason = reason;
    queue->refs++;
    queue->task = (struct client_task){.run = on_due, .data = queue};
    client_run_soon(queue->client, &queue->client->attempts, &queue->task);
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
    const struct queue_waiter *head = TAILQ_FIRST(&queue->waiters);
    uint64_t pause_ms = left_to_stand_back_ms(queue);
    uint64_t answered_ms = uv_now(queue->client->loop) + pause_ms + queue->client->reply_ms;

    assert(head && !queue->is_trying);
    if (pause_ms > head->poll_ms)
        pause_ms = head->poll_ms;
    if (pause_ms == 0 || head->is_try || head->until_ms <= answered_ms)
        set_due(queue, reason);
    else
        (void)uv_timer_start(&queue->poll, on_poll, pause_ms, 0);
}

/* The lock may have become free. */
static void wake(struct lk_queue *queue) {
    if (queue->is_trying)
        queue->is_woken = true; /* the answer may be from before: ask once more after a refusal */
    else if (!TAILQ_EMPTY(&queue->waiters))
        set_soon(queue, QUEUE_EVENT);
}

void queue_given_back(struct lk_queue *queue, unsigned heard_by) {
    unsigned by_us = queue->watch != NULL;

    assert(queue->refs > 0);
    if (heard_by > by_us && queue->in_row >= queue->in_row_most) {
        queue->in_row = 0;
        if (queue->in_row_most < ROW_LIMIT)
            queue->in_row_most *= 2;
        queue->stand_back_until_ms = uv_now(queue->client->loop) + STAND_BACK_MS;
    }
    wake(queue);
}

static void on_event(void *data, const char *owner) {
    struct lk_queue *queue = data;

    if (owner && strcmp(owner, queue->last_owner) == 0)
        return; /* our own: the reply tells, and if none comes, that */
    if (owner)
        queue->stand_back_until_ms = 0;
    wake(queue);
}

static void wait_for_event(struct lk_queue *queue, int64_t remaining_ms) {
    const struct queue_waiter *head = TAILQ_FIRST(&queue->waiters);
    uint64_t wait_ms = client_jitter_ms(queue->client, head->poll_ms);
    struct lk_backend *backend = queue->client->backend;

    assert(!queue->is_trying);
    if (remaining_ms >= 0 && (uint64_t)remaining_ms + 1 < wait_ms)
        wait_ms = (uint64_t)remaining_ms + 1;
    /* Without memory for it the poll goes on alone, and the next refusal tries again. */
    if (!queue->watch && backend->ops->watch)
        queue->watch = backend->ops->watch(backend, queue->name, on_event, queue);
    if (queue->is_woken)
        set_due(queue, QUEUE_EVENT);
    queue->is_woken = false;
    (void)uv_timer_start(&queue->poll, on_poll, wait_ms, 0);
}

void queue_refused(struct lk_queue *queue, int64_t remaining_ms) {
    assert(queue->is_trying && queue->length > 0);
    queue->is_trying = false;
    wait_for_event(queue, remaining_ms);
}

void queue_join(struct lk_queue *queue, struct queue_waiter *waiter) {
    assert(waiter->attempt && waiter->poll_ms > 0);
    assert(queue->refs > 0); /* its lease's, at the least */
    TAILQ_INSERT_TAIL(&queue->waiters, waiter, entry);
    if (queue->length++ == 0)
        set_soon(queue, QUEUE_FRESH);
}

/* Returns the new head; without one there is nothing to poll for, nor to be woken for. */
static struct queue_waiter *take_out(struct lk_queue *queue, struct queue_waiter *waiter) {
    assert(queue->length > 0);
    TAILQ_REMOVE(&queue->waiters, waiter, entry);
    if (--queue->length == 0) {
        queue->is_woken = false;
        (void)uv_timer_stop(&queue->poll);
    }
    return TAILQ_FIRST(&queue->waiters);
}

void queue_leave(struct lk_queue *queue, struct queue_waiter *waiter) {
    bool was_head = TAILQ_FIRST(&queue->waiters) == waiter;
    bool was_trying = was_head && queue->is_trying;
    struct queue_waiter *head = take_out(queue, waiter);

    if (was_head)
        queue->is_trying = false;
    /* Else the event or the poll that the old head waited for is the new one's as well. */
    if (head && was_head && (was_trying || left_to_stand_back_ms(queue) > 0))
        set_soon(queue, QUEUE_FRESH);
}

void queue_saw_fence(struct lk_queue *queue, uint64_t fence) {
    if (fence > queue->seen_fence)
        queue->seen_fence = fence;
}

void queue_granted(struct lk_queue *queue, struct queue_waiter *waiter, uint64_t fence,
                   uint64_t before) {
    assert(TAILQ_FIRST(&queue->waiters) == waiter && queue->is_trying);
    queue->is_trying = false;
    queue->is_woken = false;
    if (before != queue->last_fence) { /* somebody else had it between */
        queue->in_row = 0;
        queue->in_row_most = ROW_MOST;
    }
    queue->in_row++;
    queue->last_fence = fence;
    queue_saw_fence(queue, fence);
    if (take_out(queue, waiter))
        wait_for_event(queue, -1);
}
