/* One connection to Redis that opens itself again.
 *
 *     pause -> attempt: resolve, connect, AUTH, SELECT, CLIENT SETNAME, PING -> up
 *       ^        |  refused, an error reply, too long                          |
 *       +--------+-------------------------------------------------------------+  broken or dropped
 *
 * An attempt tries each address of a name. If the server gives a reason before it closes, that is
 * the reason we tell, in the server's words. */
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

#ifdef REDIS_HAS_TLS
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif

#define PAUSE_LEAST_MS 20
#define PAUSE_MOST_MS  1000

/* So many connections may end by a refusal within REDIS_REFUSED_MS. Then there is none for as long.
 */
#define REFUSALS_MOST 3

void redis_copy_error(char *to, size_t size, const char *text) {
    const char *repeated = strstr(text, ", with args");
    size_t length = repeated != NULL ? (size_t)(repeated - text) : strlen(text);

    (void)snprintf(to, size, "%.*s", (int)length, text);
}

static void connection_set_why(struct redis_connection *connection, const char *why) {
    redis_copy_error(connection->why, sizeof connection->why, why);
}

static void forget_addresses(struct redis_connection *connection) {
    uv_freeaddrinfo(connection->addresses.all);
    connection->addresses = (struct addresses){0};
}

static void connection_let_go(struct redis_connection *connection) {
    assert(connection->handles > 0);
    if (--connection->handles > 0 || !connection->is_closing)
        return;
    forget_addresses(connection);
    connection->on_closed(connection->data);
}

/* ---- TLS, through hiredis 1.0 or later and OpenSSL. The Makefile defines UVKIT_REDIS_TLS if both
 * are there.
 *
 * The server must prove that it is the host of the URL, by a certificate that the system trusts, or
 * that SSL_CERT_FILE and SSL_CERT_DIR name. hiredis' own way to make a session does not check host
 * names, so this file makes the session. */

#ifdef REDIS_HAS_TLS

/* Expect this address or name in the certificate. The server is told a name, too. */
static bool tls_expect_host(SSL *session, char *host) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1)
        return true;
    return SSL_set1_host(session, host) == 1 && SSL_set_tlsext_host_name(session, host) == 1;
}

/* Before hiredis reads or writes: OpenSSL's errors belong to the thread, and other code leaves
 * some. */
static void tls_forget_errors(const struct redis_connection *connection) {
    if (connection->session != NULL)
        ERR_clear_error();
}

/* Has the server answered in TLS, if it must? */
static bool tls_is_greeted(const struct redis_connection *connection) {
    return connection->session == NULL || SSL_is_init_finished(connection->session);
}

/* Why has the session failed? OpenSSL knows, or hiredis, which calls some failures "Success". */
static void tls_set_why(struct redis_connection *connection, const SSL *session, const char *told) {
    unsigned long error = ERR_peek_error();
    const char *reason = error ? ERR_reason_error_string(error) : NULL;
    long verified = SSL_get_verify_result(session);
    /* Failed before the server sent an alert: its answer is not TLS. */
    bool is_foreign =
        !SSL_is_init_finished(session) && ERR_GET_REASON(error) < SSL_AD_REASON_OFFSET;

    if (error && verified != X509_V_OK)
        (void)snprintf(connection->why, sizeof connection->why,
                       "the server's certificate is not accepted: %s",
                       X509_verify_cert_error_string(verified));
    else if (reason)
        (void)snprintf(connection->why, sizeof connection->why, "TLS: %s%s", reason,
                       is_foreign ? "; does the server speak TLS?" : "");
    else
        connection_set_why(connection,
                           strcmp(told, strerror(0)) == 0 ? "the connection ended" : told);
}

/* Speak TLS from now on, on a socket that may still be connecting. The session ends with the
 * context. False, with why, when it could not start. */
