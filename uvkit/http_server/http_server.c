/* The server: accepts, feeds the parser, runs handlers in fibers, ends late connections, drains,
 * and counts.
 *
 * http_server_internal.h has the picture of a connection's states. Input is parsed in the server's
 * one buffer, where it was read. Input after the request that is being answered is copied to
 * `pending`. */
#include "http_server_internal.h"

#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_MS    2000
#define LINGER_BYTES (1024 * 1024)
/* A draining server waits so long without a request before it closes a connection. Its peer does
 * not know that it may not ask any more, and a request during our close would be reset (compare
 * nginx's keepalive_min_timeout). */
#define QUIET_MS 500
#define NEVER_MS (INT64_MAX / 2)
/* Requests that a connection may begin in a turn of the loop: enough to make reading cheap, and few
 * compared with all the other connections, which have their turn too. */
#define REQUESTS_A_TURN  16
#define BACKLOG          4096 /* connections that may wait while this process is stopped */
#define MOST_CONNECTIONS 10000
/* Connections accepted in a turn of the loop. A crowd of new connections, for example after a stop
 * of this process, must not delay requests that have arrived. */
#define ACCEPTED_A_TURN 16
/* Connections above the limit that may be open at once to be told so. Further ones are closed
 * unheard. */
#define TURNED_AWAY_AT_ONCE 128
#define DRAIN_SWEEP_MS      100 /* this sweep has less to do, and the end waits for it */

/* ---- Inbound connections */

static void advance(struct http_inbound *inbound);
static void on_next_turn(uv_idle_t *more);

/* Enter a state of the picture. If it lasts longer than `timeout_ms`, the sweep ends it. */
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

/* The reply is on its way, or its peer is gone. */
static void go_on_replied(struct http_inbound *inbound) {
    if (inbound->state == CLOSED) {
        if (inbound->is_handle_closed)
            inbound->on_over(inbound);
        return;
    }
    inbound_move(inbound, REPLYING, (int64_t)inbound->server->options.idle_timeout_ms);
    advance(inbound);
}

static void inbound_refuse(struct http_inbound *inbound) {
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
        inbound_refuse(inbound);
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
    inbound_refuse(inbound);
}

