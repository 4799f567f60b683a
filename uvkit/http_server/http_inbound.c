/* One inbound connection: feeds the parser, runs the handler's fiber, writes the reply, ends.
 *
 * The picture of its states is in http_server_internal.h. Input is parsed where it was read, in the
 * server's one buffer; what follows the request that is being answered is copied to `pending`. */
#include "http_server_internal.h"

#include "clock.h"
#include "fiber.h"

#include <assert.h>
#include <sys/ioctl.h>

#define LINGER_MS    2000
#define LINGER_BYTES (1024 * 1024)
/* Without a request, before a server that drains closes a connection: its peer was not told that it
 * may not ask any more, and what it sends while we close would be reset (nginx has
 * keepalive_min_timeout for the same). */
#define QUIET_MS 500
#define NEVER_MS (INT64_MAX / 2)
/* Requests that a connection may begin in a turn of the loop: enough to make reading cheap, and few
 * beside the others, who have theirs in the same turn. */
#define REQUESTS_A_TURN 16

static void advance(struct http_inbound *inbound);
static void on_next_turn(uv_idle_t *more);

/* To a state of the picture, and what it calls for when it lasts longer than `timeout_ms`. */
static void inbound_move(struct http_inbound *inbound, enum http_inbound_state state,
                         int64_t timeout_ms) {
    static const enum http_inbound_state next[][2] = {[IDLE] = {READING, REPLYING},
                                                      [READING] = {HANDLING, REPLYING},
                                                      [HANDLING] = {REPLYING, REPLYING},
                                                      [REPLYING] = {IDLE, LINGERING}};

    assert(inbound->state < LINGERING);
    assert(state == next[inbound->state][0] || state == next[inbound->state][1]);
    inbound->state = state;
    inbound->deadline_ms = (int64_t)uv_now(inbound->server->loop) + timeout_ms;
}

/* The reply is on its way, or there is nobody any more to have it. */
static void go_on_replied(struct http_inbound *inbound) {
    if (inbound->state == CLOSED) {
        http_inbound_maybe_over(inbound);
        return;
    }
    inbound_move(inbound, REPLYING, (int64_t)inbound->server->options.idle_timeout_ms);
    advance(inbound);
}

void http_inbound_refuse(struct http_inbound *inbound) {
    struct http_exchange *exchange = &inbound->exchange;

    inbound->server->stats.refused++;
    http_reply_error(exchange, exchange->refusal.status, exchange->refusal.code, "%s",
                     exchange->refusal.message);
    go_on_replied(inbound);
}

static void run_handler(void *arg) {
    struct http_inbound *inbound = arg;
    struct http_exchange *exchange = &inbound->exchange;
    struct http_server *server = inbound->server;
    int64_t started_ns = clock_now_ns();

    exchange->route->handler(exchange, server->options.data);
    server->stats.handler_ns += (uint64_t)(clock_now_ns() - started_ns);
    assert(inbound->has_handler && server->stats.in_flight > 0);
    server->stats.in_flight--;
    if (!exchange->is_replied)
        http_reply_error(exchange, 500, "failed", "the handler gave no answer");
    if (exchange->reply_left > 0)
        http_inbound_close(inbound, "the reply was cut short");
    if (exchange->is_chunked)
        http_reply_end(exchange);
    inbound->has_handler = false;
    go_on_replied(inbound);
}

static void inbound_serve(struct http_inbound *inbound) {
    struct http_exchange *exchange = &inbound->exchange;

    if (exchange->refusal.status != 0) {
        http_inbound_refuse(inbound);
        return;
    }
    inbound_move(inbound, HANDLING, NEVER_MS);
    inbound->has_handler = true;
    inbound->server->stats.in_flight++;
    if (fiber_start(run_handler, inbound) == 0)
        return;
    inbound->has_handler = false;
    inbound->server->stats.in_flight--;
    (void)http_exchange_refuse_for_memory(exchange);
    http_inbound_refuse(inbound);
}

static void inbound_fail(struct http_inbound *inbound) {
    inbound->exchange.keeps_alive = false;
    http_inbound_refuse(inbound);
}

