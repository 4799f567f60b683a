/* The backend of redis://.
 *
 * The holder, the line of waiters and the fencing counter of a lock are keys of one name. Lua
 * scripts (lua/) change them. A command is one exchange of a script. So is a batch of renewals: the
 * renewals that start in one turn of the loop leave together at its end.
 *
 *     [ASKING] script [WAIT] -> answer
 *                         `-- too few replicas: RELEASE -> "refused"
 *
 * WAIT goes directly behind the script, on the same connection. If the server did not know the
 * script, the client sends the script's text, and WAIT again: the first WAIT was answered before
 * the script ran. ASKING is valid for one command only, so a script behind it takes its text along.
 *
 * A script that makes room hands the lock over. Its answer brings the news for other waiters of
 * this client; see redis_answer.h. */
#include "redis_backend.h"

#include "clock.h"
#include "parameter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACQUIRES_MOST       512 /* of one connection, on which the server answers in order */
#define REPLICAS_MS_DEFAULT 100
#define REPLICAS_MOST       99999 /* for `wait` and for `wait_ms` */

#define BATCH_MOST          100 /* renewals in one script */
#define KEYS                5
#define KEY_SIZE            (NAME_MAX_BYTES + sizeof "lk:{}:shared")
#define HEAD                3 /* command and script, filled in by the client; number of keys */
#define TEXT_SIZE           24

/* ---- The scripts */

/* The keys of lock `x` start with `lk:{x}`:
 *   ""      string `owner:fence:label` with a TTL: the exclusive holder
 *   :fence  string: the last fencing token; without a TTL, so that it outlives the lock
 *   :queue  sorted set of the waiting owners, by arrival
 *   :shared sorted set of the sharing owners, by the end of their TTL (ms of the server's clock)
 *   :info   hash by owner: of a waiter `alive:bound:ttl:permits:limit:above+more:client:label`
 *           (alive: until then it counts as waiting), of a sharer `fence:permits:label`; and the
 *           permits taken, under `used`
 *
 * All but the counter expire by themselves. Permits are 0 for LK_EXCLUSIVE.
 *
 * A script that makes room hands over. It grants the lock to the first living waiter in line, and
 * publishes `owner:fence:ttl:now:name` on its client's channel `lk:client:<client>`. A client that
 * gets the message in time holds the lock without asking. If nobody listens on the channel, the
 * grant lasts only as long as the waiter's patience, if that is less than its TTL. The message says
 * so, and ACQUIRE extends it to the whole TTL. If that waiter does not come, the next command skips
 * it. Nobody overtakes: a newcomer goes behind the line, and a waiter that would fit stays behind
 * the first that does not. */
enum redis_script_id {
    /* KEYS lock, fence, queue, shared, info
     * ARGV owner, client, TTL in ms, highest fencing token seen, patience in ms or 0, label,
     *      number of reserved tokens; with LK_SHARED also permits, limit
     * -> {1, fence, news}, or {0, remaining ms or -1, 1 if it stands in line, now, news}
     * now: the server's clock in ms. news: the messages for other owners of the same client, which
     * does not get them on its channel. Either may be missing. */
    REDIS_ACQUIRE,
    /* KEYS locks
     * ARGV owner and TTL in ms of each lock
     * -> 1 or 0 for each lock */
    REDIS_RENEW,
    /* KEYS as REDIS_ACQUIRE
     * ARGV owner, client, TTL in ms
     * -> {1} or {0} */
    REDIS_RENEW_SHARED,
    /* KEYS as REDIS_ACQUIRE
     * ARGV owner, client
     * -> {1, news} or {0, news}, as REDIS_ACQUIRE */
    REDIS_RELEASE,
    /* KEYS as REDIS_ACQUIRE
     * -> two lists, holders and waiters; for each: owner, ms left, fence, permits, label */
    REDIS_INSPECT,
    /* KEYS as REDIS_ACQUIRE
     * ARGV owner, or "" for all; client
     * -> {1, news} or {0, news}, as REDIS_ACQUIRE */
    REDIS_BREAK
};

extern const struct redis_script redis_acquire, redis_renew, redis_renew_shared, redis_release,
    redis_inspect, redis_break;

static const struct {
    const struct redis_script *script;
    int argc; /* number of ARGV for one name; REDIS_ACQUIRE: without LK_SHARED */
} scripts[] = {
    [REDIS_ACQUIRE] = {&redis_acquire, 7},           [REDIS_RENEW] = {&redis_renew, 2},
    [REDIS_RENEW_SHARED] = {&redis_renew_shared, 3}, [REDIS_RELEASE] = {&redis_release, 2},
    [REDIS_INSPECT] = {&redis_inspect, 0},           [REDIS_BREAK] = {&redis_break, 2},
};

