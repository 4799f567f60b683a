/* The library's handle, driven by libuv.
 *
 *     resolve names -> handle: connecting -> up -> connecting -> ...
 *         ^                        | the server says that the session has expired
 *         +------------------------+
 *
 * How this file treats libzookeeper-st:
 * - The library resolves names when it opens and at each attempt to connect, and blocks. So this
 *   file resolves them, and gives it addresses.
 * - It opens and closes its socket in any of its functions, and the next socket may have the same
 *   number. So libuv watches a duplicate, and the inode tells whether it is still the same socket.
 * - If it closes a socket while it sends, it tells nobody, and requests on that socket stay
 *   unanswered. So `told_up` is compared with its state each time. The next connection is then cut
 *   as well, this time so that the library notices.
 * - zookeeper_close() waits for the server's answer to its last request: 4.5 s if the server is
 *   silent. So it runs on libuv's thread pool, like getaddrinfo(). After a second the connection is
 *   shut down under it. The loop does not touch the handle meanwhile. */
#include "zk_session.h"

#include "clock.h"
#include "log.h"
#include "parameter.h"

#include <assert.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PACKETS_MOST  64   /* to take in before others on the loop get a turn */
#define PAUSE_MS      1000 /* before names are resolved again */
#define SOON_MS       10
#define LOOK_MS       100 /* between two checks of an attempt to connect */
#define CLOSE_MOST_MS 1000
#define DEFAULT_PORT  2181
#define DEFAULT_BASE  "/lockkit"

/* ---- The URL */

/* -1 when it is empty or too long. */
static int zk_url_copy(char *to, size_t size, const char *from, size_t length) {
    if (length == 0 || length >= size)
        return -1;
    memcpy(to, from, length);
    to[length] = '\0';
    return 0;
}

/* A path that ZooKeeper accepts, of plain characters; "/" is the root. */
static int parse_base(struct zk_url *parsed, const char *at, const char *end) {
    size_t length = (size_t)(end - at);

    if (length == 0)
        return zk_url_copy(parsed->base, sizeof parsed->base, DEFAULT_BASE, strlen(DEFAULT_BASE));
    if (length == 1)
        return 0;
    if (zk_url_copy(parsed->base, sizeof parsed->base, at, length) != 0 || end[-1] == '/')
        return -1;
    for (const char *segment = parsed->base; segment != NULL; segment = strchr(segment + 1, '/')) {
        size_t size = strcspn(segment + 1, "/");

        if (size == 0 || (size <= 2 && strspn(segment + 1, ".") == size))
            return -1;
    }
    for (const char *c = parsed->base; *c; c++)
        if (*c <= ' ' || *c > '~')
            return -1;
    return 0;
}

/* "?session=...&fair=...&layout=...", each once at most and in any order. */
static int zk_url_parse_query(struct zk_url *parsed, const char *text) {
    char query[80], value[16];
    unsigned session_ms = parsed->session_ms;

    if (strlen(text) >= sizeof query)
        return -1;
    (void)strcpy(query, text);
    if (!parameter_take_number(query, "session", ZK_SESSION_MOST, &session_ms) ||
        session_ms < ZK_SESSION_LEAST)
        return -1;
    parsed->session_ms = session_ms;
    if (parameter_take(query, "fair", value, sizeof value)) {
        parsed->is_fair = strcmp(value, "1") == 0;
        if (!parsed->is_fair && strcmp(value, "0") != 0)
            return -1;
    }
    if (parameter_take(query, "layout", value, sizeof value)) {
        parsed->layout = strcmp(value, "kazoo") == 0 ? ZK_KAZOO : ZK_CURATOR;
        if (parsed->layout == ZK_CURATOR && strcmp(value, "curator") != 0)
            return -1;
    }
    return query[0] == '\0' ? 0 : -1;
}

int zk_url_parse(struct zk_url *parsed, const char *url) {
    const char *at = url + strlen(ZK_SCHEME), *path, *query;

    *parsed = (struct zk_url){.session_ms = 10000, .is_fair = true};
    if (strncmp(url, ZK_SCHEME, strlen(ZK_SCHEME)) != 0)
        return -1;
    path = at + strcspn(at, "/?");
    query = path + strcspn(path, "?");
    parsed->server_count =
        server_names_parse(parsed->servers, ZK_SERVERS_MOST, at, path, DEFAULT_PORT);
    if (parsed->server_count == 0 || parse_base(parsed, path, query) != 0)
        return -1;
    return zk_url_parse_query(parsed, query);
}

/* ---- The socket; most of these functions do nothing without one */

struct socket {
    uv_poll_t poll;
    int fd; /* our duplicate */
    ino_t inode;
    uint64_t since_ms; /* by uv_now() */
};