static bool tls_start(struct redis_connection *connection, redisContext *context) {
    SSL *session;

    ERR_clear_error();
    session = SSL_new(connection->tls);
    if (session && tls_expect_host(session, connection->address->host) &&
        redisInitiateSSL(context, session) == REDIS_OK) { /* takes the session */
        connection->session = session;
        return true;
    }
    if (session && context->err)
        tls_set_why(connection, session, context->errstr);
    else
        connection_set_why(connection, "TLS could not be started");
    SSL_free(session);
    return false;
}

#else

static void tls_forget_errors(const struct redis_connection *connection) {
    assert(connection->session == NULL);
}

static bool tls_is_greeted(const struct redis_connection *connection) {
    return connection->session == NULL;
}

static void tls_set_why(struct redis_connection *connection, const void *session,
                        const char *told) {
    (void)session;
    connection_set_why(connection, told);
}

static bool tls_start(struct redis_connection *connection, redisContext *context) {
    (void)context;
    return connection->session != NULL;
}

#endif

/* ---- hiredis' socket, watched by libuv
 *
 * hiredis frees its context inside its own read and write functions, or inside redisAsyncFree(),
 * which it delays while it runs a callback. Either way it first calls `cleanup`, sometimes twice,
 * then each pending callback with a NULL reply, and closes the socket. So the handle that watches
 * the socket stops in `cleanup`. It has memory of its own, which is freed when libuv has closed the
 * handle. NULL replies are ignored. A lost connection is noticed after hiredis has returned. */

struct redis_watcher {
    uv_poll_t poll;
    struct redis_connection *connection;
    redisAsyncContext *context; /* NULL once hiredis is freeing it */
    int events;
};

static void connection_go_down(struct redis_connection *connection);

static void on_watcher_closed(uv_handle_t *handle) {
    struct redis_watcher *watcher = handle->data;
    struct redis_connection *connection = watcher->connection;

    free(watcher);
    connection_let_go(connection);
}

static void redis_connection_on_ready(uv_poll_t *poll, int status, int events) {
    struct redis_watcher *watcher = poll->data;
    struct redis_connection *connection = watcher->connection;

    tls_forget_errors(connection);
    /* After an error libuv has stopped watching: reading makes hiredis find the error. */
    if (watcher->context != NULL && (status != 0 || events & UV_READABLE))
        redisAsyncHandleRead(watcher->context);
    connection->is_writing = true;
    tls_forget_errors(connection);
    if (watcher->context != NULL && events & UV_WRITABLE)
        redisAsyncHandleWrite(watcher->context);
    connection->is_writing = false;
    if (connection->watcher != watcher)
        return;
    /* After an error the first read may have got the server's last words, and this one gets why. */
    if (watcher->context != NULL && status != 0)
        redisAsyncHandleRead(watcher->context);
    if (connection->watcher != watcher)
        return;
    if (watcher->context == NULL)
        connection_go_down(connection);
    else if (status != 0)
        redis_connection_drop(connection, "the connection broke");
}

void redis_connection_read(struct redis_connection *connection) {
    if (connection->watcher != NULL)
        redis_connection_on_ready(&connection->watcher->poll, 0, UV_READABLE);
}

static void watcher_set(struct redis_watcher *watcher, int add, int drop) {
    int events = (watcher->events | add) & ~drop;
    int status;

    if (watcher->context == NULL || events == watcher->events)
        return;
    status = events ? uv_poll_start(&watcher->poll, events, redis_connection_on_ready)
                    : uv_poll_stop(&watcher->poll);
    watcher->events = status == 0 ? events : 0; /* if unwatched, the limit on silence ends it */
}

static void on_add_read(void *watcher) {
    watcher_set(watcher, UV_READABLE, 0);
}

static void on_delete_read(void *watcher) {
    watcher_set(watcher, 0, UV_READABLE);
}

