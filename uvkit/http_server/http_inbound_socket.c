/* The socket of an inbound connection: it is written to, at once what it takes and the rest when it
 * takes more, and it is closed. */
#include "http_server_internal.h"

#include "fiber.h"
#include "log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A write that the socket did not take at once. */
struct rest {
    uv_write_t request;
    struct http_inbound *inbound;
    char bytes[];
};

void http_inbound_maybe_over(struct http_inbound *inbound) {
    if (inbound->is_handle_closed && !inbound->has_handler)
        inbound->on_over(inbound);
}

static void inbound_socket_on_closed(uv_handle_t *handle) {
    struct http_inbound *inbound = handle->data;

    assert(inbound->state == CLOSED && inbound->server->stats.connections > 0);
    inbound->server->stats.connections--;
    inbound->is_handle_closed = true;
    http_inbound_maybe_over(inbound);
}

void http_inbound_close(struct http_inbound *inbound, const char *why) {
    if (inbound->state == CLOSED)
        return;
    log_debug("connection closed", "connection=%" PRIu64 " why=\"%s\"", inbound->number, why);
    inbound->state = CLOSED;
    uv_close((uv_handle_t *)&inbound->tcp, inbound_socket_on_closed);
}

static void inbound_socket_on_written(uv_write_t *request, int status) {
    struct rest *rest = request->data;
    struct http_inbound *inbound = rest->inbound;

    assert(inbound->writes > 0);
    free(rest);
    inbound->writes--;
    if (status < 0)
        http_inbound_close(inbound, uv_strerror(status));
    else
        inbound->on_written(inbound);
}

/* Hand what is behind the first `sent` bytes, `length` bytes, to libuv. */
static int inbound_socket_write_rest(struct http_inbound *inbound, const uv_buf_t *bufs,
                                     unsigned count, size_t sent, size_t length) {
    struct rest *rest = malloc(sizeof *rest + length);
    uv_buf_t buf;
    char *to;
    int err;

    if (rest == NULL)
        return UV_ENOMEM;
    rest->inbound = inbound;
    rest->request.data = rest;
    to = rest->bytes;
    for (unsigned i = 0; i < count; i++) {
        size_t skipped = sent < bufs[i].len ? sent : bufs[i].len;

        if (bufs[i].len > skipped)
            to = mempcpy(to, bufs[i].base + skipped, bufs[i].len - skipped);
        sent -= skipped;
    }
    assert(to == rest->bytes + length);
    buf = uv_buf_init(rest->bytes, (unsigned)length);
    err =
        uv_write(&rest->request, (uv_stream_t *)&inbound->tcp, &buf, 1, inbound_socket_on_written);
    if (err == 0)
        inbound->writes++;
    else
        free(rest);
    return err;
}

void http_inbound_send(struct http_inbound *inbound, uv_buf_t *bufs, unsigned count) {
    size_t length = 0;
    int sent, err = 0;

    if (inbound->state == CLOSED)
        return;
    for (unsigned i = 0; i < count; i++)
        length += bufs[i].len;
    sent = uv_try_write((uv_stream_t *)&inbound->tcp, bufs, count);
    if (sent == UV_EAGAIN)
        sent = 0;
    if (sent < 0)
        err = sent;
    else if ((size_t)sent < length)
        err = inbound_socket_write_rest(inbound, bufs, count, (size_t)sent, length - (size_t)sent);
    if (err != 0)
        http_inbound_close(inbound,
                           err == UV_ENOMEM ? "no memory for the reply" : uv_strerror(err));
}

/* While such a handle is active the loop does not wait for input, so the turn's end is near. */
static void inbound_socket_on_unsent(uv_idle_t *sending) {
    (void)sending;
}

void http_inbound_queue(struct http_inbound *inbound, uv_buf_t *bufs, unsigned count) {
    struct http_server *server = inbound->server;

    if (inbound->state == CLOSED)
        return;
    if (!inbound->is_unsent) {
        inbound->is_unsent = true;
        TAILQ_INSERT_TAIL(&server->unsent, inbound, unsent);
        (void)uv_idle_start(&server->sending,
                            inbound_socket_on_unsent); /* fails only without one */
    }
    for (unsigned i = 0; i < count; i++)
        if (!buffer_append(&inbound->output, bufs[i].base, bufs[i].len)) {
            http_inbound_close(inbound, "no memory for the reply");
            return;
        }
}

static void send_output(struct http_inbound *inbound) {
    uv_buf_t buf = uv_buf_init(inbound->output.bytes, (unsigned)inbound->output.length);

    inbound->is_unsent = false;
    http_inbound_send(inbound, &buf, 1);
    buffer_reset(&inbound->output);
    if (inbound->state != CLOSED)
        inbound->on_written(inbound);
}

void http_inbound_send_all(struct http_server *server) {
    struct http_inbound *inbound;

    while ((inbound = TAILQ_FIRST(&server->unsent)) != NULL) {
        TAILQ_REMOVE(&server->unsent, inbound, unsent);
        send_output(inbound);
    }
    (void)uv_idle_stop(&server->sending);
}

/* A write that a handler waits for. */
struct part {
    uv_write_t request;
    struct http_inbound *inbound;
    struct fiber_event done;
};

static void on_part_written(uv_write_t *request, int status) {
    struct part *part = request->data;

    if (status < 0)
        http_inbound_close(part->inbound, uv_strerror(status));
    fiber_event_set(&part->done);
}

bool http_inbound_write(struct http_inbound *inbound, const char *bytes, size_t length) {
    struct part part = {.inbound = inbound, .done = FIBER_EVENT_INIT, .request.data = &part};
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)length); /* only read */
    const struct http_server *server = inbound->server;
    int64_t deadline_ms = inbound->deadline_ms;
    int err;

    if (inbound->state == CLOSED)
        return false;
    err = uv_write(&part.request, (uv_stream_t *)&inbound->tcp, &buf, 1, on_part_written);
    if (err != 0) {
        http_inbound_close(inbound, uv_strerror(err));
        return false;
    }
    inbound->deadline_ms = (int64_t)uv_now(server->loop) + (int64_t)server->options.idle_timeout_ms;
    fiber_event_wait(&part.done);
    inbound->deadline_ms = deadline_ms;
    return inbound->state != CLOSED;
}
