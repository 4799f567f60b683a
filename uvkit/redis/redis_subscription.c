/* Subscriptions: the subscribers of each channel, and the server's knowledge of it.
 *
 * A channel has at most one SUBSCRIBE or UNSUBSCRIBE under way. When the answer comes, the present
 * wish of its subscribers decides the next step. So a subscriber that leaves and one that comes
 * meanwhile need no commands that overtake each other:
 *
 *     NONE -> SUBSCRIBING -> SUBSCRIBED -> UNSUBSCRIBING -> NONE
 *
 * A lost connection puts every channel back to NONE. Channels that still have subscribers are
 * subscribed again when it is up.
 *
 * When the server denies a SUBSCRIBE, hiredis closes the connection, and does not tell which one:
 * it is the first without an answer. From then on that channel is left out, so that the others have
 * a connection. Each REDIS_REFUSED_MS one of the left-out channels is asked for, and when it is
 * granted, the next. */
#include "redis_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum channel_state { NONE, SUBSCRIBING, SUBSCRIBED, UNSUBSCRIBING };

struct redis_channel {
    LIST_ENTRY(redis_channel) entry;  /* in its list of REDIS_CHANNEL_LISTS */
    LIST_ENTRY(redis_channel) joined; /* while is_joined */
    struct redis *of;
    TAILQ_HEAD(, redis_subscription) subscribers;
    enum channel_state state;
    uint64_t asked;   /* its number among the SUBSCRIBEs */
    uint64_t refused; /* its number among the denied ones; or 0 */
    bool is_joined;
    char name[];
};

/* FNV-1a */
static struct redis_channels *list_of(struct redis_subscriptions *all, const char *name) {
    uint32_t hash = 2166136261;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619;
    return &all->channels[hash % REDIS_CHANNEL_LISTS];
}

static struct redis_channel *redis_subscription_find(struct redis_subscriptions *all,
                                                     const char *name) {
    struct redis_channel *channel;

    LIST_FOREACH (channel, list_of(all, name), entry)
        if (strcmp(channel->name, name) == 0)
            return channel;
    return NULL;
}

static struct redis_channel *add_channel(struct redis *redis, const char *name) {
    struct redis_channel *channel = calloc(1, sizeof *channel + strlen(name) + 1);

    if (channel == NULL)
        return NULL;
    channel->of = redis;
    memcpy(channel->name, name, strlen(name) + 1);
    TAILQ_INIT(&channel->subscribers);
    LIST_INSERT_HEAD(list_of(&redis->subscriptions, name), channel, entry);
    return channel;
}

static void free_channel(struct redis_channel *channel) {
    assert(TAILQ_EMPTY(&channel->subscribers));
    LIST_REMOVE(channel, entry);
    if (channel->is_joined)
        LIST_REMOVE(channel, joined);
    free(channel);
}

/* Pass a message to the subscribers that know that they are subscribed, or NULL to the others. Any
 * of them may leave meanwhile, and so may the channel. Subscribers that come meanwhile get nothing.
 */
static void redis_subscription_tell(struct redis_channel *channel, const char *message) {
    struct redis_subscriptions *all = &channel->of->subscriptions;
    uint64_t round = all->round++;

    for (all->cursor = TAILQ_FIRST(&channel->subscribers); all->cursor != NULL;) {
        struct redis_subscription *subscription = all->cursor;

        all->cursor = TAILQ_NEXT(subscription, internal.entry);
        if (subscription->internal.is_effective != (message != NULL) ||
            subscription->internal.round > round)
            continue;
        subscription->internal.is_effective = true;
        subscription->on_message(subscription, message);
    }
}

static void redis_subscription_on_reply(redisAsyncContext *context, void *answer, void *arg);

static void redis_subscription_ask(struct redis_channel *channel, enum channel_state state) {
    struct redis_subscriptions *all = &channel->of->subscriptions;
    redisAsyncContext *context = redis_connection_context(&all->connection);

    if (context == NULL)
        return;
    channel->state = state;
    channel->asked = ++all->asked;
    if (redisAsyncCommand(context, redis_subscription_on_reply, channel,
                          state == SUBSCRIBING ? "SUBSCRIBE %s" : "UNSUBSCRIBE %s",
                          channel->name) != REDIS_OK)
        redis_connection_drop_soon(&all->connection);
}