static void on_turn_over(uv_idle_t *writer) {
    struct redis_connection *connection = writer->data;

    (void)uv_idle_stop(writer);
    if (connection->watcher != NULL)
        redis_connection_on_ready(&connection->watcher->poll, 0, UV_WRITABLE);
}

/* Only a socket that is full, or still connecting, is watched. Watching for each write would cost
 * two system calls and a turn of the loop. An idle handle writes instead, because the loop does not
 * wait while one is active. A prepare handle that another one starts would run only after the wait.
 */
static void on_add_write(void *arg) {
    struct redis_watcher *watcher = arg;
    struct redis_connection *connection = watcher->connection;

    if (connection->is_up && !connection->is_writing)
        (void)uv_idle_start(&connection->writer, on_turn_over);
    else
        watcher_set(watcher, UV_WRITABLE, 0);
}

static void on_delete_write(void *watcher) {
    watcher_set(watcher, 0, UV_WRITABLE);
}

/* hiredis' error names the first byte that it got: here the byte of a TLS record with an alert. */
static void set_why_it_broke(struct redis_connection *connection, const char *told) {
    const bool is_tls = strstr(told, "got \"\\x15\"") != NULL;

    if (connection->session != NULL)
        tls_set_why(connection, connection->session, told);
    else
        connection_set_why(connection, is_tls ? "the server speaks TLS: use rediss://" : told);
}

/* hiredis closes the socket next, so uv_close() takes it out of the poll set now. */
static void on_cleanup(void *arg) {
    struct redis_watcher *watcher = arg;

    if (watcher->context == NULL)
        return;
    if (watcher->connection->watcher == watcher)
        set_why_it_broke(watcher->connection, watcher->context->c.errstr);
    watcher->context = NULL;
    uv_close((uv_handle_t *)&watcher->poll, on_watcher_closed);
}

/* Watch the context's socket for the connection. 0, or a libuv code, and then nothing has changed.
 */