static void on_socket_closed(uv_handle_t *handle) {
    struct socket *socket = handle->data;

    (void)close(socket->fd);
    free(socket);
}

static void socket_unwatch(struct socket **socket) {
    if (*socket) {
        (*socket)->poll.data = *socket;
        uv_close((uv_handle_t *)&(*socket)->poll, on_socket_closed);
    }
    *socket = NULL;
}

/* NULL: no memory or descriptor is free now. */
static struct socket *socket_new(uv_loop_t *loop, int fd, ino_t inode) {
    struct socket *socket = malloc(sizeof *socket);

    if (socket == NULL)
        return NULL;
    socket->inode = inode;
    socket->since_ms = uv_now(loop);
    socket->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (socket->fd >= 0 && uv_poll_init(loop, &socket->poll, socket->fd) == 0)
        return socket;
    if (socket->fd >= 0)
        (void)close(socket->fd);
    free(socket);
    return NULL;
}

/* Watch `fd` for `events`. If *socket watches another socket, or `fd` is -1, unwatch that first. 0;
 * -1: it cannot be watched now. `on_ready` gets `data` in its handle. */
static int socket_watch(struct socket **socket, uv_loop_t *loop, int fd, int events,
                        uv_poll_cb on_ready, void *data) {
    struct stat stat = {0};

    if (fd < 0 || fstat(fd, &stat) != 0 || (*socket && (*socket)->inode != stat.st_ino))
        socket_unwatch(socket);
    if (fd < 0 || events == 0)
        return 0;
    if (*socket == NULL)
        *socket = socket_new(loop, fd, stat.st_ino);
    if (*socket == NULL)
        return -1;
    (*socket)->poll.data = data;
    return uv_poll_start(&(*socket)->poll, events, on_ready) == 0 ? 0 : -1;
}

/* Neither send nor receive any more: the socket is ready at once, and the library finds it broken.
 */
static void socket_cut(struct socket *socket) {
    if (socket != NULL)
        (void)shutdown(socket->fd, SHUT_RDWR);
}

