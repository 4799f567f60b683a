/* The Redis client: sends commands in order, each with a deadline, and matches replies to them.
 *
 * A command stands in one queue, a ring, from its start until its reply:
 *
 *     head .. sent   handed to hiredis; replies come in this order
 *     sent .. tail   formatted, waiting for the connection
 *
 * A script that the server does not know goes to the tail once more, with its text.
 *
 * A command that passes its deadline leaves its place empty, so a late reply finds it empty and is
 * dropped. When the connection breaks, all commands up to `sent` have an unknown outcome. The rest
 * waits for the next connection.
 *
 * Calls are also in a list: of running calls, by deadline, or of ended calls. The timer runs the
 * callbacks of ended calls, because a call may end inside a call of the user's. */
#include "redis_internal.h"

#include "clock.h"
#include "fiber.h"
#include "loop.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef REDIS_HAS_TLS
#include <openssl/ssl.h>
#endif

#define PENDING_DEFAULT         16384
#define CONNECT_TIMEOUT_DEFAULT 1000

#define HEAD_SIZE               64 /* of a command's text before its second argument */
#define SHORT_MS                32

/* ---- Commands */

/* Calls with about the same time have a list: below 32 ms, 64 ms, and so on, and the rest. */
static unsigned redis_term(int64_t left_ms) {
    unsigned term = 0;

    while (term < REDIS_TERMS - 1 && left_ms >= (int64_t)SHORT_MS << term)
        term++;
    return term;
}

/* In a list deadlines mostly come in order, so the place is near the end. */
static void link_by_deadline(struct redis *redis, struct redis_call *call) {
    const unsigned term = redis_term(call->deadline_ms - clock_now_ms());
    struct redis_calls *list = &redis->running[term];
    struct redis_call *before = TAILQ_LAST(list, redis_calls);

    call->internal.term = term;
    while (before != NULL && before->deadline_ms > call->deadline_ms)
        before = TAILQ_PREV(before, redis_calls, internal.entry);
    if (before != NULL)
        TAILQ_INSERT_AFTER(list, before, call, internal.entry);
    else
        TAILQ_INSERT_HEAD(list, call, internal.entry);
}

static void redis_unlink(struct redis *redis, struct redis_call *call) {
    TAILQ_REMOVE(&redis->running[call->internal.term], call, internal.entry);
}

/* The running call that is due first; NULL: none. */
static struct redis_call *redis_first(const struct redis *redis) {
    struct redis_call *first = NULL;

    for (unsigned i = 0; i < REDIS_TERMS; i++) {
        struct redis_call *call = TAILQ_FIRST(&redis->running[i]);

        if (call != NULL && (first == NULL || call->deadline_ms < first->deadline_ms))
            first = call;
    }
    return first;
}

static struct redis_place *place_at(struct redis *redis, size_t index) {
    return &redis->places[index % redis->capacity];
}

static void free_text(struct redis_place *place) {
    if (place->text != NULL)
        redisFreeCommand(place->text);
    place->text = NULL;
}

/* Remove the places at the head that wait for no reply. */
static void redis_trim(struct redis *redis) {
    assert(redis->head <= redis->sent && redis->sent <= redis->tail);
    while (redis->head != redis->tail) {
        struct redis_place *place = place_at(redis, redis->head);

        if (place->is_sent || place->call != NULL)
            return;
        if (redis->sent == redis->head)
            redis->sent++;
        redis->head++;
    }
}

static void redis_set_outcome(struct redis_call *call, enum redis_status status,
                              const char *message) {
    call->status = status;
    redis_copy_error(call->message, sizeof call->message, message);
}

static void redis_on_timer(uv_timer_t *timer);

/* Never with 0: a callback that starts a call which ends at once must not keep the loop in its
 * timers. */