static int connection_watch(struct redis_connection *connection, redisAsyncContext *context) {
    struct redis_watcher *watcher = calloc(1, sizeof *watcher);
    int status;

    assert(connection->watcher == NULL);
    if (watcher == NULL)
        return UV_ENOMEM;
    status = uv_poll_init(connection->loop, &watcher->poll, context->c.fd);
    if (status != 0) {
        free(watcher);
        return status;
    }
    (void)fcntl(context->c.fd, F_SETFD, FD_CLOEXEC); /* hiredis leaves it open for our children */
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

/* ---- Attempts */

static void on_own_handle_closed(uv_handle_t *handle) {
    connection_let_go(handle->data);
}

/* Log it once, and again for another reason; or after a while, if it comes and goes. */
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

static void redis_connection_tell_refused(struct redis_connection *connection) {
    char why[160];

    if (!connection->is_told_refused)
        log_warn("redis refuses subscriptions", "redis=%s why=%s", connection->name,
                 log_quote(why, sizeof why, connection->why));
    connection->is_told_refused = true;
}

static void on_pause_over(uv_timer_t *timer);

/* If the user may not SUBSCRIBE, hiredis answers the refusal by closing. */
static bool is_refused(const struct redis_connection *connection) {
    return connection->on_refused != NULL &&
           strncmp(connection->why, "NOPERM", strlen("NOPERM")) == 0;
}

/* Should it stay without a connection until the rights may have changed? */
static bool leave_for_a_while(struct redis_connection *connection) {
    int64_t now = clock_now_ms();

    if (now - connection->refused_since_ms >= REDIS_REFUSED_MS) {
        connection->refused_since_ms = now;
        connection->refusals = 0;
    }
    return !connection->on_refused(connection->data) || ++connection->refusals > REFUSALS_MOST;
}

/* Log the reason, and return the pause before the next attempt. */
static uint64_t choose_pause_ms(struct redis_connection *connection, bool was_up) {
    bool was_refused = was_up && is_refused(connection);

    if (was_refused)
        redis_connection_tell_refused(connection);
    else
        tell_down(connection);
    if (was_refused && leave_for_a_while(connection))
        return REDIS_REFUSED_MS;
    /* A connection that breaks as soon as it is up must not be opened again at full speed. */
    if (was_up && clock_now_ms() - connection->up_since_ms >= PAUSE_MOST_MS)
        connection->attempts = 0;
    return backoff_ms(connection->attempts++, PAUSE_LEAST_MS, PAUSE_MOST_MS);
}

static void try_address(struct redis_connection *connection);

/* If there are several addresses, put the failed one before the reason. */
static void name_address(struct redis_connection *connection) {
    char address[ADDRESS_TEXT], why[sizeof connection->why];

    if (connection->addresses.count < 2)
        return;
    address_text(address, connection->addresses.current->ai_addr);
    text_copy(why, sizeof why, connection->why);
    (void)snprintf(connection->why, sizeof connection->why, "%.47s: %.76s", address, why);
}

/* Begin the next attempt with this address. */
static void begin_with(struct redis_connection *connection, const struct addrinfo *address) {
    memcpy(&connection->address->first, address->ai_addr, address->ai_addrlen);
}

static void on_next_address(uv_timer_t *timer) {
    try_address(timer->data);
}

/* True: another address of the name is tried instead. */
static bool try_next_address(struct redis_connection *connection) {
    bool is_next = !connection->is_closing && !connection->is_connected &&
                   addresses_next(&connection->addresses, connection->is_silent, clock_now_ms());

    if (is_next)
        (void)uv_timer_start(&connection->timer, on_next_address, 0, 0);
    return is_next;
}

/* An address that connects but does not greet must not hide the next ones. */
static void leave_ungreeted(struct redis_connection *connection) {
    const struct addresses *addresses = &connection->addresses;

    if (connection->is_connected && addresses->count > 1)
        begin_with(connection, addresses->current->ai_next != NULL ? addresses->current->ai_next
                                                                   : addresses->all);
}

static void connection_go_down(struct redis_connection *connection) {
    bool was_up = connection->is_up;

    connection->watcher = NULL;
    connection->session = NULL;
    connection->is_up = false;
    if (connection->said[0])
        connection_set_why(connection, connection->said);
    connection->said[0] = '\0';
    if (!was_up) {
        name_address(connection);
        if (try_next_address(connection))
            return;
        leave_ungreeted(connection);
    }
    if (!connection->is_closing)
        (void)uv_timer_start(&connection->timer, on_pause_over, choose_pause_ms(connection, was_up),
                             0);
    if (was_up)
        connection->on_down(connection->data);
}

void redis_connection_drop(struct redis_connection *connection, const char *why) {
    struct redis_watcher *watcher = connection->watcher;

    if (watcher == NULL)
        return;
    connection_set_why(connection, why);
    connection->watcher = NULL;
    if (watcher->context != NULL)
        redisAsyncFree(watcher->context);
    connection_go_down(connection);
}

static void on_attempt_too_long(uv_timer_t *timer);

/* The rest of the attempt gets the full time again, however long the connecting took. */
static void redis_connection_on_connected(const redisAsyncContext *context, int status) {
    struct redis_connection *connection = context->data;

    if (status != REDIS_OK || connection->watcher == NULL ||
        connection->watcher->context != context)
        return;
    connection->is_connected = true;
    if (connection->addresses.count > 1)
        (void)uv_timer_start(&connection->timer, on_attempt_too_long, connection->timeout_ms, 0);
}

/* Prepare a TCP socket before anything is sent on it; REDIS_ERR with `why` set. Keep-alive finds a
 * dead peer on a silent connection, such as the one for subscriptions. */
static int prepare_socket(struct redis_connection *connection, redisContext *context) {
    const struct redis_address *address = connection->address;

    if (address->path != NULL)
        return REDIS_OK;
    if (redisEnableKeepAlive(context) != REDIS_OK) {
        connection_set_why(connection, context->errstr);
        return REDIS_ERR;
    }
    return !address->is_tls || tls_start(connection, context) ? REDIS_OK : REDIS_ERR;
}

/* Make a connecting, watched socket. -1 with `why` set when that fails. */
static int connect_socket(struct redis_connection *connection) {
    const struct redis_address *address = connection->address;
    redisAsyncContext *context;
    char host[ADDRESS_TEXT] = "";
    int status;

    if (connection->addresses.current != NULL)
        address_host(host, connection->addresses.current->ai_addr);
    context = address->path != NULL
                  ? redisAsyncConnectUnix(address->path)
                  : redisAsyncConnect(host[0] ? host : address->host, address->port);

    if (context == NULL) {
        connection_set_why(connection, "out of memory");
        return -1;
    }
    if (context->err) {
        connection_set_why(connection, context->c.errstr);
    } else if (prepare_socket(connection, &context->c) == REDIS_OK) {
        status = connection_watch(connection, context);
        if (status == 0) {
            (void)redisAsyncSetConnectCallback(
                context, redis_connection_on_connected); /* fails only at a second */
            return 0;
        }
        connection_set_why(connection, uv_strerror(status));
    }
    redisAsyncFree(context);
    return -1;
}

/* The connection of a context, if the reply is for it and not an error. */
static struct redis_connection *greeted(redisAsyncContext *context, const redisReply *reply) {
    struct redis_connection *connection = context->data;

    if (reply == NULL || connection->watcher == NULL || connection->watcher->context != context)
        return NULL;
    if (reply->type != REDIS_REPLY_ERROR)
        return connection;
    connection->said[0] = '\0';
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
    if (connection == NULL)
        return;
    assert(!connection->is_up);
    (void)uv_timer_stop(&connection->timer);
    connection->said[0] = '\0';
    if (connection->addresses.current != NULL)
        begin_with(connection, connection->addresses.current);
    connection->is_up = true;
    connection->up_since_ms = clock_now_ms();
    if (connection->is_told_down)
        log_info("redis is up", "redis=%s use=%s", connection->name, connection->use);
    connection->is_told_down = false;
    connection->on_up(connection->data);
}

/* A server with too many clients, or in protected mode, answers the first command with its reason,
 * and closes. */
static void on_named(redisAsyncContext *context, void *answer, void *arg) {
    struct redis_connection *connection = context->data;
    const redisReply *reply = answer;

    (void)arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR && connection->watcher != NULL &&
        connection->watcher->context == context)
        redis_copy_error(connection->said, sizeof connection->said, reply->str);
}

