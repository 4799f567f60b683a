/* The reply: head and body in one write, or the body in parts after it. No header can break out of
 * its line. Also the socket: a write gives it as much as it takes at once, and the rest later; and
 * its close. */
#include "http_server_internal.h"

#include "decimal.h"
#include "fiber.h"
#include "log.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES  256  /* of the status line and our own headers, which need about 160 at most */
#define REPLY_BYTES 2048 /* a reply up to this size is one piece */
#define SPARE_BYTES (64 * 1024)
#define CHUNK_LINE  (2 * sizeof(size_t) + 2)

static const char out_of_memory[] =
    "{\"error\":\"out_of_memory\",\"message\":\"the server is short of memory\"}";

/* ---- The socket */

/* A write that the socket did not take at once. */
struct rest {
    uv_write_t request;
    struct http_inbound *inbound;
    char bytes[];
};

static void inbound_socket_on_closed(uv_handle_t *handle) {
    struct http_inbound *inbound = handle->data;

    assert(inbound->state == CLOSED && inbound->server->stats.connections > 0);
    inbound->server->stats.connections--;
    inbound->is_handle_closed = true;
    if (!inbound->has_handler)
        inbound->on_over(inbound);
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

/* Let libuv write the `length` bytes after the first `sent` bytes. */
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

/* An active idle handle keeps the loop from waiting for input, so the turn ends soon. */
static void inbound_socket_on_unsent(uv_idle_t *sending) {
    (void)sending;
}

/* One connection after another uses the same large buffer: to let it grow anew for each costs page
 * faults. */
static void swap_outputs(struct http_server *server, struct http_inbound *inbound) {
    struct buffer output = inbound->output;

    inbound->output = server->output;
    server->output = output;
}

static void http_inbound_queue(struct http_inbound *inbound, uv_buf_t *bufs, unsigned count) {
    struct http_server *server = inbound->server;

    if (inbound->state == CLOSED)
        return;
    if (!inbound->is_unsent) {
        inbound->is_unsent = true;
        if (inbound->output.capacity == 0)
            swap_outputs(server, inbound);
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
    inbound->output.length = 0;
    if (inbound->server->output.capacity == 0 && inbound->output.capacity <= SPARE_BYTES)
        swap_outputs(inbound->server, inbound);
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

/* A write for which a handler waits. */
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

static bool http_inbound_write(struct http_inbound *inbound, const char *bytes, size_t length) {
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

/* ---- The reply */

static const char *status_text(int status) {
    static const char *const texts[] = {[200] = "OK",
                                        [201] = "Created",
                                        [202] = "Accepted",
                                        [204] = "No Content",
                                        [400] = "Bad Request",
                                        [403] = "Forbidden",
                                        [404] = "Not Found",
                                        [405] = "Method Not Allowed",
                                        [408] = "Request Timeout",
                                        [409] = "Conflict",
                                        [413] = "Content Too Large",
                                        [415] = "Unsupported Media Type",
                                        [421] = "Misdirected Request",
                                        [422] = "Unprocessable Content",
                                        [431] = "Request Header Fields Too Large",
                                        [500] = "Internal Server Error",
                                        [501] = "Not Implemented",
                                        [502] = "Bad Gateway",
                                        [503] = "Service Unavailable",
                                        [504] = "Gateway Timeout",
                                        [505] = "HTTP Version Not Supported"};
    size_t code = (size_t)status;

    return code < sizeof texts / sizeof *texts && texts[code] != NULL ? texts[code] : "Unknown";
}

static const char *connection_line(const struct http_exchange *exchange) {
    if (!exchange->keeps_alive)
        return "Connection: close\r\n";
    return exchange->inbound->parser.http_minor == 0 ? "Connection: keep-alive\r\n" : "";
}

/* Every reply has a Date: RFC 9110, 6.6.1. */
static const char *date_line(struct http_server *server) {
    time_t now = time(NULL);
    struct tm tm;

    if (now != server->dated && gmtime_r(&now, &tm) != NULL) {
        server->dated = now;
        (void)strftime(server->date, sizeof server->date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
                       &tm);
    }
    return server->date;
}

static char *write_length(char *to, const struct http_exchange *exchange, int status,
                          size_t length) {
    if (exchange->is_chunked)
        return stpcpy(to, "Transfer-Encoding: chunked\r\n");
    if (status == 204 || exchange->is_stream) /* a 204 may not have one: RFC 9110, 8.6 */
        return to;
    to = stpcpy(to, "Content-Length: ");
    to += decimal_write(to, (int64_t)length);
    return stpcpy(to, "\r\n");
}

/* Without printf, which took a tenth of a service's time under load. Returns the end. */
static char *write_head(char head[HEAD_BYTES], const struct http_exchange *exchange, int status,
                        size_t length) {
    char *to = stpcpy(head, "HTTP/1.1 ");

    to += decimal_write(to, status);
    to = stpcpy(to, " ");
    to = stpcpy(to, status_text(status));
    to = stpcpy(to, "\r\n");
    to = stpcpy(to, date_line(exchange->inbound->server));
    to = write_length(to, exchange, status, length);
    return stpcpy(to, connection_line(exchange));
}

/* For the kernel a write of one piece is cheaper than one of several. */
static void send_together(struct http_inbound *inbound, const uv_buf_t *bufs, unsigned count) {
    char bytes[REPLY_BYTES], *to = bytes;
    uv_buf_t buf;

    for (unsigned i = 0; i < count; i++)
        if (bufs[i].len > 0)
            to = mempcpy(to, bufs[i].base, bufs[i].len);
    buf = uv_buf_init(bytes, (unsigned)(to - bytes));
    http_inbound_send(inbound, &buf, 1);
}

/* `body` NULL: there is none, or it follows. */
static void send_reply(struct http_exchange *exchange, int status, const char *body,
                       size_t length) {
    char head[HEAD_BYTES];
    const char *end = write_head(head, exchange, status, length);
    const unsigned count = exchange->is_head || status == 204 || body == NULL ? 3 : 4;
    uv_buf_t bufs[4];

    assert(end < head + sizeof head);
    bufs[0] = uv_buf_init(head, (unsigned)(end - head));
    bufs[1] = uv_buf_init(exchange->reply_headers.bytes, (unsigned)exchange->reply_headers.length);
    bufs[2] = uv_buf_init((char[]){'\r', '\n'}, 2);
    bufs[3] = uv_buf_init((char *)(uintptr_t)body, (unsigned)length); /* only read */
    if (exchange->is_chunked)
        http_inbound_queue(exchange->inbound, bufs, count);
    else if (bufs[0].len + bufs[1].len + bufs[2].len + (count == 4 ? length : 0) <= REPLY_BYTES)
        send_together(exchange->inbound, bufs, count);
    else
        http_inbound_send(exchange->inbound, bufs, count);
}

/* False: memory for a header was short, and the reply says so. */
static bool http_reply_begin_head(struct http_exchange *exchange, int status,
                                  const char *content_type) {
    struct http_server *server = exchange->inbound->server;

    assert(!exchange->is_replied);
    if (server->is_draining)
        exchange->keeps_alive = false;
    if (content_type != NULL)
        http_reply_header(exchange, "Content-Type", content_type);
    exchange->is_replied = true;
    if (!exchange->has_lost_header) {
        server->stats.by_status_class[status / 100 % 6]++;
        return true;
    }
    server->stats.by_status_class[5]++;
    exchange->reply_headers.length = 0;
    send_reply(exchange, 500, out_of_memory, sizeof out_of_memory - 1);
    return false;
}

void http_reply(struct http_exchange *exchange, int status, const char *content_type,
                const char *body, size_t length) {
    if (http_reply_begin_head(exchange, status, content_type))
        send_reply(exchange, status, body, length);
}

bool http_reply_begin(struct http_exchange *exchange, int status, const char *content_type,
                      size_t length) {
    if (!http_reply_begin_head(exchange, status, content_type))
        return false;
    send_reply(exchange, status, NULL, length);
    exchange->reply_left = exchange->is_head ? 0 : length;
    return exchange->reply_left > 0;
}

bool http_reply_stream(struct http_exchange *exchange, int status, const char *content_type) {
    exchange->keeps_alive = false;
    if (!http_reply_begin_head(exchange, status, content_type))
        return false;
    exchange->is_stream = true;
    send_reply(exchange, status, NULL, 0);
    return !exchange->is_head;
}

bool http_reply_chunked(struct http_exchange *exchange, int status, const char *content_type) {
    if (exchange->is_head || exchange->inbound->parser.http_minor == 0) /* 1.0 has no chunks */
        return http_reply_stream(exchange, status, content_type);
    if (!http_reply_begin_head(exchange, status, content_type))
        return false;
    exchange->is_chunked = true;
    send_reply(exchange, status, NULL, 0);
    return true;
}

/* The size of a chunk, in hex digits, with its CRLF. Returns the length. */
static unsigned write_chunk_size(char line[CHUNK_LINE], size_t length) {
    static const char digits[] = "0123456789abcdef";
    unsigned places = 1;

    while (length >> 4 * places != 0 && places < 2 * sizeof length)
        places++;
    for (unsigned i = 0; i < places; i++)
        line[i] = digits[length >> 4 * (places - 1 - i) & 0xf];
    memcpy(line + places, "\r\n", 2);
    return places + 2;
}

void http_reply_chunk(struct http_exchange *exchange, const char *bytes, size_t length) {
    char size[CHUNK_LINE];
    uv_buf_t bufs[3];

    assert(exchange->is_chunked || exchange->is_stream);
    assert(length > 0);
    bufs[0] = uv_buf_init(size, write_chunk_size(size, length));
    bufs[1] = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)length); /* only read */
    bufs[2] = uv_buf_init((char[]){'\r', '\n'}, 2);
    if (exchange->is_chunked)
        http_inbound_queue(exchange->inbound, bufs, 3);
    else
        http_inbound_queue(exchange->inbound, &bufs[1], 1);
}

void http_reply_end(struct http_exchange *exchange) {
    static char last[] = "0\r\n\r\n";
    uv_buf_t buf = uv_buf_init(last, sizeof last - 1);

    http_inbound_queue(exchange->inbound, &buf, 1);
}

bool http_reader_is_gone(const struct http_exchange *exchange) {
    return exchange->inbound->is_ended || exchange->inbound->state == CLOSED;
}

bool http_reply_part(struct http_exchange *exchange, const char *bytes, size_t length) {
    assert(exchange->is_replied && (exchange->is_stream || length <= exchange->reply_left));
    if (exchange->is_stream && http_reader_is_gone(exchange))
        return false;
    exchange->reply_left -= exchange->is_stream ? 0 : length;
    return http_inbound_write(exchange->inbound, bytes, length);
}

void http_reply_drop(struct http_exchange *exchange) {
    assert(!exchange->is_replied);
    exchange->is_replied = true;
    http_inbound_close(exchange->inbound, "reply dropped on purpose");
}

void http_reply_json(struct http_exchange *exchange, int status, json_t *json) {
    char small[1024];
    size_t length = json == NULL ? 0 : json_dumpb(json, small, sizeof small, JSON_COMPACT);
    char *large = NULL;

    if (length > sizeof small)
        large = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (length == 0 || (length > sizeof small && large == NULL))
        http_reply(exchange, 500, "application/json", out_of_memory, sizeof out_of_memory - 1);
    else
        http_reply(exchange, status, "application/json", large == NULL ? small : large, length);
    free(large);
}

void http_reply_error(struct http_exchange *exchange, int status, const char *code,
                      const char *format, ...) {
    char message[512], clean[UTF8_ROOM(sizeof message)];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    (void)utf8_clean(clean, message); /* jansson accepts only UTF-8 */
    http_reply_json(exchange, status, json_pack("{s:s, s:s}", "error", code, "message", clean));
}
