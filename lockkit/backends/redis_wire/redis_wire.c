/* Locks that other libraries take, too, on one Redis server: redis+string://... and
 * redis+redisson://... A layout defines the keys of a lock. Each command is one script of the
 * layout; this file sends it and reads its answer. */
#include "wire_layout.h"

#include "clock.h"
#include "parameter.h"
#include "redis_link.h"

#include <assert.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define ACQUIRES_MOST 512 /* like those of redis:// */
#define BESIDE_SIZE   (NAME_MAX_BYTES + sizeof "lk:{}:wire")
#define HELD_SIZE     512 /* longer texts of other programs are cut to this */

/* A waiter comes back earlier: one SUBSCRIBE serves a row of waits. */
#define LINGER_MS 5000

struct wire_server {
    struct lk_backend base;
    struct lk_backend_config config;
    const struct wire_layout *layout;
    struct redis_link link;
    void *watches_by_name;
    TAILQ_HEAD(, wire_watch) watches; /* in the order in which they are forgotten */
};

/* The backend's memory for a command. */
struct wire_sent {
    struct lk_command *command;
    struct wire_server *server;
    struct redis_call call;
};

/* ---- Waiting: a subscription to the channel of each name
 *
 * A waiter asks again while it waits, and does not say when it stops. So a subscription ends when
 * nobody has asked for some time. That is checked when the next waiter asks, so few subscriptions
 * are left over. */

struct wire_watch {
    const char *name; /* the key; first, so that a search needs no whole struct */
    TAILQ_ENTRY(wire_watch) entry;
    struct wire_server *server;
    struct redis_subscription subscription;
    int64_t until_ms;
    char texts[]; /* name and channel */
};

static int watch_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* NULL says that the subscription has begun. It is an event, too: the lock may have become free
 * before. */
static void redis_wire_on_message(struct redis_subscription *subscription, const char *message) {
    const struct wire_watch *watch = subscription->data;
    const struct lk_backend_config *config = &watch->server->config;

    (void)message;
    config->push(config->data, LK_PUSH_FREE, watch->name, NULL, NULL);
}

static void redis_wire_watch_end(struct wire_watch *watch) {
    struct wire_server *server = watch->server;

    redis_unsubscribe(server->link.redis, &watch->subscription);
    TAILQ_REMOVE(&server->watches, watch, entry);
    tdelete(watch, &server->watches_by_name, watch_compare);
    free(watch);
}

static struct wire_watch *redis_wire_watch_begin(struct wire_server *server, const char *name,
                                                 const char *channel) {
    const size_t name_size = strlen(name) + 1, channel_size = strlen(channel) + 1;
    struct wire_watch *watch = calloc(1, sizeof *watch + name_size + channel_size);

    if (watch == NULL)
        return NULL;
    memcpy(watch->texts, name, name_size);
    memcpy(watch->texts + name_size, channel, channel_size);
    watch->name = watch->texts;
    watch->server = server;
    watch->subscription = (struct redis_subscription){
        .channel = watch->texts + name_size, .on_message = redis_wire_on_message, .data = watch};
    if (tsearch(watch, &server->watches_by_name, watch_compare) == NULL) {
        free(watch);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&server->watches, watch, entry);
    if (redis_subscribe(server->link.redis, &watch->subscription) == 0)
        return watch;
    redis_wire_watch_end(watch);
    return NULL;
}

/* The command waits, and asks again within its patience. Until then, and some time longer, the
 * messages of the lock's channel are told. Without memory for a watch only the poll goes on. */
