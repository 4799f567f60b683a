/* Locks on one Redis server: a string key with a TTL, a counter beside it for fencing tokens, and a
 * channel that tells when the lock was given back.
 *
 * A command is one script by EVALSHA. A server that does not know the script has done nothing, so
 * it is sent again in full. Nothing else is ever sent twice here. */
#include "redis_backend.h"
#include "clock.h"
#include "log.h"
#include "redis.h"
#include "redis_eviction.h"
#include "redis_scripts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE  (NAME_MAX_BYTES + sizeof "lk:{}:fence")
#define HELD_SIZE (OWNER_SIZE + sizeof "18446744073709551615:" + LABEL_MAX_BYTES)

struct server {
    struct lk_backend base;
    struct redis *redis;
    struct lk_backend_config config;
    LIST_HEAD(, watch) watches;
    struct redis_eviction eviction;
    struct log_limit refusals;
    lk_close_cb on_closed;
    void *data;
};

/* A command's part of ours. */
struct sent {
    struct lk_command *command;
    struct server *server;
    struct redis_call call;
};

/* A subscription to what is said of a name, from the first who had to wait for it. */
struct watch {
    struct redis_subscription subscription;
    struct server *server;
    LIST_ENTRY(watch) entry;
    char channel[KEY_SIZE];
    char name[];
};

static int64_t integer_at(const redisReply *reply, size_t index) {
    if (reply->type != REDIS_REPLY_ARRAY || index >= reply->elements ||
        reply->element[index]->type != REDIS_REPLY_INTEGER)
        return -1;
    return reply->element[index]->integer;
}

/* Take `owner:fence:label` apart in place. What was written by others is shown as the owner. */
static void parse_held(char *held, struct lk_holder *holder) {
    char *fence = strchr(held, ':');
    char *label = fence ? strchr(fence + 1, ':') : NULL;

    holder->owner = held;
    holder->label = "";
    if (!label)
        return;
    *fence++ = '\0';
    *label++ = '\0';
    holder->fence = strtoull(fence, NULL, 10);
    holder->label = label;
}

/* What the only holder is told from. */
struct holding {
    struct lk_holder holder;
    char text[HELD_SIZE];
};

static void take_holder(struct lk_command *command, const redisReply *reply,
                        struct holding *holding) {
    if (reply->elements != 3 || reply->element[1]->type != REDIS_REPLY_STRING)
        return;
    (void)snprintf(holding->text, HELD_SIZE, "%s", reply->element[1]->str);
    holding->holder = (struct lk_holder){
        .permits = 1, .mode = LK_EXCLUSIVE, .remaining_ms = integer_at(reply, 2)};
    parse_held(holding->text, &holding->holder);
    command->holders = &holding->holder;
    command->holder_count = 1;
}

static enum lk_status take_reply(struct lk_command *command, const redisReply *reply,
                                 struct holding *holding) {
    bool is_ok = integer_at(reply, 0) == 1;

    switch (command->verb) {
    case LK_ACQUIRE:
        if (is_ok)
            command->fence = (uint64_t)integer_at(reply, 1);
        else
            command->remaining_ms = integer_at(reply, 1);
        return is_ok ? LK_OK : LK_BUSY;
    case LK_RENEW:
    case LK_RELEASE:
        return is_ok ? LK_OK : LK_LOST;
    case LK_INSPECT:
        take_holder(command, reply, holding);
        return LK_OK;
    case LK_BREAK:
        break;
    }
    return LK_UNSUPPORTED;
}

/* In the server's own words, at a bounded rate. */
static void tell_refused(struct server *server, const char *why) {
    char quoted[2 * sizeof((struct redis_call *)NULL)->message];
    unsigned left_out;

    if (log_limit_pass(&server->refusals, clock_now_ms(), &left_out))
        log_warn("redis refuses a lock command", "left_out=%u why=%s", left_out,
                 log_quote(quoted, sizeof quoted, why));
}

static void issue(struct sent *sent, bool is_whole);
static void watch(struct server *server, const char *name);

static void on_reply(struct redis_call *call, const redisReply *reply) {
    struct sent *sent = call->data;
    struct lk_command *command = sent->command;
    bool is_rejected = call->status == REDIS_IS_REJECTED;
    struct holding holding; /* until on_answer() has returned */

    assert(call == &sent->call && sent == command->internal);
    if (is_rejected && strncmp(call->message, "NOSCRIPT", strlen("NOSCRIPT")) == 0) {
        issue(sent, true);
        return;
    }
    if (is_rejected)
        tell_refused(sent->server, call->message);
    switch (call->status) {
    case REDIS_IS_OK:
        command->status = take_reply(command, reply, &holding);
        break;
    case REDIS_IS_REJECTED:
        command->status = LK_REFUSED;
        break;
    case REDIS_IS_NOT_SENT:
        command->status = LK_UNAVAILABLE;
        break;
    case REDIS_IS_UNKNOWN:
        command->status = LK_UNKNOWN;
        break;
    }
    if (command->status == LK_BUSY && command->patience_ms > 0)
        watch(sent->server, command->name);
    command->why = call->status == REDIS_IS_OK ? NULL : call->message;
    command->on_answer(command);
}