void redis_arm(struct redis *redis) {
    const struct redis_call *first = redis_first(redis);
    int64_t now = clock_now_ms(), due = first != NULL ? first->deadline_ms : INT64_MAX;

    if (redis->head != redis->sent && redis->silent_since_ms + REDIS_SILENCE_MS < due)
        due = redis->silent_since_ms + REDIS_SILENCE_MS;
    if (!TAILQ_EMPTY(&redis->ended) || !LIST_EMPTY(&redis->subscriptions.joined))
        due = now;
    if (due == INT64_MAX)
        return;
    if (uv_is_active((uv_handle_t *)&redis->timer) && redis->timer_due_ms <= due)
        return;
    redis->timer_due_ms = due;
    (void)uv_timer_start(&redis->timer, redis_on_timer, due > now ? (uint64_t)(due - now) : 1, 0);
}

/* The call has left its place, or never had one. The timer runs its callback. */
static void end_later(struct redis *redis, struct redis_call *call, enum redis_status status,
                      const char *message) {
    redis_set_outcome(call, status, message);
    TAILQ_INSERT_TAIL(&redis->ended, call, internal.entry);
}

/* End a call before its reply. Its place stays, empty. */
static void redis_end_early(struct redis *redis, struct redis_call *call, const char *why) {
    struct redis_place *place = place_at(redis, call->internal.place);

    assert(place->call == call);
    redis_unlink(redis, call);
    place->call = NULL;
    free_text(place);
    end_later(redis, call, place->is_sent ? REDIS_IS_UNKNOWN : REDIS_IS_NOT_SENT, why);
}

/* Calls that end meanwhile wait for the next turn. */
static void run_ended(struct redis *redis) {
    struct redis_calls ended = TAILQ_HEAD_INITIALIZER(ended);
    struct redis_call *call;

    TAILQ_CONCAT(&ended, &redis->ended, internal.entry);
    while ((call = TAILQ_FIRST(&ended)) != NULL) {
        TAILQ_REMOVE(&ended, call, internal.entry);
        call->internal.cb(call, NULL);
    }
}

/* The reason to look for another server at this address, or NULL. The server is a replica, which a
 * primary becomes after a failover, or has not read its data yet. */
static const char *why_turn(const redisReply *reply) {
    static const char *const codes[][2] = {
        {"READONLY ", "the server is a replica: READONLY"},
        {"MASTERDOWN ", "the server is a replica without its primary: MASTERDOWN"},
        {"LOADING ", "the server is loading its data: LOADING"},
    };

    if (reply->type != REDIS_REPLY_ERROR)
        return NULL;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strncmp(reply->str, codes[i][0], strlen(codes[i][0])) == 0)
            return codes[i][1];
    /* Inside a script, servers before 7.0 put the code elsewhere. */
    return strstr(reply->str, "-READONLY ") != NULL ? codes[0][1] : NULL;
}

/* First all sent commands are answered. Subscriptions end, too: messages are published elsewhere.
 */
static void turn_away(struct redis *redis) {
    const char *why = redis->turning;

    if (why == NULL || redis->head != redis->sent)
        return;
    redis_connection_drop(&redis->connection, why);
    redis_connection_drop(&redis->subscriptions.connection, why);
}

/* Give the command the next place. Its text is ours from now on. */
static void redis_put(struct redis *redis, struct redis_call *call, char *text, size_t length) {
    *place_at(redis, redis->tail) =
        (struct redis_place){.call = call, .text = text, .length = length};
    call->internal.place = redis->tail++;
}

static void flush(struct redis *redis);

static bool is_script_missing(const struct redis_call *call, const redisReply *reply) {
    return call->script != NULL && !call->is_whole && reply->type == REDIS_REPLY_ERROR &&
           strncmp(reply->str, "NOSCRIPT", strlen("NOSCRIPT")) == 0;
}

