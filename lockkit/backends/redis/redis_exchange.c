/* Sends scripts, and answers the commands they are for. */
#include "redis_exchange.h"

#include "redis_answer.h"
#include "redis_scripts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS      5
#define KEY_SIZE  (NAME_MAX_BYTES + sizeof "lk:{}:shared")
#define HEAD      3 /* command and script, which the client fills in; number of keys */
#define TEXT_SIZE 24

struct exchange {
    struct redis_server *server;
    enum redis_script_id script;
    struct redis_call asking, call, wait;
    bool is_asking;
    unsigned running; /* of these */
    bool is_given_back;
    int64_t replicas; /* that have it; -1: not known */
    int64_t deadline_ms, sent_ms;
    char why[sizeof((struct redis_call *)NULL)->message];
    struct lk_holder *found;
    size_t count;
    struct lk_command *commands[];
};

static enum redis_script_id script_of(const struct lk_command *command) {
    switch (command->verb) {
    case LK_ACQUIRE:
        return REDIS_ACQUIRE;
    case LK_RENEW:
        return command->mode == LK_SHARED ? REDIS_RENEW_SHARED : REDIS_RENEW;
    case LK_RELEASE:
        return REDIS_RELEASE;
    case LK_INSPECT:
        return REDIS_INSPECT;
    case LK_BREAK:
        return REDIS_BREAK;
    }
    abort();
}

static bool is_redirection(const char *why) {
    return strncmp(why, "MOVED ", 6) == 0 || strncmp(why, "ASK ", 4) == 0;
}

static void tell_refused(struct exchange *exchange) {
    struct redis_server *server = exchange->server;

    if (!server->is_in_cluster || !is_redirection(exchange->why))
        redis_link_tell_refused(&server->link, exchange->why);
}

static bool needs_replicas(const struct exchange *exchange) {
    const enum redis_script_id script = exchange->script;

    return exchange->server->replicas > 0 &&
           (script == REDIS_ACQUIRE || script == REDIS_RENEW || script == REDIS_RENEW_SHARED);
}

static void issue_one(struct exchange *exchange);

/* What was granted to one who cannot be given it. */
static void give_back(struct exchange *exchange) {
    exchange->is_given_back = true;
    exchange->script = REDIS_RELEASE;
    exchange->commands[0]->verb = LK_RELEASE;
    issue_one(exchange);
}

/* Last line of what calls it. The commands go in their callbacks. */
static void answer(struct exchange *exchange) {
    for (size_t i = 0; i < exchange->count; i++) {
        struct lk_command *command = exchange->commands[i];

        command->why = exchange->why[0] ? exchange->why : NULL;
        command->on_answer(command);
    }
    free(exchange->found);
    free(exchange);
}

/* What was given to too few replicas: true when it is to be given back first. */
static bool doubt(struct exchange *exchange) {
    const struct redis_server *server = exchange->server;
    const bool is_known = exchange->wait.status == REDIS_IS_OK;
    bool was_granted = false;

    for (size_t i = 0; i < exchange->count; i++) {
        struct lk_command *command = exchange->commands[i];

        if (command->status != LK_OK)
            continue;
        was_granted = true;
        command->status =
            is_known || exchange->wait.status == REDIS_IS_REJECTED ? LK_REFUSED : LK_UNKNOWN;
    }
    if (!was_granted)
        return false;
    if (is_known)
        (void)snprintf(exchange->why, sizeof exchange->why,
                       "%" PRId64 " of the %u replicas wanted have it", exchange->replicas,
                       server->replicas);
    else
        memcpy(exchange->why, exchange->wait.message, sizeof exchange->why);
    tell_refused(exchange);
    return exchange->script == REDIS_ACQUIRE && exchange->commands[0]->status == LK_REFUSED;
}

/* Nothing is under way any more. */
static void settle(struct exchange *exchange) {
    if (exchange->is_given_back) {
        exchange->commands[0]->verb = LK_ACQUIRE;
        exchange->commands[0]->status =
            exchange->call.status == REDIS_IS_OK ? LK_REFUSED : LK_UNKNOWN;
    } else if (exchange->call.status == REDIS_IS_REJECTED) {
        memcpy(exchange->why, exchange->call.message, sizeof exchange->why);
        tell_refused(exchange);
    } else if (needs_replicas(exchange) && exchange->replicas < exchange->server->replicas &&
               doubt(exchange)) {
        give_back(exchange);
        return;
    }
    answer(exchange);
}

static void on_reply(struct redis_call *call, const redisReply *reply) {
    struct exchange *exchange = call->data;

    for (size_t i = 0; i < exchange->count; i++) {
        struct lk_command *command = exchange->commands[i];

        command->status = redis_link_status(call);
        if (reply)
            redis_answer_take(exchange->server, command, exchange->sent_ms, reply, i,
                              &exchange->found);
    }
    if (--exchange->running == 0)
        settle(exchange);
}

static void start_wait(struct exchange *exchange);

static void on_waited(struct redis_call *call, const redisReply *reply) {
    struct exchange *exchange = call->data;

    if (reply != NULL && exchange->running > 1) {
        start_wait(exchange);
        return;
    }
    exchange->replicas = reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    if (--exchange->running == 0)
        settle(exchange);
}

static void on_asked(struct redis_call *call, const redisReply *reply) {
    struct exchange *exchange = call->data;

    (void)reply;
    if (--exchange->running == 0)
        settle(exchange);
}

