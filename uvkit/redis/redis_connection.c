/* One connection to Redis that opens itself again: hiredis' socket watched by libuv.
 *
 *     pause -> attempt: connect, AUTH, SELECT, CLIENT SETNAME, PING -> up
 *       ^        |  refused, an error reply, too long                 |
 *       +--------+----------------------------------------------------+  broken or dropped
 *
 * hiredis frees its context inside its own read and write functions, or inside redisAsyncFree(),
 * which it delays while it runs a callback. Either way it calls `cleanup` first, at times twice,
 * then every pending callback with a NULL reply, and closes the socket. So the handle that watches
 * the socket stops in `cleanup`, in memory of its own that goes when libuv lets go of it; NULL
 * replies are ignored; and a connection is found lost when hiredis has returned. */
#include "redis_internal.h"

#include "backoff.h"
#include "clock.h"
#include "log.h"
#include "text_copy.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_LEAST_MS 20
#define PAUSE_MOST_MS  1000

/* In REDIS_REFUSED_MS so many connections may end by a refusal; then there is none for that long.
 */
#define REFUSALS_MOST 3

struct redis_watcher {
    uv_poll_t poll;
    struct redis_connection *connection;
    redisAsyncContext *context; /* NULL once hiredis is freeing it */
    int events;
};

void redis_copy_error(char *to, size_t size, const char *text) {
    const char *repeated = strstr(text, ", with args");
    size_t length = repeated ? (size_t)(repeated - text) : strlen(text);

    (void)snprintf(to, size, "%.*s", (int)length, text);
}

static void set_why(struct redis_connection *connection, const char *why) {
    redis_copy_error(connection->why, sizeof connection->why, why);
}

static void let_go(struct redis_connection *connection) {
    assert(connection->handles > 0);
    if (--connection->handles == 0 && connection->is_closing)
        connection->on_closed(connection->data);
}

static void on_watcher_closed(uv_handle_t *handle) {
    struct redis_watcher *watcher = handle->data;
    struct redis_connection *connection = watcher->connection;

    free(watcher);
    let_go(connection);
}

static void on_own_handle_closed(uv_handle_t *handle) {
    let_go(handle->data);
}

/* Once, and again when there is another reason; or after a while, when it comes and goes. */
static void tell_down(struct redis_connection *connection) {
    char why[160];
    unsigned left_out;
    bool is_again = strcmp(connection->told, connection->why) == 0;

    if (connection->is_told_down && is_again)
        return;
    if (!log_limit_pass(&connection->telling, clock_now_ms(), &left_out) &&
        (connection->is_told_down || is_again))
        return;
    connection->is_told_down = true;
    text_copy(connection->told, sizeof connection->told, connection->why);
    log_warn("redis is down", "redis=%s use=%s why=%s", connection->name, connection->use,
             log_quote(why, sizeof why, connection->why));
}

static void tell_refused(struct redis_connection *connection) {
    char why[160];

    if (!connection->is_told_refused)
        log_warn("redis refuses subscriptions", "redis=%s why=%s", connection->name,
                 log_quote(why, sizeof why, connection->why));
    connection->is_told_refused = true;
}

static void tell_up(struct redis_connection *connection) {
    if (connection->is_told_down)
        log_info("redis is up", "redis=%s use=%s", connection->name, connection->use);
    connection->is_told_down = false;
}

static void on_pause_over(uv_timer_t *timer);

/* To a SUBSCRIBE that the user may not do hiredis answers by closing. */
static bool is_refused(const struct redis_connection *connection) {
    return connection->on_refused && strncmp(connection->why, "NOPERM", strlen("NOPERM")) == 0;
}

/* Whether to be without a connection until the rights may have changed. */
static bool leave_for_a_while(struct redis_connection *connection) {
    int64_t now = clock_now_ms();

    if (now - connection->refused_since_ms >= REDIS_REFUSED_MS) {
        connection->refused_since_ms = now;
        connection->refusals = 0;
    }
    return !connection->on_refused(connection->data) || ++connection->refusals > REFUSALS_MOST;
}

/* Tell why, and say how long to wait before the next attempt. */
static uint64_t choose_pause_ms(struct redis_connection *connection, bool was_up) {
    bool was_refused = was_up && is_refused(connection);

    if (was_refused)
        tell_refused(connection);
    else
        tell_down(connection);
    if (was_refused && leave_for_a_while(connection))
        return REDIS_REFUSED_MS;
    /* One that breaks as soon as it is up must not be made again at full speed. */
    if (was_up && clock_now_ms() - connection->up_since_ms >= PAUSE_MOST_MS)
        connection->attempts = 0;
    return backoff_ms(connection->attempts++, PAUSE_LEAST_MS, PAUSE_MOST_MS);
}