static void wait_for_message(struct wire_server *server, const struct lk_command *command) {
    struct wire_watch **found = tfind(&command->name, &server->watches_by_name, watch_compare);
    struct wire_watch *watch = found != NULL ? *found : NULL, *first;
    const int64_t now_ms = clock_now_ms();
    char channel[WIRE_CHANNEL_SIZE];

    server->layout->channel_of(command->name, channel);
    if (watch == NULL)
        watch = redis_wire_watch_begin(server, command->name, channel);
    if (watch != NULL) {
        watch->until_ms = now_ms + command->patience_ms + LINGER_MS;
        TAILQ_REMOVE(&server->watches, watch, entry);
        TAILQ_INSERT_TAIL(&server->watches, watch, entry);
    }
    while ((first = TAILQ_FIRST(&server->watches)) != NULL && first->until_ms < now_ms)
        redis_wire_watch_end(first);
}

/* ---- Commands */

/* The holder, kept until on_answer() has returned. */
struct holding {
    struct lk_holder holder;
    char owner[HELD_SIZE], label[LABEL_MAX_BYTES + 1];
};

static enum lk_status take_holder(const struct wire_server *server, struct lk_command *command,
                                  const redisReply *reply, struct holding *holding) {
    const char *held = redis_reply_text(reply, 1), *fence = redis_reply_text(reply, 3),
               *label = redis_reply_text(reply, 4);

    if (redis_reply_integer(reply, 0) != 1 ||
        (reply->elements > 1 && (held == NULL || fence == NULL || label == NULL)))
        return LK_UNKNOWN;
    if (held == NULL)
        return LK_OK; /* nobody holds it */
    holding->holder = (struct lk_holder){.owner = holding->owner,
                                         .label = holding->label,
                                         .fence = strtoull(fence, NULL, 10),
                                         .remaining_ms = redis_reply_integer(reply, 2),
                                         .permits = 1};
    if (holding->holder.fence > 0)
        server->layout->owner_of(held, holding->owner);
    else
        (void)snprintf(holding->owner, sizeof holding->owner, "%s", held);
    (void)snprintf(holding->label, sizeof holding->label, "%s", label);
    command->holders = &holding->holder;
    command->holder_count = 1;
    return LK_OK;
}

static enum lk_status redis_wire_take_reply(const struct wire_server *server,
                                            struct lk_command *command, const redisReply *reply,
                                            struct holding *holding) {
    const bool is_ok = redis_reply_integer(reply, 0) == 1;

    if (command->verb == LK_INSPECT)
        return take_holder(server, command, reply, holding);
    if (!is_ok && redis_reply_integer(reply, 0) != 0)
        return LK_UNKNOWN;
    switch (command->verb) {
    case LK_ACQUIRE:
        if (is_ok && redis_reply_integer(reply, 1) < 0)
            return LK_UNKNOWN;
        if (is_ok)
            command->fence = (uint64_t)redis_reply_integer(reply, 1);
        else
            command->remaining_ms = redis_reply_integer(reply, 1);
        return is_ok ? LK_OK : LK_BUSY;
    case LK_RENEW:
    case LK_RELEASE:
    case LK_BREAK:
        return is_ok ? LK_OK : LK_LOST;
    case LK_INSPECT:
        break;
    }
    return LK_UNSUPPORTED;
}

static void redis_wire_on_reply(struct redis_call *call, const redisReply *reply) {
    struct wire_sent *sent = call->data;
    struct lk_command *command = sent->command;
    struct holding holding;

    assert(call == &sent->call && sent == command->internal);
    if (call->status == REDIS_IS_REJECTED)
        redis_link_tell_refused(&sent->server->link, call->message);
    command->status = reply != NULL ? redis_wire_take_reply(sent->server, command, reply, &holding)
                                    : redis_link_status(call);
    command->why = reply != NULL ? NULL : call->message;
    if (command->status == LK_BUSY && command->patience_ms > 0)
        wait_for_message(sent->server, command);
    command->on_answer(command);
}