static void start_wait(struct exchange *exchange) {
    const struct redis_server *server = exchange->server;
    char count[TEXT_SIZE], wait_ms[TEXT_SIZE];

    (void)snprintf(count, sizeof count, "%u", server->replicas);
    (void)snprintf(wait_ms, sizeof wait_ms, "%u", server->replicas_ms);
    exchange->wait = (struct redis_call){.argc = 3,
                                         .argv = {"WAIT", count, wait_ms},
                                         .deadline_ms = exchange->deadline_ms,
                                         .data = exchange};
    redis_call_start(server->link.redis, &exchange->wait, on_waited);
}

static void start(struct exchange *exchange, const char **args, int argc, const char *keys) {
    struct redis *redis = exchange->server->link.redis;

    args[2] = keys;
    exchange->call = (struct redis_call){.args = args,
                                         .argc = argc,
                                         .script = redis_scripts[exchange->script],
                                         .is_whole = exchange->is_asking,
                                         .sends = &exchange->commands[0]->round_trips,
                                         .deadline_ms = exchange->deadline_ms,
                                         .data = exchange};
    exchange->replicas = -1;
    exchange->running = 1U + needs_replicas(exchange) + exchange->is_asking;
    if (exchange->is_asking) {
        exchange->asking = (struct redis_call){
            .argc = 1, .argv = {"ASKING"}, .deadline_ms = exchange->deadline_ms, .data = exchange};
        redis_call_start(redis, &exchange->asking, on_asked);
    }
    redis_call_start(redis, &exchange->call, on_reply);
    if (needs_replicas(exchange))
        start_wait(exchange);
}

static void issue_one(struct exchange *exchange) {
    static const char *const suffixes[KEYS] = {"", ":fence", ":queue", ":shared", ":info"};
    static const int counts[] = {[REDIS_ACQUIRE] = 7,
                                 [REDIS_RENEW_SHARED] = 3,
                                 [REDIS_RELEASE] = 2,
                                 [REDIS_BREAK] = 2,
                                 [REDIS_INSPECT] = 0};
    const struct lk_command *command = exchange->commands[0];
    const bool is_shared = command->mode == LK_SHARED && exchange->script == REDIS_ACQUIRE;
    char keys[KEYS][KEY_SIZE], texts[6][TEXT_SIZE];
    const char *args[HEAD + KEYS + 9] = {[HEAD + KEYS] = command->owner ? command->owner : "",
                                         exchange->server->client,
                                         texts[0],
                                         texts[1],
                                         texts[2],
                                         exchange->server->config.label,
                                         texts[3],
                                         texts[4],
                                         texts[5]};

    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(keys[i], KEY_SIZE, "lk:{%s}%s", command->name, suffixes[i]);
        args[HEAD + i] = keys[i];
    }
    (void)snprintf(texts[0], TEXT_SIZE, "%u", command->ttl_ms);
    (void)snprintf(texts[1], TEXT_SIZE, "%" PRIu64, command->fence_above);
    (void)snprintf(texts[2], TEXT_SIZE, "%u", command->patience_ms);
    (void)snprintf(texts[3], TEXT_SIZE, "%u", command->handover);
    (void)snprintf(texts[4], TEXT_SIZE, "%u", command->permits);
    (void)snprintf(texts[5], TEXT_SIZE, "%u", command->limit);
    start(exchange, args, HEAD + KEYS + counts[exchange->script] + 2 * is_shared, "5");
}

struct renewal {
    char key[KEY_SIZE], ttl[TEXT_SIZE];
};

static bool issue_renewals(struct exchange *exchange) {
    const char *args[HEAD + 3 * REDIS_BATCH_MOST];
    struct renewal *renewals = malloc(exchange->count * sizeof *renewals);
    const size_t count = exchange->count;
    char keys[TEXT_SIZE];

    if (!renewals)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct lk_command *command = exchange->commands[i];

        (void)snprintf(renewals[i].key, KEY_SIZE, "lk:{%s}", command->name);
        (void)snprintf(renewals[i].ttl, TEXT_SIZE, "%u", command->ttl_ms);
        args[HEAD + i] = renewals[i].key;
        args[HEAD + count + 2 * i] = command->owner;
        args[HEAD + count + 2 * i + 1] = renewals[i].ttl;
    }
    (void)snprintf(keys, sizeof keys, "%zu", count);
    start(exchange, args, (int)(HEAD + 3 * count), keys);
    free(renewals);
    return true;
}

bool redis_exchange_start(struct redis_server *server, struct redis_sent *const *sent,
                          size_t count) {
    struct exchange *exchange = calloc(1, sizeof *exchange + count * sizeof *exchange->commands);

    if (!exchange)
        return false;
    exchange->server = server;
    exchange->is_asking = server->is_asking;
    exchange->script = script_of(sent[0]->command);
    exchange->deadline_ms = sent[0]->deadline_ms;
    exchange->sent_ms = redis_grants_now_ms();
    exchange->count = count;
    for (size_t i = 0; i < count; i++)
        exchange->commands[i] = sent[i]->command;
    assert(count == 1 || exchange->script == REDIS_RENEW);
    if (exchange->script != REDIS_RENEW) {
        issue_one(exchange);
        return true;
    }
    if (issue_renewals(exchange))
        return true;
    free(exchange);
    return false;
}