/* Send the command again, with the script's text instead of its digest. */
static void send_whole(struct redis *redis, struct redis_place *sent) {
    struct redis_call *call = sent->call;
    const struct redis_script *script = call->script;
    const char *rest = strstr(sent->text, script->sha1) + strlen(script->sha1);
    const size_t rest_length = sent->length - (size_t)(rest - sent->text);
    const size_t size = strlen(script->text) + rest_length + HEAD_SIZE;
    const bool is_late = call->deadline_ms <= clock_now_ms();
    char *text = is_late ? NULL : malloc(size);

    call->is_whole = true;
    if (text != NULL) {
        int length = snprintf(text, size, "*%d\r\n$4\r\nEVAL\r\n$%zu\r\n%s", call->argc,
                              strlen(script->text), script->text);

        memcpy(text + length, rest, rest_length);
        free_text(sent);
        redis_put(redis, call, text, (size_t)length + rest_length);
        flush(redis);
    } else {
        free_text(sent);
        redis_unlink(redis, call);
        end_later(redis, call, REDIS_IS_NOT_SENT,
                  is_late ? "the deadline had passed" : "out of memory");
        redis_arm(redis);
    }
}

static void redis_on_reply(redisAsyncContext *context, void *answer, void *arg) {
    const redisReply *reply = answer;
    struct redis *redis = arg;
    struct redis_place *place;
    struct redis_call *call;

    /* The reply is lost with the connection: redis_on_down() treats all of them. */
    if (reply == NULL || redis_connection_context(&redis->connection) != context)
        return;
    place = place_at(redis, redis->head++);
    assert(redis->head <= redis->sent && place->is_sent);
    redis->silent_since_ms = clock_now_ms();
    call = place->call;
    if (redis->turning == NULL)
        redis->turning = why_turn(reply);
    turn_away(redis);
    redis_trim(redis);
    if (call == NULL) /* it was too late */
        return;
    if (is_script_missing(call, reply)) {
        send_whole(redis, place);
        return;
    }
    free_text(place);
    redis_unlink(redis, call);
    redis_set_outcome(call, REDIS_IS_OK, "");
    if (reply->type == REDIS_REPLY_ERROR)
        redis_set_outcome(call, REDIS_IS_REJECTED, reply->str);
    call->internal.cb(call, call->status == REDIS_IS_OK ? reply : NULL);
}

/* Hand waiting commands to hiredis, which sends them when the socket takes them. */
static void flush(struct redis *redis) {
    redisAsyncContext *context = redis_connection_context(&redis->connection);

    if (context == NULL || redis->turning != NULL)
        return;
    if (redis->head == redis->sent)
        redis->silent_since_ms = clock_now_ms();
    for (; redis->sent != redis->tail; redis->sent++) {
        struct redis_place *place = place_at(redis, redis->sent);

        if (place->call == NULL)
            continue;
        if (redisAsyncFormattedCommand(context, redis_on_reply, redis, place->text,
                                       place->length) != REDIS_OK) {
            redis_connection_drop_soon(&redis->connection);
            return;
        }
        place->is_sent = true;
        if (place->call->sends != NULL)
            (*place->call->sends)++;
        if (place->call->script == NULL || place->call->is_whole)
            free_text(place);
    }
    redis_trim(redis);
}

static void redis_on_up(void *data) {
    struct redis *redis = data;

    flush(redis);
    redis_arm(redis);
    if (redis->on_up != NULL)
        redis->on_up(redis->on_up_data);
}

static void redis_on_down(void *data) {
    struct redis *redis = data;

    redis->turning = NULL;
    for (; redis->head != redis->sent; redis->head++) {
        struct redis_place *place = place_at(redis, redis->head);

        if (place->call != NULL)
            redis_end_early(redis, place->call, redis->connection.why);
    }
    redis_trim(redis);
    redis_arm(redis);
    /* Both connections must be to one server, and the next one may be another. */
    if (!redis->is_closing)
        redis_connection_drop(&redis->subscriptions.connection, "the other connection was lost");
}

static bool is_silent(const struct redis *redis, int64_t now) {
    return redis->head != redis->sent && now - redis->silent_since_ms >= REDIS_SILENCE_MS;
}

static bool is_late(const struct redis *redis, int64_t now) {
    const struct redis_call *first = redis_first(redis);

    return first != NULL && first->deadline_ms <= now;
}

/* A loop that was busy or stopped looks at its clock before its sockets. Answers that came in time
 * may still wait there. */