static enum redis_script_id script_of(const struct lk_command *command) {
    static const enum redis_script_id ids[] = {[LK_ACQUIRE] = REDIS_ACQUIRE,
                                               [LK_RENEW] = REDIS_RENEW,
                                               [LK_RELEASE] = REDIS_RELEASE,
                                               [LK_INSPECT] = REDIS_INSPECT,
                                               [LK_BREAK] = REDIS_BREAK};

    return command->verb == LK_RENEW && command->mode == LK_SHARED ? REDIS_RENEW_SHARED
                                                                   : ids[command->verb];
}

/* ---- Exchanges */

struct exchange {
    struct redis_server *server;
    enum redis_script_id script;
    struct redis_call asking, call, wait;
    bool is_asking;
    unsigned running; /* calls of these that have not ended */
    bool is_given_back;
    int64_t replicas; /* that have it; -1: not known */
    int64_t deadline_ms, sent_ms;
    char why[sizeof((struct redis_call *)NULL)->message];
    struct lk_holder *found;
    size_t count;
    struct lk_command *commands[];
};

static bool is_redirection(const char *why) {
    return strncmp(why, "MOVED ", 6) == 0 || strncmp(why, "ASK ", 4) == 0;
}

static void redis_backend_tell_refused(struct exchange *exchange) {
    struct redis_server *server = exchange->server;

    if (!server->is_in_cluster || !is_redirection(exchange->why))
        redis_link_tell_refused(&server->link, exchange->why);
}

static bool exchange_needs_replicas(const struct exchange *exchange) {
    const enum redis_script_id script = exchange->script;

    return exchange->server->replicas > 0 &&
           (script == REDIS_ACQUIRE || script == REDIS_RENEW || script == REDIS_RENEW_SHARED);
}

static void exchange_issue(struct exchange *exchange);

/* Release the lock of an owner that must not get it. */
static void exchange_give_back(struct exchange *exchange) {
    exchange->is_given_back = true;
    exchange->script = REDIS_RELEASE;
    exchange->commands[0]->verb = LK_RELEASE;
    exchange_issue(exchange);
}

/* Make it the last line of the calling function. The callbacks may free the commands. */
static void exchange_answer(struct exchange *exchange) {
    for (size_t i = 0; i < exchange->count; i++) {
        struct lk_command *command = exchange->commands[i];

        command->why = exchange->why[0] ? exchange->why : NULL;
        command->on_answer(command);
    }
    free(exchange->found);
    free(exchange);
}

/* Too few replicas have a grant. True: give it back first. */
static bool exchange_doubt(struct exchange *exchange) {
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
    redis_backend_tell_refused(exchange);
    return exchange->script == REDIS_ACQUIRE && exchange->commands[0]->status == LK_REFUSED;
}

/* No call is under way. */
static void exchange_settle(struct exchange *exchange) {
    if (exchange->is_given_back) {
        exchange->commands[0]->verb = LK_ACQUIRE;
        exchange->commands[0]->status =
            exchange->call.status == REDIS_IS_OK ? LK_REFUSED : LK_UNKNOWN;
    } else if (exchange->call.status == REDIS_IS_REJECTED) {
        memcpy(exchange->why, exchange->call.message, sizeof exchange->why);
        redis_backend_tell_refused(exchange);
    } else if (exchange_needs_replicas(exchange) &&
               exchange->replicas < exchange->server->replicas && exchange_doubt(exchange)) {
        exchange_give_back(exchange);
        return;
    }
    exchange_answer(exchange);
}

static void on_script_reply(struct redis_call *call, const redisReply *reply) {
    struct exchange *exchange = call->data;

    for (size_t i = 0; i < exchange->count; i++) {
        struct lk_command *command = exchange->commands[i];

        command->status = redis_link_status(call);
        if (reply != NULL)
            redis_answer_take(&exchange->server->handovers, command, exchange->sent_ms, reply, i,
                              &exchange->found);
    }
    if (--exchange->running == 0)
        exchange_settle(exchange);
}

static void exchange_wait(struct exchange *exchange);

/* An answer to WAIT that comes before the script's means nothing: the script is sent again. */
static void on_waited(struct redis_call *call, const redisReply *reply) {
    struct exchange *exchange = call->data;

    if (exchange->running > 1 && (reply != NULL || call->status == REDIS_IS_UNKNOWN)) {
        exchange_wait(exchange);
        return;
    }
    exchange->replicas = reply != NULL && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    if (--exchange->running == 0)
        exchange_settle(exchange);
}

