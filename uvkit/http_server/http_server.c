/* The server itself: accepts, sweeps out what is late, drains, and counts. */
#include "http_server_internal.h"

#include "log.h"
#include "sigpipe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG          4096 /* connections that may wait while this process is stopped */
#define MOST_CONNECTIONS 10000
/* Accepted in a turn of the loop, so that a crowd of new connections, as after a stop of this
 * process, does not keep those waiting whose requests have arrived. */
#define ACCEPTED_A_TURN 16
/* Connections above the limit that may be open at once to be told so; more are closed unheard. */
#define TURNED_AWAY_AT_ONCE 128
#define DRAIN_SWEEP_MS      100 /* the sweep has less to do then, and the end waits for it */

static void http_server_on_handle_closed(uv_handle_t *handle) {
    struct http_server *server = handle->data;
    http_server_cb cb = server->on_closed;
    void *data = server->on_closed_data;

    assert(server->is_draining && server->open_handles > 0);
    if (--server->open_handles > 0)
        return;
    assert(LIST_EMPTY(&server->inbounds));
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

/* The inbound's last word: its memory becomes the spare or goes. */
static void on_inbound_over(struct http_inbound *inbound) {
    struct http_server *server = inbound->server;

    LIST_REMOVE(inbound, entry);
    if (inbound->is_waiting)
        TAILQ_REMOVE(&server->waiting, inbound, by_turn);
    if (inbound->is_unsent)
        TAILQ_REMOVE(&server->unsent, inbound, unsent);
    http_exchange_free(&inbound->exchange);
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
    http_inbound_start(inbound);
    if (server->stats.connections <= server->options.connection_limit)
        return;
    (void)http_exchange_refuse(&inbound->exchange, 503, "too_many_connections",
                               "the server is at its limit: retry later");
    http_inbound_refuse(inbound);
    if (server->stats.connections > server->options.connection_limit + TURNED_AWAY_AT_ONCE)
        http_inbound_close(inbound, "too many connections");
}

static struct http_inbound *make_inbound(struct http_server *server) {
    struct http_inbound *inbound = server->spare != NULL ? server->spare : malloc(sizeof *inbound);

    if (inbound == NULL)
        return NULL;
    server->spare = malloc(sizeof *server->spare);
    memset(inbound, 0, sizeof *inbound);
    http_inbound_init(inbound, server, on_inbound_over);
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

/* libuv holds one accepted connection until uv_accept() takes it, and listens no further before. */
static void accept_one(struct http_server *server) {
    struct http_inbound *inbound = make_inbound(server);

    server->is_accept_waiting =
        inbound == NULL; /* http_server_on_turn() tries again, after a sweep at least */
    if (inbound != NULL)
        welcome_if(server, inbound,
                   uv_accept((uv_stream_t *)&server->listener, (uv_stream_t *)&inbound->tcp));
}

/* Whom the kernel has connected before the server stops listening has perhaps asked already, and
 * would be reset. */
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

/* After a stall of this process, timers run before input is read. So what is late had to be late at
 * the last sweep too: in between, the loop has read what had come in time. */
static void on_sweep(uv_timer_t *timer) {
    struct http_server *server = timer->data;
    struct http_inbound *inbound;

    LIST_FOREACH (inbound, &server->inbounds, entry)
        if (server->swept_ms >= inbound->deadline_ms && inbound->state != CLOSED)
            http_inbound_time_out(inbound);
    server->swept_ms = (int64_t)uv_now(server->loop);
}

static rlim_t descriptor_limit(void) {
    struct rlimit descriptors;

    return getrlimit(RLIMIT_NOFILE, &descriptors) == 0 ? descriptors.rlim_cur : RLIM_INFINITY;
}

/* Half of the descriptors: the others are for those that are turned away, and for what the handlers
 * connect to. Without any left, libuv hangs up on whoever connects, or tries for ever. */
static unsigned default_connection_limit(void) {
    rlim_t half = descriptor_limit() / 2;

    return half > MOST_CONNECTIONS ? MOST_CONNECTIONS : (unsigned)half;
}

static void on_never(uv_poll_t *room, int status, int events) {
    (void)room;
    (void)status;
    (void)events;
}

/* libuv keeps a table by descriptor, and aborts when there is no memory to let it grow. So it grows
 * now, to hold twice the connections, by a look at a descriptor that is so high. */
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
    sigpipe_ignore();
    *server = made;
    return 0;
}

static void learn_port(struct http_server *server) {
    struct sockaddr_storage address;
    int size = sizeof address;

    if (uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &size) == 0)
        /* sin6_port is at the same place. */
        server->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
}

/* A quarter of the shorter timeout, from 10 ms to a second: nothing is much too late. */
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
    if (err == 0)
        err = uv_timer_start(&server->sweep, on_sweep, period, period);
    if (err == 0)
        learn_port(server);
    return err;
}

int http_server_port(const struct http_server *server) {
    return server->port;
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
        http_inbound_drain(inbound);
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