static void go_down(struct redis_connection *connection) {
    bool was_up = connection->is_up;

    connection->watcher = NULL;
    connection->is_up = false;
    if (!connection->is_closing)
        (void)uv_timer_start(&connection->timer, on_pause_over, choose_pause_ms(connection, was_up),
                             0);
    if (was_up)
        connection->on_down(connection->data);
}

void redis_connection_drop(struct redis_connection *connection, const char *why) {
    struct redis_watcher *watcher = connection->watcher;

    if (!watcher)
        return;
    set_why(connection, why);
    connection->watcher = NULL;
    if (watcher->context)
        redisAsyncFree(watcher->context);
    go_down(connection);
}

static void on_ready(uv_poll_t *poll, int status, int events) {
    struct redis_watcher *watcher = poll->data;
    struct redis_connection *connection = watcher->connection;

    /* On an error libuv has stopped watching: reading makes hiredis find out what it was. */
    if (watcher->context && (status != 0 || events & UV_READABLE))
        redisAsyncHandleRead(watcher->context);
    connection->is_writing = true;
    if (watcher->context && events & UV_WRITABLE)
        redisAsyncHandleWrite(watcher->context);
    connection->is_writing = false;
    if (connection->watcher != watcher)
        return;
    if (!watcher->context)
        go_down(connection);
    else if (status != 0)
        redis_connection_drop(connection, uv_strerror(status));
}

void redis_connection_read(struct redis_connection *connection) {
    if (connection->watcher)
        on_ready(&connection->watcher->poll, 0, UV_READABLE);
}

static void watch(struct redis_watcher *watcher, int add, int drop) {
    int events = (watcher->events | add) & ~drop;
    int status;

    if (!watcher->context || events == watcher->events)
        return;
    status =
        events ? uv_poll_start(&watcher->poll, events, on_ready) : uv_poll_stop(&watcher->poll);
    watcher->events = status == 0 ? events : 0; /* unwatched: the limit on silence will end it */
}

static void on_add_read(void *watcher) {
    watch(watcher, UV_READABLE, 0);
}

static void on_delete_read(void *watcher) {
    watch(watcher, 0, UV_READABLE);
}

static void on_turn_over(uv_idle_t *writer) {
    struct redis_connection *connection = writer->data;

    (void)uv_idle_stop(writer);
    if (connection->watcher)
        on_ready(&connection->watcher->poll, 0, UV_WRITABLE);
}

/* A socket that is full, or not connected yet, is watched; else that would be two system calls and
 * a turn of the loop for each write. An idle handle, as the loop does not wait while one is active:
 * one to prepare, started by another such, would be called only after the wait. */
static void on_add_write(void *arg) {
    struct redis_watcher *watcher = arg;
    struct redis_connection *connection = watcher->connection;

    if (connection->is_up && !connection->is_writing)
        (void)uv_idle_start(&connection->writer, on_turn_over);
    else
        watch(watcher, UV_WRITABLE, 0);
}

static void on_delete_write(void *watcher) {
    watch(watcher, 0, UV_WRITABLE);
}

/* hiredis closes the socket next: uv_close() takes it out of the poll set at once. */
static void on_cleanup(void *arg) {
    struct redis_watcher *watcher = arg;

    if (!watcher->context)
        return;
    if (watcher->connection->watcher == watcher)
        set_why(watcher->connection, watcher->context->c.errstr);
    watcher->context = NULL;
    uv_close((uv_handle_t *)&watcher->poll, on_watcher_closed);
}

static int start_watching(struct redis_connection *connection, redisAsyncContext *context) {
    struct redis_watcher *watcher = calloc(1, sizeof *watcher);
    int status;

    assert(connection->watcher == NULL);
    if (!watcher)
        return UV_ENOMEM;
    status = uv_poll_init(connection->loop, &watcher->poll, context->c.fd);
    if (status != 0) {
        free(watcher);
        return status;
    }
    (void)fcntl(context->c.fd, F_SETFD, FD_CLOEXEC); /* hiredis lets programs that we run have it */
    watcher->poll.data = watcher;
    watcher->connection = connection;
    watcher->context = context;
    context->ev.data = watcher;
    context->ev.addRead = on_add_read;
    context->ev.delRead = on_delete_read;
    context->ev.addWrite = on_add_write;
    context->ev.delWrite = on_delete_write;
    context->ev.cleanup = on_cleanup;
    context->data = connection;
    connection->watcher = watcher;
    connection->handles++;
    return 0;
}

/* What a TCP socket gets before anything is sent on it. Keep-alive finds a dead peer where nothing
 * is being sent, as under subscriptions. */