static void on_asked(struct redis_call *call, const redisReply *reply) {
    struct exchange *exchange = call->data;

    (void)reply;
    if (--exchange->running == 0)
        exchange_settle(exchange);
}

static void exchange_wait(struct exchange *exchange) {
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

static void exchange_send(struct exchange *exchange, const char **args, int argc,
                          const char *keys) {
    struct redis *redis = exchange->server->link.redis;

    args[2] = keys;
    exchange->call = (struct redis_call){.args = args,
                                         .argc = argc,
                                         .script = scripts[exchange->script].script,
                                         .is_whole = exchange->is_asking,
                                         .sends = &exchange->commands[0]->round_trips,
                                         .deadline_ms = exchange->deadline_ms,
                                         .data = exchange};
    exchange->replicas = -1;
    exchange->running = 1U + exchange_needs_replicas(exchange) + exchange->is_asking;
    if (exchange->is_asking) {
        exchange->asking = (struct redis_call){
            .argc = 1, .argv = {"ASKING"}, .deadline_ms = exchange->deadline_ms, .data = exchange};
        redis_call_start(redis, &exchange->asking, on_asked);
    }
    redis_call_start(redis, &exchange->call, on_script_reply);
    if (exchange_needs_replicas(exchange))
        exchange_wait(exchange);
}

static void exchange_issue(struct exchange *exchange) {
    static const char *const suffixes[KEYS] = {"", ":fence", ":queue", ":shared", ":info"};
    const struct lk_command *command = exchange->commands[0];
    const bool is_shared = command->mode == LK_SHARED && exchange->script == REDIS_ACQUIRE;
    char keys[KEYS][KEY_SIZE], texts[6][TEXT_SIZE];
    const char *args[HEAD + KEYS + 9] = {[HEAD + KEYS] =
                                             command->owner != NULL ? command->owner : "",
                                         exchange->server->handovers.client,
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
    exchange_send(exchange, args, HEAD + KEYS + scripts[exchange->script].argc + 2 * is_shared,
                  "5");
}

struct renewal {
    char key[KEY_SIZE], ttl[TEXT_SIZE];
};

static bool exchange_issue_renewals(struct exchange *exchange) {
    const char *args[HEAD + 3 * BATCH_MOST];
    struct renewal *renewals = malloc(exchange->count * sizeof *renewals);
    const size_t count = exchange->count;
    char keys[TEXT_SIZE];

    if (renewals == NULL)
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
    exchange_send(exchange, args, (int)(HEAD + 3 * count), keys);
    free(renewals);
    return true;
}

/* Each of `sent` is answered exactly once, later. If there are several, all are exclusive renewals.
 * False: out of memory, and nothing happened. */
static bool exchange_start(struct redis_server *server, struct redis_sent *const *sent,
                           size_t count) {
    struct exchange *exchange = calloc(1, sizeof *exchange + count * sizeof *exchange->commands);

    if (exchange == NULL)
        return false;
    exchange->server = server;
    exchange->is_asking = server->is_asking;
    exchange->script = script_of(sent[0]->command);
    exchange->deadline_ms = sent[0]->deadline_ms;
    exchange->sent_ms = redis_handovers_now_ms();
    exchange->count = count;
    for (size_t i = 0; i < count; i++)
        exchange->commands[i] = sent[i]->command;
    assert(count == 1 || exchange->script == REDIS_RENEW);
    if (exchange->script != REDIS_RENEW) {
        exchange_issue(exchange);
        return true;
    }
    if (exchange_issue_renewals(exchange))
        return true;
    free(exchange);
    return false;
}

/* ---- Commands */

/* Send renewals of one deadline from the head of `list`, at most one batch. */
static void send_renewals(struct redis_sent_list *list) {
    struct redis_sent *batch[BATCH_MOST], *sent;
    size_t count = 0;

    while ((sent = TAILQ_FIRST(list)) != NULL && !sent->is_answered && count < BATCH_MOST &&
           (count == 0 || sent->deadline_ms == batch[0]->deadline_ms)) {
        TAILQ_REMOVE(list, sent, entry);
        batch[count++] = sent;
    }
    if (count == 0 || exchange_start(batch[0]->server, batch, count))
        return;
    for (size_t i = 0; i < count; i++) {
        batch[i]->is_answered = true;
        batch[i]->command->status = LK_NOMEM;
        TAILQ_INSERT_TAIL(list, batch[i], entry);
    }
}

static void redis_backend_on_turn(uv_idle_t *turn) {
    struct redis_server *server = turn->data;
    struct redis_sent_list due = TAILQ_HEAD_INITIALIZER(due);
    struct redis_sent *sent;

    (void)uv_idle_stop(turn);
    TAILQ_CONCAT(&due, &server->due, entry);
    while ((sent = TAILQ_FIRST(&due)) != NULL) {
        if (!sent->is_answered) {
            send_renewals(&due);
            continue;
        }
        TAILQ_REMOVE(&due, sent, entry);
        sent->command->on_answer(sent->command);
    }
}

/* Whether a hand-over has answered the command. */
static bool was_handed(struct redis_server *server, struct lk_command *command) {
    return (command->verb == LK_ACQUIRE || command->verb == LK_RELEASE) &&
           redis_handovers_take(&server->handovers, command) && command->verb == LK_ACQUIRE;
}

static void server_run(struct lk_backend *backend, struct lk_command *command) {
    struct redis_server *server = (struct redis_server *)backend;
    struct redis_sent *sent = command->internal;
    const bool is_batched =
        command->verb == LK_RENEW && command->mode == LK_EXCLUSIVE && !server->is_in_cluster;

    assert(command->on_answer && strlen(command->name) <= NAME_MAX_BYTES);
    assert(command->owner || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    command->remaining_ms = -1;
    *sent = (struct redis_sent){
        .server = server, .command = command, .deadline_ms = clock_now_ms() + command->reply_ms};
    sent->is_answered = was_handed(server, command);
    if (!sent->is_answered && !is_batched) {
        if (exchange_start(server, &sent, 1))
            return;
        sent->is_answered = true;
        command->status = LK_NOMEM;
    }
    TAILQ_INSERT_TAIL(&server->due, sent, entry);
    (void)uv_idle_start(&server->turn, redis_backend_on_turn);
}

/* ---- Opening and closing */

static void on_server_up(void *data) {
    struct redis_server *server = data;

    redis_handovers_forget(&server->handovers);
}

/* Read `wait` and `wait_ms` of the URL. `*rest`, for free(), is the URL without them. */
static enum lk_status parse_replicas(struct redis_server *server, const char *url, char **rest) {
    server->replicas_ms = REPLICAS_MS_DEFAULT;
    *rest = strdup(url);
    if (*rest == NULL)
        return LK_NOMEM;
    if (parameter_take_number(*rest, "wait", REPLICAS_MOST, &server->replicas) &&
        parameter_take_number(*rest, "wait_ms", REPLICAS_MOST, &server->replicas_ms) &&
        !parameter_has_others(*rest, "db"))
        return LK_OK;
    free(*rest);
    return LK_INVALID;
}

static enum lk_status connect_to(struct redis_server *server) {
    char *url;
    enum lk_status status = parse_replicas(server, server->config.url, &url);

    if (status != LK_OK)
        return status;
    server->handovers.is_asked_too = server->replicas > 0;
    status = redis_link_open(&server->link, server->config.loop, url, on_server_up, server);
    server->handovers.redis = server->link.redis;
    free(url);
    server->config.url = NULL;
    return status;
}

static enum lk_status redis_backend_open_redis(struct lk_backend **backend,
                                               const struct lk_backend_config *config) {
    struct redis_server *server = calloc(1, sizeof *server);
    enum lk_status status = LK_UNSUPPORTED;

    if (server == NULL)
        return LK_NOMEM;
    server->base.ops = &backend_redis;
    server->base.acquires_most = ACQUIRES_MOST;
    server->config = *config;
    TAILQ_INIT(&server->due);
    if (redis_handovers_init(&server->handovers, &server->config))
        status = connect_to(server);
    if (status != LK_OK) {
        free(server);
        return status;
    }
    (void)uv_idle_init(config->loop, &server->turn);
    server->turn.data = server;
    *backend = &server->base;
    return LK_OK;
}

static void server_part_closed(void *data) {
    struct redis_server *server = data;

    if (--server->parts == 0)
        backend_end(&server->base);
}

static void on_turn_closed(uv_handle_t *turn) {
    server_part_closed(turn->data);
}

static void close_redis(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct redis_server *server = (struct redis_server *)backend;

    assert(TAILQ_EMPTY(&server->due));
    redis_handovers_close(&server->handovers);
    backend->on_closed = cb;
    backend->data = data;
    server->parts = 2;
    uv_close((uv_handle_t *)&server->turn, on_turn_closed);
    redis_close(server->link.redis, server_part_closed, server);
}

const struct lk_backend_ops backend_redis = {
    .scheme = "redis://",
    .caps = LK_CAP_TTL | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS |
            LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_BREAK | LK_CAP_WAITERS | LK_CAP_HANDOVER,
    .command_size = sizeof(struct redis_sent),
    .open = redis_backend_open_redis,
    .close = close_redis,
    .run = server_run,
};
