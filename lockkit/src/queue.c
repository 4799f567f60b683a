/* The local waiters of one name. */
#include "queue.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

static int queue_compare(const void *a, const void *b) {
    const struct queue_key *one = a, *other = b;

    if (one->is_own != other->is_own)
        return one->is_own ? 1 : -1;
    return strcmp(one->text, other->text);
}

static struct lk_queue *queue_new(struct lk_client *client, const char *name, const char *owner) {
    size_t name_size = strlen(name) + 1, owner_size = owner != NULL ? strlen(owner) + 1 : 0;
    struct lk_queue *queue = calloc(1, sizeof *queue + name_size + owner_size);

    assert(name_size > 1 && name_size <= NAME_MAX_BYTES + 1);
    if (queue == NULL)
        return NULL;
    memcpy(queue->text, name, name_size);
    if (owner != NULL)
        memcpy(queue->text + name_size, owner, owner_size);
    queue->name = queue->text;
    queue->key =
        (struct queue_key){owner != NULL ? queue->text + name_size : queue->name, owner != NULL};
    queue->client = client;
    TAILQ_INIT(&queue->waiters);
    if (tsearch(queue, &client->queues, queue_compare) == NULL) {
        free(queue);
        return NULL;
    }
    (void)uv_timer_init(client->loop, &queue->poll);
    queue->poll.data = queue;
    client->queue_count++;
    return queue;
}

static struct lk_queue *queue_find(struct lk_client *client, const char *text, bool is_own) {
    struct lk_queue **found =
        tfind(&(struct queue_key){text, is_own}, &client->queues, queue_compare);

    return found != NULL ? *found : NULL;
}

struct lk_queue *queue_ref(struct lk_client *client, const char *name, const char *owner) {
    struct lk_queue *queue = queue_find(client, owner != NULL ? owner : name, owner != NULL);

    if (queue == NULL)
        queue = queue_new(client, name, owner);
    if (queue != NULL)
        queue->refs++;
    return queue;
}

static void on_queue_closed(uv_handle_t *handle) {
    struct lk_queue *queue = handle->data;
    struct lk_client *client = queue->client;

    free(queue);
    client_queue_gone(client);
}

void queue_unref(struct lk_queue *queue) {
    assert(queue->refs > 0);
    if (--queue->refs > 0)
        return;
    assert(queue->length == 0 && !queue->is_due && !queue->is_trying);
    tdelete(queue, &queue->client->queues, queue_compare);
    uv_close((uv_handle_t *)&queue->poll, on_queue_closed);
}

static void queue_attempt(struct lk_queue *queue) {
    struct queue_waiter *head = TAILQ_FIRST(&queue->waiters);

    queue->is_trying = true;
    (void)uv_timer_stop(&queue->poll);
    head->attempt(head->data);
}