/* Ask the server for the present wish of the subscribers, unless an answer is under way. */
static void redis_subscription_settle(struct redis_channel *channel) {
    bool is_wanted = !TAILQ_EMPTY(&channel->subscribers);

    if (channel->state == SUBSCRIBING || channel->state == UNSUBSCRIBING)
        return;
    if (is_wanted != (channel->state == SUBSCRIBED)) {
        assert(channel->state == (is_wanted ? NONE : SUBSCRIBED));
        if (!channel->refused || !is_wanted)
            redis_subscription_ask(channel, is_wanted ? SUBSCRIBING : UNSUBSCRIBING);
    } else if (!is_wanted) {
        free_channel(channel);
    }
}

/* The channel that `is_better` than all others, or NULL. */
static struct redis_channel *best(struct redis_subscriptions *all,
                                  bool (*is_better)(const struct redis_channel *channel,
                                                    const struct redis_channel *than)) {
    struct redis_channel *channel, *found = NULL;

    for (size_t i = 0; i < REDIS_CHANNEL_LISTS; i++)
        LIST_FOREACH (channel, &all->channels[i], entry)
            if (is_better(channel, found))
                found = channel;
    return found;
}

static bool was_asked_earlier(const struct redis_channel *channel,
                              const struct redis_channel *than) {
    return channel->state == SUBSCRIBING && (than == NULL || channel->asked < than->asked);
}

static bool was_refused_earlier(const struct redis_channel *channel,
                                const struct redis_channel *than) {
    return channel->state == NONE && channel->refused &&
           (than == NULL || channel->refused < than->refused);
}

static bool is_first_wanted(const struct redis_channel *channel, const struct redis_channel *than) {
    return than == NULL && !channel->refused && !TAILQ_EMPTY(&channel->subscribers);
}

/* Ask for the channel that has been left out longest. */
static void ask_again(struct redis_subscriptions *all) {
    struct redis_channel *channel = best(all, was_refused_earlier);

    if (channel != NULL)
        redis_subscription_ask(channel, SUBSCRIBING);
}

static void on_time_to_ask_again(uv_timer_t *timer) {
    const struct redis_connection *connection = timer->data;
    struct redis *redis = connection->data;

    ask_again(&redis->subscriptions);
}

static bool redis_subscription_on_refused(void *data) {
    struct redis_subscriptions *all = &((struct redis *)data)->subscriptions;
    struct redis_channel *channel = best(all, was_asked_earlier);

    if (channel != NULL)
        channel->refused = ++all->refused;
    return best(all, is_first_wanted) != NULL;
}

static void on_subscribed(struct redis_channel *channel) {
    struct redis_subscriptions *all = &channel->of->subscriptions;
    bool was_refused = channel->refused != 0;

    channel->state = SUBSCRIBED;
    channel->refused = 0;
    if (was_refused) {
        all->connection.is_told_refused = false;
        ask_again(all);
    }
    if (!TAILQ_EMPTY(&channel->subscribers))
        redis_subscription_tell(channel, NULL);
    else
        redis_subscription_settle(channel);
}

/* [kind, channel, payload or count]. The channel lives until the answer to UNSUBSCRIBE, because
 * hiredis may pass it until then. */
static void redis_subscription_on_reply(redisAsyncContext *context, void *answer, void *arg) {
    const redisReply *reply = answer;
    struct redis_channel *channel = arg;
    const char *kind;

    if (reply == NULL || redis_connection_context(context->data) != context)
        return;
    if (reply->elements != 3 || reply->element[0]->str == NULL)
        return;
    kind = reply->element[0]->str;
    if (strcmp(kind, "message") == 0) {
        if (reply->element[2]->str != NULL)
            redis_subscription_tell(channel, reply->element[2]->str);
    } else if (strcmp(kind, "subscribe") == 0) {
        on_subscribed(channel);
    } else if (strcmp(kind, "unsubscribe") == 0) {
        channel->state = NONE;
        redis_subscription_settle(channel);
    }
}