static void begin_request(struct http_inbound *inbound) {
    struct http_server *server = inbound->server;
    uint64_t id = server->id_seed + ++server->ids;

    inbound_move(inbound, READING, (int64_t)server->options.header_timeout_ms);
    for (unsigned i = 0; i < 16; i++)
        inbound->exchange.id[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
    server->stats.requests++;
    inbound->begun++;
}

static bool has_share_left(struct http_inbound *inbound) {
    if (inbound->turn != inbound->server->turns) {
        inbound->turn = inbound->server->turns;
        inbound->begun = 0;
    }
    return inbound->begun < REQUESTS_A_TURN;
}

/* Never more of a head than its limit. */
static size_t feedable(const struct http_inbound *inbound, size_t length) {
    const struct http_exchange *exchange = &inbound->exchange;
    size_t room = inbound->server->options.header_limit - exchange->head_bytes;

    return exchange->is_head_complete || length < room ? length : room;
}

/* How many bytes that are not body a request may have. After the head come the sizes and extensions
 * of chunks, and trailers: as much again, and enough to send the body in chunks of a byte. */
static size_t head_limit(const struct http_exchange *exchange) {
    size_t limit = exchange->inbound->server->options.header_limit;

    return exchange->is_head_complete ? 2 * limit + 8 * exchange->body.length : limit;
}

/* Give the parser up to one request's bytes; how many it took. */
static size_t feed(struct http_inbound *inbound, const char *bytes, size_t length) {
    struct http_exchange *exchange = &inbound->exchange;
    size_t taken = feedable(inbound, length), body_before = exchange->body.length;
    llhttp_errno_t error;

    (void)http_lines_look(&exchange->lines, bytes, taken);
    error = llhttp_execute(&inbound->parser, bytes, taken);
    if (inbound->state == CLOSED) /* the peer was gone when we told it to continue */
        return length;
    if (error == HPE_PAUSED) {
        taken = (size_t)(llhttp_get_error_pos(&inbound->parser) - bytes);
    } else if (error != HPE_OK) {
        if (exchange->refusal.status == 0)
            http_exchange_refuse_malformed(exchange, &inbound->parser);
        inbound_fail(inbound);
        return length;
    }
    exchange->head_bytes += taken - (exchange->body.length - body_before);
    if (exchange->head_bytes >= head_limit(exchange)) {
        (void)http_exchange_refuse(exchange, 431, "headers_too_large",
                                   "the headers are over the limit: send less");
        inbound_fail(inbound);
    } else if (error == HPE_PAUSED) {
        llhttp_resume(&inbound->parser);
        inbound_serve(inbound);
    }
    return taken;
}

static bool wants_input(const struct http_inbound *inbound) {
    return inbound->state == IDLE || inbound->state == READING;
}

/* Parse and serve until the input is used up, a request waits for its answer, or the connection has
 * had its share of the turn. */
static size_t pump(struct http_inbound *inbound, const char *bytes, size_t length) {
    size_t used = 0;

    inbound->is_pumping = true;
    while (used < length && wants_input(inbound)) {
        bool is_blank = bytes[used] == '\r' || bytes[used] == '\n';

        if (inbound->state == IDLE && is_blank) { /* old clients end a body with a line break */
            used++;
            continue;
        }
        if (inbound->state == IDLE && !has_share_left(inbound))
            break;
        if (inbound->state == IDLE)
            begin_request(inbound);
        used += feed(inbound, bytes + used, length - used);
    }
    inbound->is_pumping = false;
    return used;
}

static void inbound_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct http_inbound *inbound = handle->data;

    (void)suggested;
    *buf = uv_buf_init(inbound->server->input, sizeof inbound->server->input);
}

static void on_input_ended(struct http_inbound *inbound, int status) {
    bool is_unanswered =
        inbound->state == HANDLING || inbound->state == REPLYING || inbound->is_waiting;

    if (status == UV_EOF && is_unanswered) {
        inbound->is_ended = true; /* it may still want the answer */
        (void)uv_read_stop((uv_stream_t *)&inbound->tcp);
        return;
    }
    http_inbound_close(inbound, status == UV_EOF ? "the peer closed" : uv_strerror(status));
}

static void keep_for_later(struct http_inbound *inbound, const char *bytes, size_t length) {
    if (!buffer_append(&inbound->pending, bytes, length)) {
        http_inbound_close(inbound, "no memory for pipelined input");
        return;
    }
    if (inbound->pending.length > inbound->server->options.header_limit) {
        inbound->is_paused = true;
        (void)uv_read_stop((uv_stream_t *)&inbound->tcp);
    }
}

static void wait_for_turn(struct http_inbound *inbound) {
    struct http_server *server = inbound->server;

    assert(inbound->state == IDLE && inbound->pending.length > 0 && !inbound->is_waiting);
    inbound->is_waiting = true;
    TAILQ_INSERT_TAIL(&server->waiting, inbound, by_turn);
    (void)uv_idle_start(&server->more, on_next_turn); /* fails only without one */
}

static void drain_input(struct http_inbound *inbound, size_t length) {
    inbound->drained += length;
    if (inbound->drained > LINGER_BYTES)
        http_inbound_close(inbound, "the peer kept sending after its last answer");
}

static void inbound_on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buf) {
    struct http_inbound *inbound = stream->data;
    size_t used = 0;

    if (length < 0) {
        on_input_ended(inbound, (int)length);
        return;
    }
    if (inbound->pending.length == 0)
        used = pump(inbound, buf->base, (size_t)length);
    if (inbound->state == LINGERING)
        drain_input(inbound, (size_t)length - used);
    else if (inbound->state != CLOSED && used < (size_t)length)
        keep_for_later(inbound, buf->base + used, (size_t)length - used);
    if (wants_input(inbound) && inbound->pending.length > 0 && !inbound->is_waiting)
        wait_for_turn(inbound);
}

static void read_on(struct http_inbound *inbound) {
    int err = uv_read_start((uv_stream_t *)&inbound->tcp, inbound_on_room, inbound_on_read);

    inbound->is_paused = false;
    if (err != 0 && err != UV_EALREADY)
        http_inbound_close(inbound, uv_strerror(err));
}

