/* hiredis' socket, watched by libuv.
 *
 * hiredis frees its context inside its own read and write functions, or inside redisAsyncFree(),
 * which it delays while it runs a callback. Either way it calls `cleanup` first, at times twice,
 * then every pending callback with a NULL reply, and closes the socket. So the handle that watches
 * the socket stops in `cleanup`, in memory of its own that goes when libuv lets go of it; NULL
 * replies are ignored; and a connection is found lost when hiredis has returned. */
#include "redis_internal.h"
#include "text_copy.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static void on_watcher_closed(uv_handle_t *handle) {
    struct redis_watcher *watcher = handle->data;
    struct redis_connection *connection = watcher->connection;

    free(watcher);
    redis_connection_let_go(connection);
}

static void on_ready(uv_poll_t *poll, int status, int events) {
    struct redis_watcher *watcher = poll->data;
    struct redis_connection *connection = watcher->connection;

    if (connection->session)
        redis_tls_forget_errors();
    /* On an error libuv has stopped watching: reading makes hiredis find out what it was. */
    if (watcher->context && (status != 0 || events & UV_READABLE))
        redisAsyncHandleRead(watcher->context);
    connection->is_writing = true;
    if (connection->session)
        redis_tls_forget_errors();
    if (watcher->context && events & UV_WRITABLE)
        redisAsyncHandleWrite(watcher->context);
    connection->is_writing = false;
    if (connection->watcher != watcher)
        return;
    /* On an error the first read may have got what the server said last, and this one gets why. */
    if (watcher->context && status != 0)
        redisAsyncHandleRead(watcher->context);
    if (connection->watcher != watcher)
        return;
    if (!watcher->context)
        redis_connection_go_down(connection);
    else if (status != 0)
        redis_connection_drop(connection, "the connection broke");
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

/* The first byte of a TLS record with an alert, as hiredis tells of it. */
static bool is_answer_in_tls(const char *told) {
    return strstr(told, "got \"\\x15\"") != NULL;
}

static void set_why_it_broke(struct redis_connection *connection, const char *told) {
    char why[sizeof connection->why];

    if (connection->session)
        redis_tls_why(connection->session, told, why, sizeof why);
    else
        text_copy(why, sizeof why,
                  is_answer_in_tls(told) ? "the server speaks TLS: use rediss://" : told);
    redis_connection_set_why(connection, why);
}

/* hiredis closes the socket next: uv_close() takes it out of the poll set at once. */
static void on_cleanup(void *arg) {
    struct redis_watcher *watcher = arg;

    if (!watcher->context)
        return;
    if (watcher->connection->watcher == watcher)
        set_why_it_broke(watcher->connection, watcher->context->c.errstr);
    watcher->context = NULL;
    uv_close((uv_handle_t *)&watcher->poll, on_watcher_closed);
}

int redis_watch(struct redis_connection *connection, redisAsyncContext *context) {
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