/* Hold back data while it is on, and send it in one piece when it goes off. */
static void socket_cork(struct socket *socket, bool is_on) {
    const int on = is_on;

    if (socket != NULL)
        (void)setsockopt(socket->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
}

/* ---- The library's log */

static _Thread_local struct log_limit errors; /* libzookeeper does not say which handle failed */

/* Log the text of an error line: "2026-11-22 14:00:00,000:1234(0x7f00):ZOO_ERROR@handle_error@2000:
 * text". */
static void zk_session_on_log(const char *line) {
    const char *text = strstr(line, ":ZOO_ERROR@");
    char quoted[300];
    unsigned left_out;

    text = text != NULL ? strstr(text, ": ") : NULL;
    if (text != NULL && log_limit_pass(&errors, clock_now_ms(), &left_out))
        log_warn("zookeeper is down", "left_out=%u why=%s", left_out,
                 log_quote(quoted, sizeof quoted, text + 2));
}

/* ---- The handle */

static void resolve_next(struct zk_session *session);

static void on_pause(uv_timer_t *timer) {
    resolve_next(timer->data);
}

/* A new handle for a new session. Names are resolved again, because they may have changed. */
static void session_begin(struct zk_session *session, uint64_t pause_ms) {
    session->resolved = 0;
    session->addresses[0] = '\0';
    if (!session->is_closing)
        (void)uv_timer_start(&session->timer, on_pause, pause_ms, 0);
}

/* Call it with none of the library's functions on the stack. Without a connection it does not
 * block. */
static void end_handle(struct zk_session *session) {
    zhandle_t *handle = session->handle;

    socket_unwatch(&session->socket);
    session->handle = NULL;
    (void)zookeeper_close(handle);
}

/* No server has answered for so long that the session must have expired. Give it up: a new session
 * resolves names that may have moved to other addresses. */
static bool is_hopeless(const struct zk_session *session) {
    return !session->told_up &&
           uv_now(session->loop) > session->down_since_ms + 2 * (uint64_t)session->timeout_ms;
}

/* Tell each change of state. */
static void session_tell(struct zk_session *session) {
    const int state = zoo_state(session->handle);
    const bool is_up = state == ZOO_CONNECTED_STATE;

    if (state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE ||
        (!is_up && is_hopeless(session))) {
        session->told_up = false;
        if (session->id != 0)
            log_warn("a zookeeper session has expired", "session=%llx", (long long)session->id);
        session->id = 0;
        session->events.on_expired(session->events.data);
        end_handle(session);
        session_begin(session, state == ZOO_AUTH_FAILED_STATE ? PAUSE_MS : 0);
    } else if (is_up != session->told_up) {
        session->told_up = is_up;
        session->down_since_ms = uv_now(session->loop);
        session->id = zoo_client_id(session->handle)->client_id;
        session->timeout_ms = (uint32_t)zoo_recv_timeout(session->handle);
        if (is_up)
            log_info("zookeeper is up", "session=%llx timeout_ms=%u", (long long)session->id,
                     session->timeout_ms);
        if (is_up)
            session->events.on_up(session->events.data);
        else
            session->events.on_doubt(session->events.data);
    }
}

/* A server may accept connections and stay silent, or a host may be absent. It must not use up the
 * time of the session: each server gets a share of it, and the library may try one of them twice
 * before it comes to another. A single server gets two shares: while a server of 3.8 starts without
 * its database, it forgets connections and never answers them. */
static bool is_attempt_over(const struct zk_session *session) {
    const size_t servers = session->url->server_count;
    const uint64_t share_ms = session->timeout_ms / 3 / (servers > 1 ? servers : 2);

    return session->socket != NULL && !session->told_up &&
           uv_now(session->loop) >= session->socket->since_ms + share_ms;
}

static void zk_session_on_ready(uv_poll_t *poll, int status, int events);

static int session_watch(struct zk_session *session, int fd, int interest) {
    const int events = (interest & ZOOKEEPER_READ ? UV_READABLE : 0) |
                       (interest & ZOOKEEPER_WRITE ? UV_WRITABLE : 0);

    return socket_watch(&session->socket, session->loop, fd, events, zk_session_on_ready, session);
}

static void zk_session_on_time(uv_timer_t *timer);

/* Ask the library for its next events, and act on its new state. */
static void session_go_on(struct zk_session *session) {
    const bool is_cut = session->told_up && zoo_state(session->handle) == ZOO_NOTCONNECTED_STATE;
    int fd = -1, interest = 0, error;
    struct timeval in = {0};
    uint64_t in_ms;

    if (session->is_closing)
        return;
    error = zookeeper_interest(session->handle, &fd, &interest, &in);
    if (session->is_closing)
        return;
    if (error == ZOK)
        error = session_watch(session, fd, interest);
    else
        socket_unwatch(&session->socket);
    if (is_cut || is_attempt_over(session))
        socket_cut(session->socket);
    in_ms = (uint64_t)in.tv_sec * 1000 + (uint64_t)in.tv_usec / 1000 + 1;
    if (error)
        in_ms = SOON_MS;
    else if (!session->told_up && in_ms > LOOK_MS)
        in_ms = LOOK_MS;
    (void)uv_timer_start(&session->timer, zk_session_on_time, in_ms, 0);
    session_tell(session);
}

static void zk_session_on_time(uv_timer_t *timer) {
    session_go_on(timer->data);
}

static void zk_session_on_ready(uv_poll_t *poll, int status, int events) {
    struct zk_session *session = poll->data;
    int flags =
        (events & UV_READABLE ? ZOOKEEPER_READ : 0) | (events & UV_WRITABLE ? ZOOKEEPER_WRITE : 0);
    int rest = PACKETS_MOST;

    if (status != 0)
        flags = ZOOKEEPER_READ | ZOOKEEPER_WRITE;
    /* Each call takes one packet. It returns ZNOTHING when there is no whole one. */
    while (rest-- > 0 && zookeeper_process(session->handle, flags) == ZOK &&
           (flags & ZOOKEEPER_READ))
        flags = ZOOKEEPER_READ;
    session_go_on(session);
}

/* ---- Opening */

static void open_handle(struct zk_session *session) {
    assert(session->handle == NULL);
    session->handle = zookeeper_init2(session->addresses, NULL, (int)session->url->session_ms, NULL,
                                      NULL, ZOO_NO_LOG_CLIENTENV, zk_session_on_log);
    if (session->handle == NULL) {
        session_begin(session, PAUSE_MS);
        return;
    }
    (void)zoo_set_servers_resolution_delay(session->handle, -1);
    session->timeout_ms = session->url->session_ms;
    session->down_since_ms = uv_now(session->loop);
    session_go_on(session);
}

static void add_address(struct zk_session *session, const struct addrinfo *found) {
    const struct server_name *server = &session->url->servers[session->resolved];
    size_t length = strlen(session->addresses);
    char text[INET6_ADDRSTRLEN];

    if (uv_ip_name(found->ai_addr, text, sizeof text) == 0 &&
        length + strlen(text) + sizeof ",:65535" < sizeof session->addresses)
        (void)snprintf(session->addresses + length, sizeof session->addresses - length, "%s%s:%d",
                       length ? "," : "", text, server->port);
}

static void zk_session_on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *result) {
    struct zk_session *session = request->data;
    const struct server_name *server = &session->url->servers[session->resolved];
    char why[300];
    unsigned left_out;

    session->is_resolving = false;
    for (struct addrinfo *found = result; found != NULL; found = found->ai_next)
        add_address(session, found);
    uv_freeaddrinfo(result);
    if (status != 0 && status != UV_EAI_CANCELED &&
        log_limit_pass(&errors, clock_now_ms(), &left_out))
        log_warn("zookeeper is down", "left_out=%u host=%s why=%s", left_out, server->host,
                 log_quote(why, sizeof why, uv_strerror(status)));
    session->resolved++;
    if (session->is_closing)
        zk_session_turn(session);
    else
        resolve_next(session);
}