static void on_shut_down(uv_shutdown_t *request, int status) {
    struct http_inbound *inbound = request->data;

    if (status < 0)
        http_inbound_close(inbound, uv_strerror(status));
}

/* Say that we are done, and read what still comes for a while: closing at once would make the
 * kernel reset the connection, and the peer might lose our last answer (RFC 9112, 9.6). */
static void linger(struct http_inbound *inbound) {
    int err;

    if (inbound->is_ended) {
        http_inbound_close(inbound, "answered, and the peer had closed");
        return;
    }
    inbound_move(inbound, LINGERING, LINGER_MS);
    inbound->shutdown.data = inbound;
    err = uv_shutdown(&inbound->shutdown, (uv_stream_t *)&inbound->tcp, on_shut_down);
    if (err != 0)
        http_inbound_close(inbound, uv_strerror(err));
    else
        read_on(inbound);
}

static void pump_pending(struct http_inbound *inbound) {
    size_t used = pump(inbound, inbound->pending.bytes, inbound->pending.length);

    if (inbound->state == CLOSED || inbound->state == LINGERING)
        used = inbound->pending.length;
    buffer_drop_front(&inbound->pending, used);
    if (!wants_input(inbound))
        return;
    if (inbound->pending.length > 0)
        wait_for_turn(inbound);
    else if (inbound->is_ended)
        http_inbound_close(inbound, "the peer closed");
    else if (inbound->is_paused)
        read_on(inbound);
}

/* Those that wait have their share of this turn. */
static void on_next_turn(uv_idle_t *more) {
    struct http_server *server = more->data;
    struct http_inbound *last = TAILQ_LAST(&server->waiting, http_inbounds), *inbound = NULL;

    while (inbound != last) { /* who comes to wait meanwhile has had its share */
        inbound = TAILQ_FIRST(&server->waiting);
        TAILQ_REMOVE(&server->waiting, inbound, by_turn);
        inbound->is_waiting = false;
        if (inbound->state != CLOSED)
            pump_pending(inbound);
    }
    if (TAILQ_EMPTY(&server->waiting))
        (void)uv_idle_stop(more);
}

static void advance(struct http_inbound *inbound) {
    if (inbound->state != REPLYING || inbound->writes > 0 || inbound->is_unsent)
        return;
    if (!inbound->exchange.keeps_alive) {
        linger(inbound);
        return;
    }
    http_exchange_reset(&inbound->exchange);
    /* A reply that had begun before it drains has not said that it is the last on here. */
    inbound_move(inbound, IDLE,
                 inbound->server->is_draining ? QUIET_MS
                                              : (int64_t)inbound->server->options.idle_timeout_ms);
    if (!inbound->is_pumping)
        pump_pending(inbound);
}

void http_inbound_time_out(struct http_inbound *inbound) {
    if (inbound->state == READING) {
        (void)http_exchange_refuse(&inbound->exchange, 408, "timeout",
                                   "the request took too long to arrive");
        inbound_fail(inbound);
    } else {
        http_inbound_close(inbound, inbound->state == IDLE        ? "idle for too long"
                                    : inbound->state == LINGERING ? "answered"
                                                                  : "the peer does not read");
    }
}

/* A request has arrived that the loop has not read yet. */
static bool has_unread(const struct http_inbound *inbound) {
    uv_os_fd_t fd;
    int count = 0;

    return uv_fileno((const uv_handle_t *)&inbound->tcp, &fd) == 0 &&
           ioctl(fd, FIONREAD, &count) == 0 && count > 0;
}

void http_inbound_drain(struct http_inbound *inbound) {
    const struct http_server *server = inbound->server;
    int64_t quiet_until_ms =
        inbound->deadline_ms + QUIET_MS - (int64_t)server->options.idle_timeout_ms;

    if (inbound->state != IDLE || inbound->is_waiting || has_unread(inbound))
        return;
    if (quiet_until_ms <= (int64_t)uv_now(server->loop))
        http_inbound_close(inbound, "draining");
    else if (quiet_until_ms < inbound->deadline_ms)
        inbound->deadline_ms = quiet_until_ms;
}

void http_inbound_init(struct http_inbound *inbound, struct http_server *server,
                       void (*on_over)(struct http_inbound *)) {
    (void)uv_tcp_init(server->loop, &inbound->tcp); /* makes no socket yet: cannot fail */
    inbound->server = server;
    inbound->on_written = advance;
    inbound->on_over = on_over;
    inbound->tcp.data = inbound;
    inbound->exchange.inbound = inbound;
    llhttp_init(&inbound->parser, HTTP_REQUEST, &http_request_callbacks);
    inbound->parser.data = inbound;
    http_exchange_reset(&inbound->exchange);
    inbound->deadline_ms = (int64_t)uv_now(server->loop) + (int64_t)server->options.idle_timeout_ms;
}

void http_inbound_start(struct http_inbound *inbound) {
    (void)uv_tcp_nodelay(&inbound->tcp, 1); /* only a hint */
    read_on(inbound);
}