static int prepare_socket(const struct redis_connection *connection, redisContext *context) {
    const struct redis_address *address = connection->address;

    if (address->path)
        return REDIS_OK;
    if (redisEnableKeepAlive(context) != REDIS_OK)
        return REDIS_ERR;
    return address->is_tls && redis_tls_start(connection->tls, context, address->host) != 0
               ? REDIS_ERR
               : REDIS_OK;
}

/* A socket that is connecting, and watched. -1 with `why` set when there is none. */
static int connect_socket(struct redis_connection *connection) {
    const struct redis_address *address = connection->address;
    redisAsyncContext *context = address->path ? redisAsyncConnectUnix(address->path)
                                               : redisAsyncConnect(address->host, address->port);
    int status;

    if (!context) {
        set_why(connection, "out of memory");
        return -1;
    }
    if (context->err || prepare_socket(connection, &context->c) != REDIS_OK) {
        set_why(connection, context->c.errstr[0] ? context->c.errstr : "TLS could not be started");
    } else {
        status = start_watching(connection, context);
        if (status == 0)
            return 0;
        set_why(connection, uv_strerror(status));
    }
    redisAsyncFree(context);
    return -1;
}

/* The connection of a context, if the reply is for it and no error. */
static struct redis_connection *greeted(redisAsyncContext *context, const redisReply *reply) {
    struct redis_connection *connection = context->data;

    if (!reply || !connection->watcher || connection->watcher->context != context)
        return NULL;
    if (reply->type != REDIS_REPLY_ERROR)
        return connection;
    redis_connection_drop(connection, reply->str);
    return NULL;
}

static void on_greeting(redisAsyncContext *context, void *reply, void *arg) {
    (void)arg;
    (void)greeted(context, reply);
}

static void on_pong(redisAsyncContext *context, void *reply, void *arg) {
    struct redis_connection *connection = greeted(context, reply);

    (void)arg;
    if (!connection)
        return;
    assert(!connection->is_up);
    (void)uv_timer_stop(&connection->timer);
    connection->is_up = true;
    connection->up_since_ms = clock_now_ms();
    tell_up(connection);
    connection->on_up(connection->data);
}

/* All at once. The name is a courtesy: a server that refuses it is used all the same. */
static int greet(struct redis_connection *connection) {
    const struct redis_address *address = connection->address;
    redisAsyncContext *context = connection->watcher->context;
    int status = REDIS_OK;

    if (address->user)
        status |= redisAsyncCommand(context, on_greeting, NULL, "AUTH %s %s", address->user,
                                    address->password);
    else if (address->password)
        status |= redisAsyncCommand(context, on_greeting, NULL, "AUTH %s", address->password);
    if (address->db > 0)
        status |= redisAsyncCommand(context, on_greeting, NULL, "SELECT %d", address->db);
    status |= redisAsyncCommand(context, NULL, NULL, "CLIENT SETNAME %s", connection->name);
    return status | redisAsyncCommand(context, on_pong, NULL, "PING");
}

static void on_attempt_too_long(uv_timer_t *timer) {
    redis_connection_drop(timer->data, "no greeting in time");
}

static void on_not_taken(uv_timer_t *timer) {
    redis_connection_drop(timer->data, "out of memory");
}

void redis_connection_drop_soon(struct redis_connection *connection) {
    (void)uv_timer_start(&connection->timer, on_not_taken, 0, 0);
}

static void on_pause_over(uv_timer_t *timer) {
    struct redis_connection *connection = timer->data;

    assert(!connection->is_up && !connection->is_closing);
    (void)uv_timer_start(timer, on_attempt_too_long, connection->timeout_ms, 0);
    if (connect_socket(connection) != 0)
        go_down(connection);
    else if (greet(connection) != REDIS_OK)
        redis_connection_drop(connection, "out of memory");
}

void redis_connection_open(struct redis_connection *connection) {
    (void)uv_timer_init(connection->loop, &connection->timer);
    (void)uv_idle_init(connection->loop, &connection->writer);
    connection->timer.data = connection->writer.data = connection;
    connection->handles = 2;
    set_why(connection, "still connecting");
    (void)uv_timer_start(&connection->timer, on_pause_over, 0, 0);
}

void redis_connection_close(struct redis_connection *connection) {
    if (connection->is_closing)
        return;
    connection->is_closing = true;
    redis_connection_drop(connection, "closing");
    uv_close((uv_handle_t *)&connection->timer, on_own_handle_closed);
    uv_close((uv_handle_t *)&connection->writer, on_own_handle_closed);
}

redisAsyncContext *redis_connection_context(const struct redis_connection *connection) {
    return connection->is_up ? connection->watcher->context : NULL;
}