static void wire_run(struct lk_backend *backend, struct lk_command *command) {
    struct wire_server *server = (struct wire_server *)backend;
    const struct wire_layout *layout = server->layout;
    struct wire_sent *sent = command->internal;
    char beside[BESIDE_SIZE], channel[WIRE_CHANNEL_SIZE], field[WIRE_FIELD_SIZE], ttl[16],
        above[24];

    assert(command->on_answer && strlen(command->name) <= NAME_MAX_BYTES);
    assert(command->owner || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    command->remaining_ms = -1;
    (void)snprintf(beside, sizeof beside, "lk:{%s}:wire", command->name);
    (void)snprintf(ttl, sizeof ttl, "%" PRIu32, command->ttl_ms);
    (void)snprintf(above, sizeof above, "%" PRIu64, command->fence_above);
    layout->channel_of(command->name, channel);
    sent->command = command;
    sent->server = server;
    sent->call = (struct redis_call){
        .argc = 10,
        .argv = {[2] = "2",
                 command->name,
                 beside,
                 command->owner != NULL ? layout->field_of(command->owner, field) : "",
                 ttl,
                 server->config.label,
                 channel,
                 above},
        .script = layout->scripts[command->verb],
        .sends = &command->round_trips,
        .deadline_ms = clock_now_ms() + command->reply_ms,
        .data = sent,
    };
    redis_call_start(server->link.redis, &sent->call, redis_wire_on_reply);
}

/* ---- Opening and closing */

/* redis+string://host means redis://host; redis+string:unix:///path means unix:///path. */
static enum lk_status connect_server(struct wire_server *server, const char *url) {
    const char *rest = url + strlen(server->layout->scheme);
    char *whole = NULL;
    enum lk_status status;

    if (parameter_has_others(rest, "db")) /* it would promise an option that this backend lacks */
        return LK_INVALID;
    if (strncmp(rest, "//", 2) == 0 && asprintf(&whole, "redis:%s", rest) < 0)
        return LK_NOMEM;
    status = redis_link_open(&server->link, server->config.loop, whole != NULL ? whole : rest, NULL,
                             NULL);
    free(whole);
    return status;
}

static enum lk_status open_layout(struct lk_backend **backend,
                                  const struct lk_backend_config *config,
                                  const struct lk_backend_ops *ops,
                                  const struct wire_layout *layout) {
    struct wire_server *server = calloc(1, sizeof *server);
    enum lk_status status;

    if (server == NULL)
        return LK_NOMEM;
    server->base.ops = ops;
    server->base.acquires_most = ACQUIRES_MOST;
    server->config = *config;
    server->layout = layout;
    TAILQ_INIT(&server->watches);
    status = connect_server(server, config->url);
    if (status != LK_OK) {
        free(server);
        return status;
    }
    *backend = &server->base;
    return LK_OK;
}

static enum lk_status open_string(struct lk_backend **backend,
                                  const struct lk_backend_config *config) {
    return open_layout(backend, config, &backend_redis_string, &wire_string);
}

static enum lk_status open_redisson(struct lk_backend **backend,
                                    const struct lk_backend_config *config) {
    return open_layout(backend, config, &backend_redis_redisson, &wire_redisson);
}

static void redis_wire_on_closed(void *data) {
    backend_end(data);
}

static void close_server(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct wire_server *server = (struct wire_server *)backend;
    struct wire_watch *watch;

    backend->on_closed = cb;
    backend->data = data;
    while ((watch = TAILQ_FIRST(&server->watches)) != NULL)
        redis_wire_watch_end(watch);
    redis_close(server->link.redis, redis_wire_on_closed, server);
}

#define CAPS (LK_CAP_TTL | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS | LK_CAP_BREAK)

/* Not LK_CAP_EVENTS: the other libraries publish nothing when they give the lock back. */
const struct lk_backend_ops backend_redis_string = {
    .scheme = "redis+string:",
    .caps = CAPS,
    .command_size = sizeof(struct wire_sent),
    .open = open_string,
    .close = close_server,
    .run = wire_run,
};

const struct lk_backend_ops backend_redis_redisson = {
    .scheme = "redis+redisson:",
    .caps = CAPS | LK_CAP_EVENTS,
    .command_size = sizeof(struct wire_sent),
    .open = open_redisson,
    .close = close_server,
    .run = wire_run,
};