static void queue_on_due(void *data) {
    struct lk_queue *queue = data;
    struct lk_counters *counters = &queue->client->counters;

    assert(queue->is_due);
    queue->is_due = false;
    if (!TAILQ_EMPTY(&queue->waiters) && !queue->is_trying) {
        counters->polls += queue->reason == QUEUE_POLL;
        counters->wakeups += queue->reason == QUEUE_EVENT;
        queue_attempt(queue);
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
    queue->task = (struct client_task){.run = queue_on_due, .data = queue};
    client_run_soon(queue->client, &queue->client->attempts, &queue->task);
}

static void on_poll(uv_timer_t *timer) {
    set_due(timer->data, QUEUE_POLL);
}

/* The lock may have become free. */
static void queue_wake_waiters(struct lk_queue *queue) {
    if (queue->is_trying)
        queue->is_woken = true; /* the answer may be from before: ask once more after a refusal */
    else if (!TAILQ_EMPTY(&queue->waiters))
        set_due(queue, QUEUE_EVENT);
}

/* All queues of the name tell it the same, those of one owner, too. NULL: nobody wants to know. */
static struct lk_queue *queue_of_name(struct lk_queue *queue) {
    return queue->key.is_own ? queue_find(queue->client, queue->name, false) : queue;
}

void queue_saw_change(struct lk_queue *queue) {
    struct lk_queue *named = queue_of_name(queue);

    if (named == NULL)
        return;
    named->kept_since_ns = 0;
    named->changed_ns = client_now_ns(queue->client);
}

void queue_saw_kept(struct lk_queue *queue) {
    struct lk_queue *named = queue_of_name(queue);

    if (named != NULL && named->kept_since_ns == 0)
        named->kept_since_ns = client_now_ns(queue->client);
}

int64_t queue_kept_ns(struct lk_queue *queue, int64_t from_ns) {
    const struct lk_queue *named = queue_of_name(queue);
    const int64_t now_ns = client_now_ns(queue->client);

    if (named == NULL || (named->kept_since_ns == 0 && named->changed_ns < from_ns))
        return -1;
    if (named->kept_since_ns == 0)
        return 0;
    return now_ns - (named->kept_since_ns > from_ns ? named->kept_since_ns : from_ns);
}

void queue_giving_back(struct lk_queue *queue) {
    const unsigned caps = LK_CAP_FAIR | LK_CAP_CROSS_PROCESS;

    if (!TAILQ_EMPTY(&queue->waiters) && !queue->is_trying && !queue->is_in_line &&
        (queue->client->caps & caps) == caps && !queue->client->is_closing)
        queue_attempt(queue);
}

void queue_given_back(struct lk_queue *queue) {
    assert(queue->refs > 0);
    if (queue->is_trying)
        queue->is_given_back = true;
    else if (!queue->is_in_line)
        queue_wake_waiters(queue);
}

static void wake_named(const void *node, VISIT visit, void *name) {
    struct lk_queue *queue = *(struct lk_queue *const *)node;

    if ((visit == postorder || visit == leaf) && (name == NULL || strcmp(queue->name, name) == 0))
        queue_wake_waiters(queue);
}

void queue_wake(struct lk_client *client, const char *name, const char *owner) {
    struct lk_queue *queue = owner != NULL ? queue_find(client, owner, true) : NULL;

    if (owner != NULL && queue == NULL)
        queue = queue_find(client, name, false);
    if (queue != NULL)
        queue_wake_waiters(queue);
    else if (owner == NULL)
        twalk_r(client->queues, wake_named, (void *)(uintptr_t)name);
}

static void wait_for_event(struct lk_queue *queue, int64_t remaining_ms) {
    const struct queue_waiter *head = TAILQ_FIRST(&queue->waiters);
    uint64_t wait_ms = client_jitter_ms(queue->client, head->poll_ms);

    assert(!queue->is_trying);
    if (remaining_ms >= 0 && (uint64_t)remaining_ms + 1 < wait_ms)
        wait_ms = (uint64_t)remaining_ms + 1;
    if (queue->is_woken)
        set_due(queue, QUEUE_EVENT);
    queue->is_woken = queue->is_given_back = false;
    (void)uv_timer_start(&queue->poll, on_poll, wait_ms, 0);
}

void queue_refused(struct lk_queue *queue, int64_t remaining_ms, bool is_in_line) {
    assert(queue->is_trying && queue->length > 0);
    queue->is_trying = false;
    queue->is_in_line = is_in_line;
    queue->is_woken |= queue->is_given_back && !is_in_line;
    wait_for_event(queue, remaining_ms);
}

void queue_join(struct lk_queue *queue, struct queue_waiter *waiter) {
    assert(waiter->attempt && waiter->poll_ms > 0);
    assert(queue->refs > 0); /* its lease's, at the least */
    TAILQ_INSERT_TAIL(&queue->waiters, waiter, entry);
    if (queue->length++ > 0 || queue->is_trying)
        return;
    if (queue->is_ours && !waiter->is_try)
        wait_for_event(queue, -1);
    else
        set_due(queue, QUEUE_FRESH);
}

/* Returns the new head; without one there is nothing to poll for, nor to be woken for. */
static struct queue_waiter *take_out(struct lk_queue *queue, struct queue_waiter *waiter) {
    assert(queue->length > 0);
    if (waiter == TAILQ_FIRST(&queue->waiters))
        queue->is_in_line = false;
    TAILQ_REMOVE(&queue->waiters, waiter, entry);
    if (--queue->length == 0) {
        (void)uv_timer_stop(&queue->poll);
        if (!queue->is_trying)
            queue->is_woken = queue->is_given_back = false;
    }
    return TAILQ_FIRST(&queue->waiters);
}

void queue_leave(struct lk_queue *queue, struct queue_waiter *waiter, bool is_in_line) {
    const bool was_head = TAILQ_FIRST(&queue->waiters) == waiter;

    if (take_out(queue, waiter) == NULL || !was_head)
        return;
    queue->is_in_line = is_in_line;
    if (!is_in_line && !queue->is_trying)
        set_due(queue, QUEUE_FRESH);
}

void queue_leave_attempt(struct lk_queue *queue, struct queue_waiter *waiter) {
    assert(TAILQ_FIRST(&queue->waiters) == waiter && queue->is_trying);
    (void)take_out(queue, waiter);
}

void queue_attempt_ended(struct lk_queue *queue) {
    assert(queue->is_trying);
    queue->is_trying = queue->is_woken = queue->is_given_back = false;
    if (!TAILQ_EMPTY(&queue->waiters))
        set_due(queue, QUEUE_FRESH);
}

struct queue_waiter *queue_heir(const struct lk_queue *queue) {
    return queue->is_trying ? NULL : TAILQ_FIRST(&queue->waiters);
}

void queue_handed_over(struct lk_queue *queue, struct queue_waiter *heir, bool is_in_line) {
    assert(queue_heir(queue) == heir);
    if (take_out(queue, heir) != NULL && !uv_is_active((const uv_handle_t *)&queue->poll))
        wait_for_event(queue, -1);
    queue->is_in_line = is_in_line;
}

void queue_not_ours(struct lk_queue *queue) {
    const bool was_ours = queue->is_ours;

    queue->is_ours = false;
    if (was_ours)
        queue_given_back(queue);
}

void queue_granted(struct lk_queue *queue, struct queue_waiter *waiter) {
    const struct queue_waiter *next;

    assert(TAILQ_FIRST(&queue->waiters) == waiter && queue->is_trying);
    queue->is_trying = false;
    queue->is_woken = queue->is_given_back = false;
    next = take_out(queue, waiter);
    if (next != NULL && waiter->is_shared && next->is_shared)
        set_due(queue, QUEUE_FRESH);
    else if (next != NULL)
        wait_for_event(queue, -1);
}