/* Send all greetings at once. The name is a courtesy: a server that refuses it is still used. */
static int greet(struct redis_connection *connection) {
    const struct redis_address *address = connection->address;
    redisAsyncContext *context = connection->watcher->context;
    int status = REDIS_OK;

    if (address->user != NULL)
        status |= redisAsyncCommand(context, on_greeting, NULL, "AUTH %s %s", address->user,
                                    address->password);
    else if (address->password != NULL)
        status |= redisAsyncCommand(context, on_greeting, NULL, "AUTH %s", address->password);
    if (address->db > 0)
        status |= redisAsyncCommand(context, on_greeting, NULL, "SELECT %d", address->db);
    status |= redisAsyncCommand(context, on_named, NULL, "CLIENT SETNAME %s", connection->name);
    return status | redisAsyncCommand(context, on_pong, NULL, "PING");
}

static void on_attempt_too_long(uv_timer_t *timer) {
    struct redis_connection *connection = timer->data;

    connection->is_silent = true;
    if (connection->addresses.count > 1 && !connection->is_connected)
        redis_connection_drop(connection, uv_strerror(UV_ETIMEDOUT));
    else
        redis_connection_drop(connection, tls_is_greeted(connection)
                                              ? "no greeting in time"
                                              : "no TLS in time: does the server speak it?");
}