static void resolve_next(struct zk_session *session) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    const struct server_name *server = &session->url->servers[session->resolved];

    assert(!session->is_resolving && session->resolved <= session->url->server_count);
    if (session->resolved == session->url->server_count) {
        if (session->addresses[0])
            open_handle(session);
        else
            session_begin(session, PAUSE_MS);
        return;
    }
    session->resolving.data = session;
    session->is_resolving = uv_getaddrinfo(session->loop, &session->resolving,
                                           zk_session_on_resolved, server->host, NULL, &hints) == 0;
    if (!session->is_resolving)
        session_begin(session, PAUSE_MS);
}

/* ---- Closing */

static void zk_session_on_handle_closed(uv_handle_t *handle) {
    struct zk_session *session = handle->data;

    assert(session->is_tearing_down && session->handles > 0);
    if (--session->handles == 0)
        session->on_closed(session->data);
}

static void session_tear_down(struct zk_session *session) {
    uv_close((uv_handle_t *)&session->prepare, zk_session_on_handle_closed);
    uv_close((uv_handle_t *)&session->timer, zk_session_on_handle_closed);
    socket_unwatch(&session->socket);
}

static void zk_session_close_handle(uv_work_t *work) {
    struct zk_session *session = work->data;

    (void)zookeeper_close(session->handle);
}

static void on_handle_gone(uv_work_t *work, int status) {
    (void)status;
    session_tear_down(work->data);
}

static void on_close_late(uv_timer_t *timer) {
    struct zk_session *session = timer->data;

    socket_cut(session->socket);
}

/* Call it with none of the library's functions on the stack. */
static void close_now(struct zk_session *session) {
    if (session->is_tearing_down || session->is_resolving)
        return;
    session->is_tearing_down = true;
    if (session->handle == NULL) {
        session_tear_down(session);
        return;
    }
    if (session->socket != NULL)
        (void)uv_poll_stop(&session->socket->poll);
    (void)uv_timer_start(&session->timer, on_close_late, CLOSE_MOST_MS, 0);
    session->closing.data = session;
    if (uv_queue_work(session->loop, &session->closing, zk_session_close_handle, on_handle_gone) !=
        0) {
        (void)zookeeper_close(session->handle);
        session_tear_down(session);
    }
}

void zk_session_close(struct zk_session *session, void (*cb)(void *data), void *data) {
    assert(!session->is_closing);
    session->is_closing = true;
    session->on_closed = cb;
    session->data = data;
    (void)uv_timer_stop(&session->timer);
    if (session->is_resolving)
        (void)uv_cancel((uv_req_t *)&session->resolving);
    zk_session_turn(session);
}

/* ---- The rest */

static void zk_session_on_prepare(uv_prepare_t *prepare) {
    struct zk_session *session = prepare->data;

    (void)uv_prepare_stop(prepare);
    if (session->is_closing) {
        close_now(session);
        return;
    }
    socket_cork(session->socket, true); /* the library sends each request in two parts */
    session->events.on_turn(session->events.data);
    socket_cork(session->socket, false);
    if (session->handle != NULL && !session->is_closing)
        session_go_on(session); /* it sends the rest, and notices a closed socket */
}

void zk_session_turn(struct zk_session *session) {
    (void)uv_prepare_start(&session->prepare, zk_session_on_prepare);
}

void zk_session_open(struct zk_session *session, uv_loop_t *loop, const struct zk_url *url,
                     const struct zk_session_events *events) {
    session->loop = loop;
    session->url = url;
    session->events = *events;
    (void)uv_prepare_init(loop, &session->prepare);
    (void)uv_timer_init(loop, &session->timer);
    session->prepare.data = session->timer.data = session;
    session->handles = 2;
    session_begin(session, 0);
}

bool zk_session_is_up(const struct zk_session *session) {
    assert(session->handle != NULL || !session->told_up);
    return session->told_up && zoo_state(session->handle) == ZOO_CONNECTED_STATE;
}

void zk_session_leave_server(struct zk_session *session) {
    if (session->url->server_count > 1 && session->told_up)
        socket_cut(session->socket);
}