static void take_what_came(struct redis *redis, int64_t now) {
    size_t head = redis->head + 1;

    while (head != redis->head && (is_late(redis, now) || is_silent(redis, now))) {
        head = redis->head;
        redis_connection_read(&redis->connection);
    }
}

static void redis_expire(struct redis *redis) {
    static const char silent[] = "the server answered nothing";
    int64_t now = clock_now_ms();
    char why[128];

    take_what_came(redis, now);
    while (is_late(redis, now)) {
        struct redis_call *call = redis_first(redis);

        if (place_at(redis, call->internal.place)->is_sent)
            (void)snprintf(why, sizeof why, "no answer in time");
        else
            (void)snprintf(why, sizeof why, "not connected: %.100s", redis->connection.why);
        redis_end_early(redis, call, why);
    }
    redis_trim(redis);
    if (is_silent(redis, now)) {
        redis_connection_drop(&redis->connection, silent);
        /* Nothing else would notice soon: subscriptions have nothing to answer. */
        redis_connection_drop(&redis->subscriptions.connection, silent);
    }
}

static void redis_on_timer(uv_timer_t *timer) {
    struct redis *redis = timer->data;

    redis_expire(redis);
    run_ended(redis);
    redis_subscriptions_tell(&redis->subscriptions);
    if (!uv_is_closing((uv_handle_t *)timer))
        redis_arm(redis);
}

/* ---- TLS: the context for the sessions of both connections, see redis_connection.c */

#ifdef REDIS_HAS_TLS

static int redis_init_tls(void **tls) {
    SSL_CTX *context = *tls = SSL_CTX_new(TLS_client_method());

    if (!context)
        return UV_ENOMEM;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
                   SSL_CTX_set_default_verify_paths(context) == 1
               ? 0
               : UV_EIO;
}

static void redis_free_tls(void *tls) {
    SSL_CTX_free(tls);
}

#else

static int redis_init_tls(void **tls) {
    *tls = NULL;
    return UV_ENOTSUP;
}

static void redis_free_tls(void *tls) {
    assert(tls == NULL);
}

#endif

/* ---- Its life */

static void redis_destroy(struct redis *redis) {
    redis_free_tls(redis->tls);
    redis_address_free(&redis->address);
    free(redis->name);
    free(redis->places);
    free(redis);
}

/* Calls that ended since the timer's last turn go first. */
static void redis_on_timer_closed(uv_handle_t *handle) {
    struct redis *redis = handle->data;
    redis_close_cb cb = redis->on_closed;
    void *data = redis->on_closed_data;

    assert(redis_first(redis) == NULL);
    while (!TAILQ_EMPTY(&redis->ended))
        run_ended(redis);
    redis_destroy(redis);
    cb(data);
}

static void on_part_closed(void *data) {
    struct redis *redis = data;

    if (--redis->parts == 0)
        uv_close((uv_handle_t *)&redis->timer, redis_on_timer_closed);
}

/* The part that may fail. */
static int redis_prepare(struct redis *redis, const struct redis_options *options) {
    int status;

    redis->capacity = options->pending ? options->pending : PENDING_DEFAULT;
    redis->places = calloc(redis->capacity, sizeof *redis->places);
    redis->name = strdup(options->name != NULL ? options->name : "redis");
    if (redis->places == NULL || redis->name == NULL)
        return UV_ENOMEM;
    status = redis_address_parse(&redis->address, options->url);
    if (status != 0 || !redis->address.is_tls)
        return status;
    status = redis_init_tls(&redis->tls);
    if (status == UV_ENOTSUP)
        log_error("redis is not opened", "redis=%s why=\"this build has no TLS\"", redis->name);
    return status;
}