static void on_not_taken(uv_timer_t *timer) {
    redis_connection_drop(timer->data, "out of memory");
}

void redis_connection_drop_soon(struct redis_connection *connection) {
    (void)uv_timer_start(&connection->timer, on_not_taken, 0, 0);
}

static void try_address(struct redis_connection *connection) {
    int64_t now_ms = clock_now_ms();
    int64_t left_ms = addresses_due_ms(&connection->addresses, now_ms) - now_ms;

    connection->is_connected = connection->is_silent = false;
    (void)uv_timer_start(&connection->timer, on_attempt_too_long,
                         connection->addresses.count < 2 ? connection->timeout_ms
                         : left_ms > 0                   ? (uint64_t)left_ms
                                                         : 0,
                         0);
    if (connect_socket(connection) != 0)
        connection_go_down(connection);
    else if (greet(connection) != REDIS_OK)
        redis_connection_drop(connection, "out of memory");
}

static void redis_connection_on_resolved(uv_getaddrinfo_t *resolving, int status,
                                         struct addrinfo *all) {
    struct redis_connection *connection = resolving->data;

    connection->is_resolving = false;
    if (connection->is_closing) {
        uv_freeaddrinfo(all);
    } else if (status != 0) {
        if (status != UV_EAI_CANCELED) /* else on_unresolved() has set why */
            connection_set_why(connection, uv_strerror(status));
        connection_go_down(connection);
    } else {
        addresses_begin(&connection->addresses, all, &connection->address->first, clock_now_ms(),
                        (int64_t)connection->timeout_ms);
        try_address(connection);
    }
    connection_let_go(connection);
}

/* A running resolver cannot be canceled: its late answer is used. */
static void on_unresolved(uv_timer_t *timer) {
    struct redis_connection *connection = timer->data;

    connection_set_why(connection, "no address of the name in time");
    tell_down(connection);
    (void)uv_cancel((uv_req_t *)&connection->resolving);
}

/* An attempt begins. */
static void on_pause_over(uv_timer_t *timer) {
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct redis_connection *connection = timer->data;
    char port[16];
    int status;

    assert(!connection->is_up && !connection->is_closing);
    forget_addresses(connection);
    if (connection->address->path != NULL || address_is_literal(connection->address->host)) {
        try_address(connection);
        return;
    }
    (void)snprintf(port, sizeof port, "%d", connection->address->port);
    connection->resolving.data = connection;
    status = uv_getaddrinfo(connection->loop, &connection->resolving, redis_connection_on_resolved,
                            connection->address->host, port, &hints);
    if (status != 0) {
        connection_set_why(connection, uv_strerror(status));
        connection_go_down(connection);
        return;
    }
    connection->handles++;
    connection->is_resolving = true;
    (void)uv_timer_start(&connection->timer, on_unresolved, connection->timeout_ms, 0);
}

void redis_connection_open(struct redis_connection *connection) {
    (void)uv_timer_init(connection->loop, &connection->timer);
    (void)uv_idle_init(connection->loop, &connection->writer);
    connection->timer.data = connection->writer.data = connection;
    connection->handles = 2;
    connection_set_why(connection, "still connecting");
    (void)uv_timer_start(&connection->timer, on_pause_over, 0, 0);
}

void redis_connection_close(struct redis_connection *connection) {
    if (connection->is_closing)
        return;
    connection->is_closing = true;
    if (connection->is_resolving)
        (void)uv_cancel((uv_req_t *)&connection->resolving); /* or it ends by itself */
    redis_connection_drop(connection, "closing");
    uv_close((uv_handle_t *)&connection->timer, on_own_handle_closed);
    uv_close((uv_handle_t *)&connection->writer, on_own_handle_closed);
}

redisAsyncContext *redis_connection_context(const struct redis_connection *connection) {
    return connection->is_up ? connection->watcher->context : NULL;
}