static void inbound_fail(struct http_inbound *inbound) {
    inbound->exchange.keeps_alive = false;
    inbound_refuse(inbound);
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

/* Give the parser up to one request's bytes. Returns how many it took. */
static size_t feed(struct http_inbound *inbound, const char *bytes, size_t length) {
    size_t taken = http_request_feed(inbound, bytes, length);

    if (inbound->state == CLOSED) /* the peer was gone when we sent 100 Continue */
        return length;
    if (inbound->exchange.is_broken)
        inbound_fail(inbound);
    else if (inbound->exchange.is_whole)
        inbound_serve(inbound);
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

/* Close our side, and read the peer's bytes for a while. Closing at once would make the kernel
 * reset the connection, and the peer might lose our last answer (RFC 9112, 9.6). */
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

/* The waiting connections have their share of this turn. */
static void on_next_turn(uv_idle_t *more) {
    struct http_server *server = more->data;
    struct http_inbound *last = TAILQ_LAST(&server->waiting, http_inbounds), *inbound = NULL;

    while (inbound != last) { /* a connection that starts to wait now has had its share */
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
    /* A reply that began before the drain did not say that it is the last on this connection. */
    inbound_move(inbound, IDLE,
                 inbound->server->is_draining ? QUIET_MS
                                              : (int64_t)inbound->server->options.idle_timeout_ms);
    if (!inbound->is_pumping)
        pump_pending(inbound);
}

static void inbound_time_out(struct http_inbound *inbound) {
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

/* Has a request arrived that the loop has not read yet? */
static bool has_unread(const struct http_inbound *inbound) {
    uv_os_fd_t fd;
    int count = 0;

    return uv_fileno((const uv_handle_t *)&inbound->tcp, &fd) == 0 &&
           ioctl(fd, FIONREAD, &count) == 0 && count > 0;
}

static void inbound_drain(struct http_inbound *inbound) {
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

/* ---- Accepting them, and their end */

static void http_server_on_handle_closed(uv_handle_t *handle) {
    struct http_server *server = handle->data;
    http_server_cb cb = server->on_closed;
    void *data = server->on_closed_data;

    assert(server->is_draining && server->open_handles > 0);
    if (--server->open_handles > 0)
        return;
    assert(LIST_EMPTY(&server->inbounds));
    buffer_free(&server->output);
    free(server->spare);
    free(server);
    cb(data);
}

static void close_rest_when_empty(struct http_server *server) {
    if (!server->is_draining || !LIST_EMPTY(&server->inbounds) ||
        uv_is_closing((uv_handle_t *)&server->sweep))
        return;
    uv_close((uv_handle_t *)&server->sweep, http_server_on_handle_closed);
    uv_close((uv_handle_t *)&server->drain, http_server_on_handle_closed);
    uv_close((uv_handle_t *)&server->turn, http_server_on_handle_closed);
    uv_close((uv_handle_t *)&server->more, http_server_on_handle_closed);
    uv_close((uv_handle_t *)&server->sending, http_server_on_handle_closed);
    uv_close((uv_handle_t *)&server->room, http_server_on_handle_closed);
}

/* The end of a connection: its memory becomes the spare, or is freed. */
static void on_inbound_over(struct http_inbound *inbound) {
    struct http_server *server = inbound->server;

    LIST_REMOVE(inbound, entry);
    if (inbound->is_waiting)
        TAILQ_REMOVE(&server->waiting, inbound, by_turn);
    if (inbound->is_unsent)
        TAILQ_REMOVE(&server->unsent, inbound, unsent);
    buffer_free(&inbound->exchange.head);
    buffer_free(&inbound->exchange.body);
    buffer_free(&inbound->exchange.params);
    buffer_free(&inbound->exchange.reply_headers);
    buffer_free(&inbound->pending);
    buffer_free(&inbound->output);
    if (server->spare == NULL)
        server->spare = inbound;
    else
        free(inbound);
    close_rest_when_empty(server);
}

static void welcome(struct http_server *server, struct http_inbound *inbound) {
    server->stats.connections++;
    inbound->number = ++server->accepted;
    (void)uv_tcp_nodelay(&inbound->tcp, 1); /* only a hint */
    read_on(inbound);
    if (server->stats.connections <= server->options.connection_limit)
        return;
    (void)http_exchange_refuse(&inbound->exchange, 503, "too_many_connections",
                               "the server is at its limit: retry later");
    inbound_refuse(inbound);
    if (server->stats.connections > server->options.connection_limit + TURNED_AWAY_AT_ONCE)
        http_inbound_close(inbound, "too many connections");
}

static struct http_inbound *make_inbound(struct http_server *server) {
    struct http_inbound *inbound = server->spare != NULL ? server->spare : malloc(sizeof *inbound);

    if (inbound == NULL)
        return NULL;
    server->spare = malloc(sizeof *server->spare);
    memset(inbound, 0, sizeof *inbound);
    (void)uv_tcp_init(server->loop, &inbound->tcp); /* makes no socket yet: cannot fail */
    inbound->server = server;
    inbound->on_written = advance;
    inbound->on_over = on_inbound_over;
    inbound->tcp.data = inbound;
    inbound->deadline_ms = (int64_t)uv_now(server->loop) + (int64_t)server->options.idle_timeout_ms;
    http_request_init(inbound);
    LIST_INSERT_HEAD(&server->inbounds, inbound, entry);
    return inbound;
}

static void welcome_if(struct http_server *server, struct http_inbound *inbound, int err) {
    if (err == 0) {
        welcome(server, inbound);
        return;
    }
    server->stats.connections++;
    http_inbound_close(inbound, uv_strerror(err));
}

/* libuv holds one accepted connection until uv_accept() takes it, and accepts no other until then.
 */
static void accept_one(struct http_server *server) {
    struct http_inbound *inbound = make_inbound(server);

    server->is_accept_waiting =
        inbound == NULL; /* http_server_on_turn() tries again, after a sweep at least */
    if (inbound != NULL)
        welcome_if(server, inbound,
                   uv_accept((uv_stream_t *)&server->listener, (uv_stream_t *)&inbound->tcp));
}

/* Connections that the kernel has accepted before the server stops listening may carry a request
 * already, and would be reset. */
static void accept_rest(struct http_server *server) {
    struct http_inbound *inbound;
    uv_os_fd_t listener;
    int socket;

    if (server->is_accept_waiting)
        accept_one(server);
    if (uv_fileno((uv_handle_t *)&server->listener, &listener) != 0)
        return;
    while ((socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        inbound = make_inbound(server);
        if (inbound != NULL)
            welcome_if(server, inbound, uv_tcp_open(&inbound->tcp, socket));
        else
            (void)close(socket);
    }
}

static void on_connection(uv_stream_t *listener, int status) {
    struct http_server *server = listener->data;

    if (status == 0 && ++server->accepted_this_turn > ACCEPTED_A_TURN)
        server->is_accept_waiting = true; /* for http_server_on_turn() */
    else if (status == 0)
        accept_one(server);
    else
        log_warn("connection not accepted", "why=\"%s\"", uv_strerror(status));
}

/* Runs after the input of each turn of the loop. */
static void http_server_on_turn(uv_check_t *turn) {
    struct http_server *server = turn->data;

    server->turns++;
    server->accepted_this_turn = 0;
    if (server->is_accept_waiting && !server->is_draining)
        accept_one(server);
    http_inbound_send_all(server);
}

/* After a stall of this process, timers run before input is read. So a connection must have been
 * late at the last sweep, too: in between, the loop has read all input that came in time. */
static void on_sweep(uv_timer_t *timer) {
    struct http_server *server = timer->data;
    struct http_inbound *inbound;

    LIST_FOREACH (inbound, &server->inbounds, entry)
        if (server->swept_ms >= inbound->deadline_ms && inbound->state != CLOSED)
            inbound_time_out(inbound);
    server->swept_ms = (int64_t)uv_now(server->loop);
}

static rlim_t descriptor_limit(void) {
    struct rlimit descriptors;

    return getrlimit(RLIMIT_NOFILE, &descriptors) == 0 ? descriptors.rlim_cur : RLIM_INFINITY;
}

/* Half of the descriptors. The rest is for connections that are turned away, and for connections of
 * handlers. Without any left, libuv drops new connections, or tries for ever. */
static unsigned default_connection_limit(void) {
    rlim_t half = descriptor_limit() / 2;

    return half > MOST_CONNECTIONS ? MOST_CONNECTIONS : (unsigned)half;
}

static void on_never(uv_poll_t *room, int status, int events) {
    (void)room;
    (void)status;
    (void)events;
}

/* libuv keeps a table by descriptor, and aborts when memory is short while it grows. So let it grow
 * now, to hold twice the connections, by polling a very high descriptor. */
static int http_server_make_room(struct http_server *server) {
    rlim_t most = descriptor_limit() - 1, wanted = 2 * (rlim_t)server->options.connection_limit;
    int low = eventfd(0, EFD_CLOEXEC);
    int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, (int)(wanted < most ? wanted : most));
    int err = high < 0 ? uv_translate_sys_error(errno) : 0;

    if (err == 0)
        err = uv_poll_init(server->loop, &server->room, high);
    if (err == 0) {
        (void)uv_poll_start(&server->room, UV_READABLE, on_never); /* cannot fail */
        (void)uv_poll_stop(&server->room);
    }
    if (high >= 0)
        (void)close(high);
    if (low >= 0)
        (void)close(low);
    return err;
}

static void set_defaults(struct http_server_options *set) {
    set->header_limit = set->header_limit != 0 ? set->header_limit : 16 * 1024;
    set->body_limit = set->body_limit != 0 ? set->body_limit : 64 * 1024;
    set->header_timeout_ms = set->header_timeout_ms != 0 ? set->header_timeout_ms : 10 * 1000;
    set->idle_timeout_ms = set->idle_timeout_ms != 0 ? set->idle_timeout_ms : 60 * 1000;
    set->connection_limit =
        set->connection_limit != 0 ? set->connection_limit : default_connection_limit();
}

int http_server_open(struct http_server **server, uv_loop_t *loop,
                     const struct http_server_options *options) {
    struct http_server *made = calloc(1, sizeof *made);
    int err;

    if (made == NULL)
        return UV_ENOMEM;
    made->loop = loop;
    made->options = *options;
    set_defaults(&made->options);
    made->spare = malloc(sizeof *made->spare);
    err = made->spare != NULL ? http_server_make_room(made) : UV_ENOMEM;
    if (err != 0) {
        free(made->spare);
        free(made);
        return err;
    }
    made->id_seed = uv_hrtime() * UINT64_C(0x9e3779b97f4a7c15);
    (void)uv_tcp_init(loop, &made->listener); /* no socket yet: cannot fail, nor do timers */
    (void)uv_check_init(loop, &made->turn);
    (void)uv_idle_init(loop, &made->more);
    (void)uv_idle_init(loop, &made->sending);
    (void)uv_timer_init(loop, &made->sweep);
    (void)uv_timer_init(loop, &made->drain);
    TAILQ_INIT(&made->waiting);
    TAILQ_INIT(&made->unsent);
    made->listener.data = made->turn.data = made->more.data = made->sending.data = made;
    made->sweep.data = made->drain.data = made->room.data = made;
    made->open_handles = 7;
    loop_ignore_sigpipe();
    *server = made;
    return 0;
}

/* A quarter of the shorter timeout, from 10 ms to a second, so nothing ends much too late. */
static uint64_t sweep_ms(const struct http_server_options *options) {
    uint64_t shorter = options->header_timeout_ms < options->idle_timeout_ms
                           ? options->header_timeout_ms
                           : options->idle_timeout_ms;

    return shorter < 40 ? 10 : shorter > 4000 ? 1000 : shorter / 4;
}

int http_server_listen(struct http_server *server, const char *host, int port) {
    struct sockaddr_storage address = {0};
    uint64_t period = sweep_ms(&server->options);
    int err = uv_ip4_addr(host, port, (struct sockaddr_in *)&address);

    if (err != 0)
        err = uv_ip6_addr(host, port, (struct sockaddr_in6 *)&address);
    if (err == 0)
        err = uv_tcp_bind(&server->listener, (struct sockaddr *)&address, 0);
    if (err == 0)
        err = uv_listen((uv_stream_t *)&server->listener, BACKLOG, on_connection);
    if (err == 0)
        err = uv_check_start(&server->turn, http_server_on_turn);
    return err == 0 ? uv_timer_start(&server->sweep, on_sweep, period, period) : err;
}

int http_server_port(const struct http_server *server) {
    struct sockaddr_in address = {0}; /* or IPv6, with the port at the same place */
    int size = sizeof address;

    (void)uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &size);
    return ntohs(address.sin_port);
}

void http_server_stats(const struct http_server *server, struct http_server_stats *stats) {
    *stats = server->stats;
}

void http_server_cut(struct http_server *server) {
    struct http_inbound *inbound;

    assert(server->is_draining);
    LIST_FOREACH (inbound, &server->inbounds, entry)
        http_inbound_close(inbound, "cut");
}

static void on_drain_timeout(uv_timer_t *timer) {
    http_server_cut(timer->data);
}

void http_server_drain(struct http_server *server, uint64_t timeout_ms, http_server_cb cb,
                       void *data) {
    struct http_inbound *inbound;

    assert(!server->is_draining);
    server->is_draining = true;
    server->on_closed = cb;
    server->on_closed_data = data;
    uv_update_time(server->loop); /* a stale loop time would cut too early */
    accept_rest(server);
    uv_close((uv_handle_t *)&server->listener, http_server_on_handle_closed);
    LIST_FOREACH (inbound, &server->inbounds, entry)
        inbound_drain(inbound);
    if (timeout_ms == 0)
        http_server_cut(server);
    else {
        (void)uv_timer_start(&server->drain, on_drain_timeout, timeout_ms, 0);
        (void)uv_timer_start(&server->sweep, on_sweep, DRAIN_SWEEP_MS, DRAIN_SWEEP_MS);
    }
    close_rest_when_empty(server);
}

void http_server_close(struct http_server *server, http_server_cb cb, void *data) {
    http_server_drain(server, 0, cb, data);
}