void redis_subscriptions_tell(struct redis_subscriptions *all) {
    struct redis_channel *channel;
    unsigned count = 0;

    LIST_FOREACH (channel, &all->joined, joined)
        count++;
    for (; count > 0 && (channel = LIST_FIRST(&all->joined)) != NULL; count--) {
        LIST_REMOVE(channel, joined);
        channel->is_joined = false;
        if (channel->state == SUBSCRIBED)
            redis_subscription_tell(channel, NULL);
    }
}

/* Tell new subscribers of an effective channel, but not inside their call. */
static void redis_subscription_tell_later(struct redis_channel *channel) {
    struct redis *redis = channel->of;

    if (channel->is_joined)
        return;
    channel->is_joined = true;
    LIST_INSERT_HEAD(&redis->subscriptions.joined, channel, joined);
    redis_arm(redis);
}

/* Run `visit` on every channel; it may free its channel. */
static void each_channel(struct redis *redis, void (*visit)(struct redis_channel *)) {
    for (size_t i = 0; i < REDIS_CHANNEL_LISTS; i++) {
        struct redis_channel *channel = LIST_FIRST(&redis->subscriptions.channels[i]), *next;

        for (; channel != NULL; channel = next) {
            next = LIST_NEXT(channel, entry);
            visit(channel);
        }
    }
}

static void redis_subscription_on_up(void *data) {
    struct redis_subscriptions *all = &((struct redis *)data)->subscriptions;

    each_channel(data, redis_subscription_settle);
    if (best(all, is_first_wanted) == NULL)
        ask_again(all);
    (void)uv_timer_start(&all->connection.timer, on_time_to_ask_again, REDIS_REFUSED_MS,
                         REDIS_REFUSED_MS);
}

static void lose(struct redis_channel *channel) {
    struct redis_subscription *each;

    channel->state = NONE;
    TAILQ_FOREACH (each, &channel->subscribers, internal.entry)
        each->internal.is_effective = false;
    redis_subscription_settle(channel);
}

static void redis_subscription_on_down(void *data) {
    each_channel(data, lose);
}

static void unlink_subscription(struct redis_subscription *subscription) {
    struct redis_channel *channel = subscription->internal.channel;
    struct redis_subscriptions *all = &channel->of->subscriptions;

    if (all->cursor == subscription)
        all->cursor = TAILQ_NEXT(subscription, internal.entry);
    TAILQ_REMOVE(&channel->subscribers, subscription, internal.entry);
    subscription->internal.channel = NULL;
}

static void redis_subscription_forget(struct redis_channel *channel) {
    while (!TAILQ_EMPTY(&channel->subscribers))
        unlink_subscription(TAILQ_FIRST(&channel->subscribers));
    free_channel(channel);
}

bool redis_subscriptions_close(struct redis *redis) {
    struct redis_connection *connection = &redis->subscriptions.connection;

    if (connection->handles == 0)
        return false;
    redis_connection_close(connection);
    each_channel(redis, redis_subscription_forget);
    return true;
}

int redis_subscribe(struct redis *redis, struct redis_subscription *subscription) {
    struct redis_subscriptions *all = &redis->subscriptions;
    struct redis_channel *channel;

    subscription->internal.channel = NULL;
    if (redis->is_closing)
        return UV_ECANCELED;
    channel = redis_subscription_find(all, subscription->channel);
    if (channel == NULL)
        channel = add_channel(redis, subscription->channel);
    if (channel == NULL)
        return UV_ENOMEM;
    subscription->internal.channel = channel;
    subscription->internal.is_effective = false;
    subscription->internal.round = all->round;
    TAILQ_INSERT_TAIL(&channel->subscribers, subscription, internal.entry);
    if (all->connection.handles == 0) {
        all->connection.on_up = redis_subscription_on_up;
        all->connection.on_down = redis_subscription_on_down;
        all->connection.on_refused = redis_subscription_on_refused;
        redis_connection_open(&all->connection);
    }
    if (channel->state == SUBSCRIBED)
        redis_subscription_tell_later(channel);
    else
        redis_subscription_settle(channel);
    return 0;
}

void redis_unsubscribe(struct redis *redis, struct redis_subscription *subscription) {
    struct redis_channel *channel = subscription->internal.channel;

    if (channel == NULL)
        return;
    assert(channel->of == redis);
    unlink_subscription(subscription);
    if (TAILQ_EMPTY(&channel->subscribers))
        redis_subscription_settle(channel);
}
