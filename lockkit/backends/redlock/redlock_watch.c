/* Events for those who wait: each node publishes when a vote of the lock is given back. The lock
 * may be free when a majority has said so of the same owner; one message alone would send those who
 * wait to nodes that have not heard of it yet. Where fewer can tell, the poll goes on alone.
 *
 * Nobody says that he waits no more: a name is watched for as long as its last waiter said that he
 * would ask again, and a while longer, so that it is not subscribed to over and over. */
#include "clock.h"
#include "redlock_internal.h"
#include "redlock_scripts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGER_MS 2000
#define CHECK_MS  1000

struct redlock_watch {
    struct redlock *redlock;
    LIST_ENTRY(redlock_watch) entry;
    int64_t until_ms;
    char owner[OWNER_SIZE]; /* of the last message; "" for a subscription that began */
    unsigned heard;         /* how many nodes have said that */
    struct redis_subscription subscriptions[REDLOCK_NODES_MOST];
    char channel[NAME_MAX_BYTES + sizeof REDLOCK_CHANNEL];
    char name[NAME_MAX_BYTES + 1];
};

/* One that begins is an event as well: what was said before it was missed. */
static void on_message(struct redis_subscription *subscription, const char *message) {
    struct redlock_watch *watch = subscription->data;
    const struct redlock *redlock = watch->redlock;
    char owner[OWNER_SIZE];

    (void)snprintf(owner, sizeof owner, "%s", message ? message : "");
    if (strcmp(owner, watch->owner) != 0)
        watch->heard = 0;
    memcpy(watch->owner, owner, sizeof owner);
    if (++watch->heard == redlock_quorum(redlock->node_count))
        redlock->config.push(redlock->config.data, LK_PUSH_FREE, watch->name, NULL, NULL);
}

static void end(struct redlock_watch *watch) {
    for (unsigned i = 0; i < watch->redlock->node_count; i++)
        if (watch->subscriptions[i].data)
            redis_unsubscribe(watch->redlock->nodes[i].redis, &watch->subscriptions[i]);
    LIST_REMOVE(watch, entry);
    free(watch);
}

void redlock_unwatch(struct redlock *redlock, bool is_all) {
    const int64_t now_ms = clock_now_ms();
    struct redlock_watch *watch, *next;

    for (watch = LIST_FIRST(&redlock->watches); watch; watch = next) {
        next = LIST_NEXT(watch, entry);
        if (is_all || watch->until_ms <= now_ms)
            end(watch);
    }
    if (LIST_EMPTY(&redlock->watches))
        (void)uv_timer_stop(&redlock->timer);
}

static void on_check(uv_timer_t *timer) {
    redlock_unwatch(timer->data, false);
}

static struct redlock_watch *find(struct redlock *redlock, const char *name) {
    struct redlock_watch *watch;

    LIST_FOREACH (watch, &redlock->watches, entry)
        if (strcmp(watch->name, name) == 0)
            return watch;
    return NULL;
}

static struct redlock_watch *begin(struct redlock *redlock, const char *name) {
    struct redlock_watch *watch = calloc(1, sizeof *watch);

    if (!watch)
        return NULL;
    watch->redlock = redlock;
    (void)snprintf(watch->name, sizeof watch->name, "%s", name);
    (void)snprintf(watch->channel, sizeof watch->channel, REDLOCK_CHANNEL, name);
    LIST_INSERT_HEAD(&redlock->watches, watch, entry);
    for (unsigned i = 0; i < redlock->node_count; i++) {
        struct redis_subscription *subscription = &watch->subscriptions[i];

        subscription->channel = watch->channel;
        subscription->on_message = on_message;
        subscription->data = watch;
        if (redis_subscribe(redlock->nodes[i].redis, subscription) != 0)
            subscription->data = NULL;
    }
    (void)uv_timer_start(&redlock->timer, on_check, CHECK_MS, CHECK_MS);
    return watch;
}

void redlock_watch(struct redlock *redlock, const char *name, uint32_t patience_ms) {
    struct redlock_watch *watch = find(redlock, name);

    if (!watch && !redlock->is_closing)
        watch = begin(redlock, name);
    if (watch)
        watch->until_ms = clock_now_ms() + patience_ms + LONGER_MS;
}