/* By digest, or with the script's whole text. */
static void issue(struct sent *sent, bool is_whole) {
    struct lk_command *command = sent->command;
    const struct redis_script *script = &redis_scripts[command->verb];
    char lock[KEY_SIZE], fence[KEY_SIZE], channel[KEY_SIZE], ttl[16], above[24];

    (void)snprintf(lock, sizeof lock, "lk:{%s}", command->name);
    (void)snprintf(fence, sizeof fence, "lk:{%s}:fence", command->name);
    (void)snprintf(channel, sizeof channel, "lk:{%s}:free", command->name);
    (void)snprintf(ttl, sizeof ttl, "%u", command->ttl_ms);
    (void)snprintf(above, sizeof above, "%" PRIu64, command->fence_above);
    sent->call = (struct redis_call){
        .argc = 10,
        .argv = {is_whole ? "EVAL" : "EVALSHA", is_whole ? script->text : script->sha1, "2", lock,
                 fence, command->owner ? command->owner : "", ttl, sent->server->config.label,
                 channel, above},
        .sends = &command->round_trips,
        .deadline_ms = sent->call.deadline_ms, /* the same when it is sent in full */
        .data = sent,
    };
    redis_call_start(sent->server->redis, &sent->call, on_reply);
}

static void run(struct lk_backend *backend, struct lk_command *command) {
    struct sent *sent = command->internal;

    assert(command->on_answer && (command->owner || command->verb == LK_INSPECT));
    assert(command->verb != LK_BREAK);
    assert(strlen(command->name) <= NAME_MAX_BYTES); /* KEY_SIZE has room for it */
    command->remaining_ms = -1;
    sent->command = command;
    sent->server = (struct server *)backend;
    sent->call.deadline_ms = clock_now_ms() + command->reply_ms;
    issue(sent, false);
}

/* NULL, newly effective, is an event as well: the lock may have become free before. */
static void on_message(struct redis_subscription *subscription, const char *message) {
    struct watch *watch = subscription->data;
    const struct lk_backend_config *config = &watch->server->config;

    (void)message;
    config->push(config->data, LK_PUSH_FREE, watch->name, NULL, NULL);
}

/* Without memory for it the poll goes on alone, and the next refusal tries again. */
static void watch(struct server *server, const char *name) {
    struct watch *watch;

    LIST_FOREACH (watch, &server->watches, entry)
        if (strcmp(watch->name, name) == 0)
            return;
    watch = calloc(1, sizeof *watch + strlen(name) + 1);
    if (!watch)
        return;
    strcpy(watch->name, name);
    (void)snprintf(watch->channel, KEY_SIZE, "lk:{%s}:free", name);
    watch->server = server;
    watch->subscription.channel = watch->channel;
    watch->subscription.on_message = on_message;
    watch->subscription.data = watch;
    if (redis_subscribe(server->redis, &watch->subscription) != 0)
        free(watch);
    else
        LIST_INSERT_HEAD(&server->watches, watch, entry);
}

static void on_up(void *data) {
    struct server *server = data;

    redis_eviction_check(&server->eviction, server->redis);
}

static enum lk_status open_redis(struct lk_backend **backend,
                                 const struct lk_backend_config *config) {
    struct redis_options options = {.url = config->url, .name = "lockkit", .on_up = on_up};
    struct server *server = calloc(1, sizeof *server);
    int error;

    if (!server)
        return LK_NOMEM;
    options.data = server;
    server->base.ops = &backend_redis;
    server->config = *config;
    LIST_INIT(&server->watches);
    error = redis_open(&server->redis, config->loop, &options);
    if (error) {
        free(server);
        return error == UV_ENOMEM ? LK_NOMEM : LK_INVALID;
    }
    *backend = &server->base;
    return LK_OK;
}

static void on_closed(void *data) {
    struct server *server = data;
    lk_close_cb cb = server->on_closed;
    void *cb_data = server->data;

    free(server);
    cb(cb_data);
}

static void close_redis(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct server *server = (struct server *)backend;

    struct watch *watch;

    server->on_closed = cb;
    server->data = data;
    while ((watch = LIST_FIRST(&server->watches))) {
        LIST_REMOVE(watch, entry);
        redis_unsubscribe(server->redis, &watch->subscription);
        free(watch);
    }
    redis_close(server->redis, on_closed, server);
}

const struct lk_backend_ops backend_redis = {
    .scheme = "redis://",
    .caps = LK_CAP_TTL | LK_CAP_EVENTS | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS,
    .command_size = sizeof(struct sent),
    .open = open_redis,
    .close = close_redis,
    .run = run,
};
