/* Waits for the socket of a libpq connection with uv_poll.
 *
 * While it connects, libpq closes and replaces its socket when it likes, and the new one often gets
 * the old number. So libuv polls a duplicate, which stays valid whatever libpq does, and each step
 * of connecting makes a new one. */
#include "pg_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct pg_watch {
    uv_poll_t poll;
    struct pg_pool *pool;
    struct pg_conn *conn; /* NULL once closing */
    int fd;
    int events;
};

static void on_poll_closed(uv_handle_t *handle) {
    struct pg_watch *watch = handle->data;
    struct pg_pool *pool = watch->pool;

    (void)close(watch->fd);
    free(watch);
    assert(pool->watches > 0);
    pool->watches--;
    pg_pool_maybe_closed(pool);
}

static void on_socket_ready(uv_poll_t *poll, int status, int events) {
    struct pg_watch *watch = poll->data;
    struct pg_pool *pool = watch->pool;

    (void)events;
    if (status < 0)
        watch->events = 0; /* libuv has stopped polling; libpq finds the error */
    pg_conn_step(watch->conn);
    pg_pool_dispatch(pool);
    pg_pool_run_ended(pool);
}

static int open_watch(struct pg_conn *conn) {
    struct pg_watch *watch = malloc(sizeof(*watch));
    int rv = UV_ENOMEM;

    if (watch == NULL)
        return rv;
    *watch = (struct pg_watch){.pool = conn->pool, .conn = conn};
    watch->fd = fcntl(PQsocket(conn->pg), F_DUPFD_CLOEXEC, 0);
    if (watch->fd < 0) {
        rv = uv_translate_sys_error(errno);
        goto err_after_malloc;
    }
    rv = uv_poll_init(conn->pool->loop, &watch->poll, watch->fd);
    if (rv != 0)
        goto err_after_dup;
    watch->poll.data = watch;
    conn->pool->watches++;
    conn->watch = watch;
    return 0;
err_after_dup:
    (void)close(watch->fd);
err_after_malloc:
    free(watch);
    return rv;
}

void pg_watch_close(struct pg_conn *conn) {
    struct pg_watch *watch = conn->watch;

    if (watch == NULL)
        return;
    conn->watch = NULL;
    watch->conn = NULL;
    uv_close((uv_handle_t *)&watch->poll, on_poll_closed);
}

int pg_watch_events(struct pg_conn *conn, int events) {
    struct pg_watch *watch = conn->watch;

    assert(watch->conn == conn);
    /* uv_poll_start() costs two system calls even when nothing changes. */
    if (watch->events == events)
        return 0;
    watch->events = events;
    return uv_poll_start(&watch->poll, events, on_socket_ready);
}

int pg_watch_socket(struct pg_conn *conn, int events) {
    int rv;

    pg_watch_close(conn);
    rv = open_watch(conn);
    return rv != 0 ? rv : pg_watch_events(conn, events);
}
