/* Subscriptions end when nobody has asked for a while: waiters ask again while they wait, and do
 * not tell when they go. Looked at when the next one asks, so what is left over is bounded by what
 * was waited for last. */
#include "wire_watch.h"

#include "clock.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Longer than a waiter takes to come back: one SUBSCRIBE for a row of waits. */
#define LINGER_MS 5000

struct wire_watch {
    const char *name; /* the key; first, so that a search needs no whole struct */
    TAILQ_ENTRY(wire_watch) entry;
    struct wire_watches *of;
    struct redis_subscription subscription;
    int64_t until_ms;
    char texts[]; /* name and channel */
};

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* NULL, newly effective, is an event as well: the lock may have become free before. */
static void on_message(struct redis_subscription *subscription, const char *message) {
    const struct wire_watch *watch = subscription->data;
    const struct lk_backend_config *config = watch->of->config;

    (void)message;
    config->push(config->data, LK_PUSH_FREE, watch->name, NULL, NULL);
}

static void forget(struct wire_watch *watch) {
    struct wire_watches *watches = watch->of;

    redis_unsubscribe(watches->redis, &watch->subscription);
    TAILQ_REMOVE(&watches->by_time, watch, entry);
    tdelete(watch, &watches->by_name, compare);
    free(watch);
}

static struct wire_watch *add(struct wire_watches *watches, const char *name, const char *channel) {
    const size_t name_size = strlen(name) + 1, channel_size = strlen(channel) + 1;
    struct wire_watch *watch = calloc(1, sizeof *watch + name_size + channel_size);

    if (!watch)
        return NULL;
    memcpy(watch->texts, name, name_size);
    memcpy(watch->texts + name_size, channel, channel_size);
    watch->name = watch->texts;
    watch->of = watches;
    watch->subscription = (struct redis_subscription){
        .channel = watch->texts + name_size, .on_message = on_message, .data = watch};
    if (!tsearch(watch, &watches->by_name, compare)) {
        free(watch);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&watches->by_time, watch, entry);
    if (redis_subscribe(watches->redis, &watch->subscription) == 0)
        return watch;
    forget(watch);
    return NULL;
}

void wire_watch(struct wire_watches *watches, const char *name, const char *channel,
                uint32_t patience_ms) {
    struct wire_watch **found = tfind(&name, &watches->by_name, compare);
    struct wire_watch *watch = found ? *found : add(watches, name, channel), *first;
    const int64_t now_ms = clock_now_ms();

    if (watch) {
        watch->until_ms = now_ms + patience_ms + LINGER_MS;
        TAILQ_REMOVE(&watches->by_time, watch, entry);
        TAILQ_INSERT_TAIL(&watches->by_time, watch, entry);
    }
    while ((first = TAILQ_FIRST(&watches->by_time)) && first->until_ms < now_ms)
        forget(first);
}

void wire_watches_init(struct wire_watches *watches, struct redis *redis,
                       const struct lk_backend_config *config) {
    watches->redis = redis;
    watches->config = config;
    watches->by_name = NULL;
    TAILQ_INIT(&watches->by_time);
}

void wire_watches_close(struct wire_watches *watches) {
    struct wire_watch *watch;

    while ((watch = TAILQ_FIRST(&watches->by_time)))
        forget(watch);
}