int redis_open(struct redis **redis_out, uv_loop_t *loop, const struct redis_options *options) {
    struct redis *redis = calloc(1, sizeof *redis);
    int status;

    if (redis == NULL)
        return UV_ENOMEM;
    status = redis_prepare(redis, options);
    if (status != 0) {
        redis_destroy(redis);
        return status;
    }
    redis->on_up = options->on_up;
    redis->on_up_data = options->data;
    for (unsigned i = 0; i < REDIS_TERMS; i++)
        TAILQ_INIT(&redis->running[i]);
    TAILQ_INIT(&redis->ended);
    loop_ignore_sigpipe();
    (void)uv_timer_init(loop, &redis->timer);
    redis->timer.data = redis;
    redis->connection = (struct redis_connection){.loop = loop,
                                                  .address = &redis->address,
                                                  .tls = redis->tls,
                                                  .name = redis->name,
                                                  .on_closed = on_part_closed,
                                                  .data = redis,
                                                  .timeout_ms = options->connect_timeout_ms
                                                                    ? options->connect_timeout_ms
                                                                    : CONNECT_TIMEOUT_DEFAULT};
    redis->subscriptions.connection = redis->connection;
    redis->subscriptions.connection.use = "subscriptions";
    redis->connection.use = "commands";
    redis->connection.on_up = redis_on_up;
    redis->connection.on_down = redis_on_down;
    redis_connection_open(&redis->connection);
    *redis_out = redis;
    return 0;
}

void redis_close(struct redis *redis, redis_close_cb cb, void *data) {
    struct redis_call *call;

    if (redis->is_closing)
        return;
    redis->is_closing = true;
    redis->on_closed = cb;
    redis->on_closed_data = data;
    redis->parts = 1;
    redis_connection_close(&redis->connection);
    while ((call = redis_first(redis)) != NULL)
        redis_end_early(redis, call, "closing");
    redis_trim(redis);
    if (redis_subscriptions_close(redis))
        redis->parts++;
}

/* Copy the command to a place of its own. Returns NULL, or why it could not. */
static const char *redis_enqueue(struct redis *redis, struct redis_call *call) {
    const char **args = call->args != NULL ? call->args : call->argv;
    long long length;
    char *text;

    if (call->script != NULL) {
        assert(call->argc >= 3);
        args[0] = call->is_whole ? "EVAL" : "EVALSHA";
        args[1] = call->is_whole ? call->script->text : call->script->sha1;
    }
    if (redis->is_closing)
        return "closing";
    if (call->argc < 1 || (call->argc > REDIS_ARGS_MAX && call->args == NULL))
        return "no command, or too many arguments";
    if (call->deadline_ms <= clock_now_ms())
        return "the deadline had passed";
    if (redis->tail - redis->head >= redis->capacity)
        return "too many commands wait for an answer";
    length = redisFormatCommandArgv(&text, call->argc, args, NULL);
    if (length < 0)
        return "out of memory";
    redis_put(redis, call, text, (size_t)length);
    return NULL;
}

void redis_call_start(struct redis *redis, struct redis_call *call, redis_call_cb cb) {
    const char *why = redis_enqueue(redis, call);

    call->internal.cb = cb;
    if (why != NULL) {
        end_later(redis, call, REDIS_IS_NOT_SENT, why);
    } else {
        link_by_deadline(redis, call);
        flush(redis);
    }
    redis_arm(redis);
}

static void on_awaited(struct redis_call *call, const redisReply *reply) {
    (void)reply;
    fiber_event_set(call->internal.ended);
}

enum redis_status redis_call_await(struct redis *redis, struct redis_call *call) {
    struct fiber_event ended = FIBER_EVENT_INIT;

    call->internal.ended = &ended;
    redis_call_start(redis, call, on_awaited);
    fiber_event_wait(&ended);
    return call->status;
}

static const redisReply *redis_element(const redisReply *reply, size_t index, int type) {
    const bool is_there = reply->type == REDIS_REPLY_ARRAY && index < reply->elements;

    return is_there && reply->element[index]->type == type ? reply->element[index] : NULL;
}

int64_t redis_reply_integer(const redisReply *reply, size_t index) {
    const redisReply *found = redis_element(reply, index, REDIS_REPLY_INTEGER);

    return found != NULL ? found->integer : -1;
}

const char *redis_reply_text(const redisReply *reply, size_t index) {
    const redisReply *found = redis_element(reply, index, REDIS_REPLY_STRING);

    return found != NULL ? found->str : NULL;
}
