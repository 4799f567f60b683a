/* The HTTP client: brings calls and connections together, and ends every call exactly once.
 *
 * A call:        start -> queue -> on a connection -> ended -> callback (at the end of the read
 *                that ended it, or from an idle handle)
 * A connection:  OPENING -> IDLE <-> BUSY, and from anywhere to CLOSED
 *
 * While a connection is IDLE the queue is empty. While calls wait, the most possible connections
 * are OPENING: up to the calls, the room and `opening`. Functions here only move things. Each
 * callback of the loop ends with http_client_dispatch(), which brings both together again.
 *
 * A kept-alive connection that breaks before a byte of a call has left gives the call back to the
 * queue. After that byte the call is never sent again, and is UNKNOWN. */
#include "http_client.h"

#include "buffer.h"
#include "clock.h"
#include "dial.h"
#include "http_wire.h"
#include "loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define INPUT_BYTES (64 * 1024)
#define RETRY_MS    100

static const char too_late[] = "the deadline passed before it was sent";

enum http_connection_state {
    CONNECTION_OPENING,
    CONNECTION_IDLE,
    CONNECTION_BUSY,
    CONNECTION_CLOSED, /* until libuv no longer uses it */
    CONNECTION_STATES
};

struct http_connection {
    struct http_client *client;
    enum http_connection_state state;
    TAILQ_ENTRY(http_connection) entry; /* in the client's list of its state */
    int64_t since_ms;                   /* start of its idle time */
    struct dial dial;                   /* with its socket */
    bool is_fresh;                      /* no call has used it */

    struct http_call *call;
    bool is_sent; /* a byte of the call may have left */
    uv_write_t write;
    char *unsent; /* the part that the socket did not take at once; not NULL: being written */
    struct http_reply reply;
};

TAILQ_HEAD(http_connections, http_connection);
TAILQ_HEAD(http_calls, http_call);

struct http_client {
    uv_loop_t *loop;
    struct http_client_options options;
    struct dial_host host;
    char authority[DIAL_HOST_BYTES + 16]; /* the Host header */
    struct http_connections connections[CONNECTION_STATES];
    unsigned count[CONNECTION_STATES]; /* in each state */
    struct http_calls urgent, queue;   /* both wait for a connection */
    struct http_calls ended;
    struct http_calls running; /* all calls that have not ended, by deadline */
    uv_timer_t timer;
    uv_check_t polled;              /* active while something is due */
    int64_t armed_ms;               /* when the timer fires, if it is active */
    int64_t retry_ms;               /* no new connection before then, while others work */
    uv_idle_t ending;               /* active while ended calls wait for their callback */
    struct http_client_stats stats; /* http_client_stats() counts the connections */
    bool is_closing;
    unsigned closing_handles; /* of the three above, once they are no longer needed */
    http_client_cb on_closed;
    void *on_closed_data;
    struct buffer request; /* for putting requests together */
    char input[INPUT_BYTES];
};

static void http_client_dispatch(struct http_client *client);
static void client_deadline_on_timer(uv_timer_t *timer);

static void leave_list(struct http_connection *connection) {
    struct http_client *client = connection->client;

    assert(client->count[connection->state] > 0);
    TAILQ_REMOVE(&client->connections[connection->state], connection, entry);
    client->count[connection->state]--;
}

/* Move it to the front: the idle connection that was used last is used next, and the others grow
 * old. */
static void http_client_move(struct http_connection *connection, enum http_connection_state state) {
    struct http_client *client = connection->client;

    assert(connection->state != CONNECTION_CLOSED && connection->state != state);
    if (connection->state != CONNECTION_STATES)
        leave_list(connection);
    connection->state = state;
    TAILQ_INSERT_HEAD(&client->connections[state], connection, entry);
    client->count[state]++;
}

/* A timer that fires too early only looks again. So it is set again only for an earlier moment. */
static void http_client_arm(struct http_client *client, int64_t due_ms) {
    int64_t now_ms = (int64_t)uv_now(client->loop);

    if (due_ms == INT64_MAX || client->closing_handles > 0 ||
        (uv_is_active((uv_handle_t *)&client->timer) && client->armed_ms <= due_ms))
        return;
    client->armed_ms = due_ms;
    (void)uv_timer_start(&client->timer,
                         client_deadline_on_timer, /* fails only without a callback */
                         due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
}

/* Deadlines mostly come in order, so the place is near the end. */
static void http_client_run(struct http_client *client, struct http_call *call) {
    struct http_call *before = TAILQ_LAST(&client->running, http_calls);

    while (before != NULL && before->deadline_ms > call->deadline_ms)
        before = TAILQ_PREV(before, http_calls, internal.by_deadline);
    if (before != NULL)
        TAILQ_INSERT_AFTER(&client->running, before, call, internal.by_deadline);
    else
        TAILQ_INSERT_HEAD(&client->running, call, internal.by_deadline);
    call->internal.is_running = true;
    http_client_arm(client, call->deadline_ms);
}

/* ---- Calls, and the end of the client */

/* Call back the calls that have ended so far. Calls that end meanwhile wait for the next time. */
static void tell_ended(struct http_client *client) {
    struct http_calls ended = TAILQ_HEAD_INITIALIZER(ended);
    struct http_call *call;

    TAILQ_CONCAT(&ended, &client->ended, internal.entry);
    while ((call = TAILQ_FIRST(&ended)) != NULL) {
        char *body = call->internal.awaited == NULL ? call->internal.body : NULL;

        TAILQ_REMOVE(&ended, call, internal.entry);
        call->internal.cb(call); /* the call may be gone now */
        free(body);
    }
}

static void http_client_on_handle_closed(uv_handle_t *handle) {
    struct http_client *client = handle->data;
    http_client_cb on_closed = client->on_closed;
    void *data = client->on_closed_data;

    assert(client->closing_handles > 0);
    if (client->closing_handles > 1) { /* the last one stays until all is over */
        client->closing_handles--;
        return;
    }
    while (!TAILQ_EMPTY(&client->ended)) /* calls made after the close */
        tell_ended(client);
    assert(client->stats.queued == 0 && TAILQ_EMPTY(&client->running));
    buffer_free(&client->request);
    free(client);
    on_closed(data);
}

static void http_client_maybe_closed(struct http_client *client) {
    if (!client->is_closing || client->closing_handles > 0 || !TAILQ_EMPTY(&client->ended))
        return;
    for (int state = 0; state < CONNECTION_STATES; state++)
        if (client->count[state] > 0)
            return;
    client->closing_handles = 3;
    uv_close((uv_handle_t *)&client->timer, http_client_on_handle_closed);
    uv_close((uv_handle_t *)&client->polled, http_client_on_handle_closed);
    uv_close((uv_handle_t *)&client->ending, http_client_on_handle_closed);
}

static void on_calls_ended(uv_idle_t *ending) {
    struct http_client *client = ending->data;

    tell_ended(client);
    if (TAILQ_EMPTY(&client->ended))
        (void)uv_idle_stop(ending);
    http_client_maybe_closed(client);
}

static void http_client_end(struct http_client *client, struct http_call *call,
                            enum http_call_outcome outcome, const char *error) {
    static char empty[1];

    if (call->internal.is_running)
        TAILQ_REMOVE(&client->running, call, internal.by_deadline);
    call->internal.is_running = false;
    assert((error == NULL) == (outcome == HTTP_CALL_ANSWERED));
    call->internal.connection = NULL;
    call->outcome = outcome;
    call->error = error;
    call->reply = call->internal.body != NULL ? call->internal.body : empty;
    if (call->received_ns == 0)
        call->received_ns = clock_now_ns();
    if (outcome == HTTP_CALL_NOT_SENT)
        call->sent_ns = 0;
    if (outcome != HTTP_CALL_ANSWERED)
        call->header[0] = '\0'; /* it may be incomplete */
    TAILQ_INSERT_TAIL(&client->ended, call, internal.entry);
    if (client->closing_handles == 0)
        (void)uv_idle_start(&client->ending, on_calls_ended); /* fails only without a callback */
}

static struct http_calls *queue_of(struct http_client *client, const struct http_call *call) {
    return call->is_urgent ? &client->urgent : &client->queue;
}

static struct http_call *first_queued(struct http_client *client) {
    struct http_call *urgent = TAILQ_FIRST(&client->urgent);

    return urgent != NULL ? urgent : TAILQ_FIRST(&client->queue);
}

static void dequeue(struct http_client *client, struct http_call *call) {
    assert(client->stats.queued > 0 && call->internal.connection == NULL);
    TAILQ_REMOVE(queue_of(client, call), call, internal.entry);
    client->stats.queued--;
}

static void end_queued(struct http_client *client, struct http_call *call, const char *error) {
    dequeue(client, call);
    http_client_end(client, call, HTTP_CALL_NOT_SENT, error);
}

/* ---- Connections */

static unsigned kept_connections(const struct http_client *client) {
    return client->count[CONNECTION_OPENING] + client->count[CONNECTION_IDLE] +
           client->count[CONNECTION_BUSY];
}

/* While some connection works, waiting calls have hope. Without one, they share the attempts that
 * are under way, and the last attempt ends the last call. */
static void http_client_connect_failed(struct http_client *client, const char *why) {
    unsigned opening = client->count[CONNECTION_OPENING];
    unsigned share = (client->stats.queued + opening) / (opening + 1);

    client->stats.connect_failures++;
    if (client->count[CONNECTION_BUSY] > 0) {
        if (client->retry_ms == INT64_MAX)
            client->retry_ms = clock_now_ms() + RETRY_MS;
        http_client_arm(client, client->retry_ms);
        return;
    }
    for (; share > 0; share--)
        end_queued(client, first_queued(client), why);
}

static bool may_connect(const struct http_client *client) {
    return kept_connections(client) < client->options.connections &&
           (client->retry_ms == INT64_MAX || client->count[CONNECTION_BUSY] == 0);
}

static void http_connection_close(struct http_connection *connection, const char *error) {
    struct http_client *client = connection->client;
    struct http_call *call = connection->call;

    if (connection->state == CONNECTION_CLOSED)
        return;
    http_client_move(connection, CONNECTION_CLOSED);
    connection->call = NULL;
    if (call != NULL)
        http_client_end(client, call, connection->is_sent ? HTTP_CALL_UNKNOWN : HTTP_CALL_NOT_SENT,
                        error);
    dial_close(&connection->dial);
}

static void become_idle(struct http_connection *connection) {
    struct http_client *client = connection->client;

    http_client_move(connection, CONNECTION_IDLE);
    connection->since_ms = (int64_t)uv_now(client->loop);
    http_client_arm(client, connection->since_ms + (int64_t)client->options.idle_ms);
}

static void finish_reply(struct http_connection *connection) {
    struct http_client *client = connection->client;
    struct http_call *call = connection->call;

    assert(connection->state == CONNECTION_BUSY && call != NULL);
    call->received_ns = clock_now_ns();
    call->status = connection->reply.parser.status_code;
    call->internal.body = connection->reply.body.bytes;
    call->reply_length = connection->reply.body.length;
    connection->reply.body = (struct buffer){0};
    connection->call = NULL;
    http_client_end(client, call, HTTP_CALL_ANSWERED, NULL);
    if (connection->reply.keeps_alive && connection->unsent == NULL)
        become_idle(connection);
    else
        http_connection_close(connection, NULL);
}

static void http_connection_on_read(uv_stream_t *tcp, ssize_t length, const uv_buf_t *input) {
    struct http_connection *connection = tcp->data;
    struct http_client *client = connection->client;
    const char *error;

    if (length == 0 || connection->state == CONNECTION_CLOSED)
        return;
    if (connection->state == CONNECTION_IDLE)
        http_connection_close(connection, NULL); /* the server is gone, or sent without a request */
    else if ((error = http_reply_read(&connection->reply, input->base, length)) != NULL)
        http_connection_close(connection, error);
    else if (connection->reply.is_complete)
        finish_reply(connection);
    http_client_dispatch(client);
    on_calls_ended(&client->ending);
}

/* All connections share one buffer: its bytes are parsed before the next read. */
static void on_input_wanted(uv_handle_t *tcp, size_t suggested, uv_buf_t *input) {
    struct http_connection *connection = tcp->data;

    (void)suggested;
    *input = uv_buf_init(connection->client->input, INPUT_BYTES);
}

static void on_dial_address(struct dial *dial) {
    http_client_arm(((struct http_connection *)dial->data)->client, dial->leave_ms);
}

static void on_dial_over(struct dial *dial, const char *why) {
    struct http_connection *connection = dial->data;
    struct http_client *client = connection->client;

    if (why == NULL) {
        int rc = uv_read_start((uv_stream_t *)&dial->tcp, on_input_wanted, http_connection_on_read);

        if (rc != 0) {
            dial_leave(dial, rc);
            return;
        }
        assert(connection->state == CONNECTION_OPENING);
        client->stats.opened++;
        client->stats.connect_failures = 0;
        become_idle(connection);
    } else {
        http_connection_close(connection, NULL);
        http_client_connect_failed(client, why);
    }
    http_client_dispatch(client);
}

static void on_dial_gone(struct dial *dial) {
    struct http_connection *connection = dial->data;
    struct http_client *client = connection->client;

    assert(connection->state == CONNECTION_CLOSED && connection->call == NULL);
    leave_list(connection);
    free(connection->unsent);
    buffer_free(&connection->reply.body);
    free(connection);
    http_client_maybe_closed(client);
}

/* 0, or a libuv code and there is no connection. */
static int http_connection_open(struct http_client *client) {
    struct http_connection *connection = calloc(1, sizeof *connection);
    int rc;

    if (connection == NULL)
        return UV_ENOMEM;
    connection->client = client;
    connection->state = CONNECTION_STATES; /* not in a list yet */
    connection->is_fresh = true;
    connection->write.data = connection;
    http_client_move(connection, CONNECTION_OPENING);
    connection->dial = (struct dial){.loop = client->loop,
                                     .host = &client->host,
                                     .since_ms = clock_now_ms(),
                                     .timeout_ms = (int64_t)client->options.connect_timeout_ms,
                                     .on_address = on_dial_address,
                                     .on_over = on_dial_over,
                                     .on_gone = on_dial_gone,
                                     .data = connection};
    rc = dial_start(&connection->dial);
    http_client_arm(client, connection->dial.leave_ms);
    if (rc != 0)
        http_connection_close(connection, NULL);
    return rc;
}

/* A failed write means a broken connection, and reading will tell so: the server may have answered
 * before it closed. So `unsent` stays, only to keep the connection from being used again. */
static void http_connection_on_written(uv_write_t *write, int status) {
    struct http_connection *connection = write->data;

    if (status == 0) {
        free(connection->unsent);
        connection->unsent = NULL;
    }
}

/* The socket is full: libuv writes the rest when there is room. */
static int http_connection_write_rest(struct http_connection *connection, const char *rest,
                                      size_t length) {
    uv_buf_t buf;
    int rc;

    connection->unsent = malloc(length);
    if (connection->unsent == NULL)
        return UV_ENOMEM;
    memcpy(connection->unsent, rest, length);
    buf = uv_buf_init(connection->unsent, (unsigned)length);
    rc = uv_write(&connection->write, (uv_stream_t *)&connection->dial.tcp, &buf, 1,
                  http_connection_on_written);
    if (rc == 0)
        connection->is_sent = true;
    return rc;
}

/* No byte has left. The server may have closed a kept-alive connection just now: then the call may
 * use another one. */
static void give_call_back(struct http_connection *connection, struct http_call *call, int code) {
    struct http_client *client = connection->client;

    assert(call->internal.connection == NULL);
    if (connection->is_fresh) {
        http_client_end(client, call, HTTP_CALL_NOT_SENT, uv_strerror(code));
    } else {
        TAILQ_INSERT_HEAD(queue_of(client, call), call, internal.entry);
        client->stats.queued++;
    }
    http_connection_close(connection, NULL);
}

/* Has the server closed the connection, or sent bytes without a request, which the loop has not
 * read yet? Then writing would succeed and lose the call. But on a new connection a server may say
 * at once that it is too busy: that is an answer. */
static bool http_connection_is_over(const struct http_connection *connection) {
    uv_os_fd_t fd = -1;
    ssize_t got;
    char byte;

    (void)uv_fileno((const uv_handle_t *)&connection->dial.tcp, &fd);
    got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 ? errno != EAGAIN : got == 0 || !connection->is_fresh;
}

static void http_connection_send(struct http_connection *connection, struct http_call *call) {
    struct http_client *client = connection->client;
    uv_buf_t buf;
    size_t sent;
    int written, rc = 0;

    assert(connection->state == CONNECTION_IDLE && connection->call == NULL);
    if (!http_request_write(&client->request, call, client->authority)) {
        http_client_end(client, call, HTTP_CALL_NOT_SENT, "out of memory for the request");
        return;
    }
    if (http_connection_is_over(connection)) {
        give_call_back(connection, call, UV_ECONNRESET);
        return;
    }
    buf = uv_buf_init(client->request.bytes, (unsigned)client->request.length);
    call->sent_ns = clock_now_ns();
    written = uv_try_write((uv_stream_t *)&connection->dial.tcp, &buf, 1);
    if (written < 0 && written != UV_EAGAIN) {
        give_call_back(connection, call, written);
        return;
    }
    sent = written < 0 ? 0 : (size_t)written;
    http_client_move(connection, CONNECTION_BUSY);
    connection->call = call;
    connection->is_fresh = false;
    connection->is_sent = sent > 0;
    call->internal.connection = connection;
    http_reply_expect(&connection->reply, call, client->options.reply_limit);
    if (sent < buf.len)
        rc = http_connection_write_rest(connection, buf.base + sent, buf.len - sent);
    if (rc != 0)
        http_connection_close(connection, uv_strerror(rc));
}

static void http_client_dispatch(struct http_client *client) {
    struct http_call *call;

    if (client->is_closing)
        return;
    while ((call = first_queued(client)) != NULL && client->count[CONNECTION_IDLE] > 0) {
        if (call->deadline_ms <= (int64_t)uv_now(client->loop)) {
            end_queued(client, call, too_late);
        } else {
            dequeue(client, call);
            http_connection_send(TAILQ_FIRST(&client->connections[CONNECTION_IDLE]), call);
        }
    }
    while (client->count[CONNECTION_OPENING] < client->stats.queued &&
           client->count[CONNECTION_OPENING] < client->options.opening && may_connect(client)) {
        int rc = http_connection_open(client);

        if (rc != 0)
            http_client_connect_failed(client, uv_strerror(rc));
    }
}

/* A late reply would look like the reply to the next call, so the connection ends with the call. */
static void http_client_end_early(struct http_client *client, struct http_call *call,
                                  const char *queued, const char *sent, const char *answering) {
    struct http_connection *connection = call->internal.connection;

    if (connection == NULL)
        end_queued(client, call, queued);
    else
        http_connection_close(connection, connection->reply.has_input ? answering : sent);
}

/* End late calls and connections. The oldest opening connections are due first, unless each tries
 * several addresses. */
static void http_client_expire(struct http_client *client) {
    int64_t now_ms = (int64_t)uv_now(client->loop);
    struct http_connection *each, *younger;
    struct http_call *call;

    while ((call = TAILQ_FIRST(&client->running)) != NULL && call->deadline_ms <= now_ms)
        http_client_end_early(client, call, too_late, "the deadline passed before the reply",
                              "the deadline passed in the middle of the reply");
    each = TAILQ_LAST(&client->connections[CONNECTION_OPENING], http_connections);
    for (; each != NULL && (each->dial.leave_ms <= now_ms || client->host.has_several);
         each = younger) {
        younger = TAILQ_PREV(each, http_connections, entry);
        if (each->dial.leave_ms <= now_ms)
            dial_leave(&each->dial, UV_ETIMEDOUT);
    }
    while ((each = TAILQ_LAST(&client->connections[CONNECTION_IDLE], http_connections)) != NULL &&
           each->since_ms + (int64_t)client->options.idle_ms <= now_ms)
        http_connection_close(each, NULL);
    if (client->retry_ms <= now_ms)
        client->retry_ms = INT64_MAX;
    http_client_dispatch(client);
}

static int64_t next_due_ms(const struct http_client *client) {
    const struct http_call *call = TAILQ_FIRST(&client->running);
    const struct http_connection *each =
        TAILQ_LAST(&client->connections[CONNECTION_IDLE], http_connections);
    int64_t idle_ms = (int64_t)client->options.idle_ms, due_ms = client->retry_ms;

    if (call != NULL && call->deadline_ms < due_ms)
        due_ms = call->deadline_ms;
    if (each != NULL && each->since_ms + idle_ms < due_ms)
        due_ms = each->since_ms + idle_ms;
    TAILQ_FOREACH_REVERSE (each, &client->connections[CONNECTION_OPENING], http_connections,
                           entry) {
        due_ms = each->dial.leave_ms < due_ms ? each->dial.leave_ms : due_ms;
        if (!client->host.has_several)
            break;
    }
    return due_ms;
}

static void on_polled(uv_check_t *polled) {
    struct http_client *client = polled->data;

    (void)uv_check_stop(polled);
    (void)uv_timer_stop(&client->timer);
    http_client_expire(client);
    http_client_arm(client, next_due_ms(client));
}

/* After a stall of this process, timers run before input is read, and an answer may have come in
 * time. So the loop reads first. The timer bounds its wait for input. */
static void client_deadline_on_timer(uv_timer_t *timer) {
    struct http_client *client = timer->data;
    int64_t due_ms = next_due_ms(client);

    if (due_ms > (int64_t)uv_now(client->loop)) {
        http_client_arm(client, due_ms);
        return;
    }
    (void)uv_check_start(&client->polled, on_polled); /* like the timer: cannot fail */
    (void)uv_timer_start(timer, client_deadline_on_timer, 1, 0);
}

/* Why can the call not even be queued? NULL: it can. */
static const char *refusal(const struct http_client *client, const struct http_call *call) {
    if (client->is_closing)
        return "the client is closing";
    if (call->deadline_ms <= clock_now_ms())
        return too_late;
    if (client->count[CONNECTION_IDLE] == 0 &&
        client->stats.queued >= client->count[CONNECTION_OPENING] + client->options.queue)
        return "the queue is full";
    return http_request_flaw(call);
}

void http_call_start(struct http_client *client, struct http_call *call, http_call_cb cb) {
    const char *why = refusal(client, call);

    call->status = 0;
    call->reply_length = 0;
    call->sent_ns = call->received_ns = 0;
    memset(&call->internal, 0, sizeof call->internal);
    call->internal.cb = cb;
    if (why != NULL) {
        http_client_end(client, call, HTTP_CALL_NOT_SENT, why);
        return;
    }
    http_client_run(client, call);
    TAILQ_INSERT_TAIL(queue_of(client, call), call, internal.entry);
    client->stats.queued++;
    http_client_dispatch(client);
}

void http_client_close(struct http_client *client, http_client_cb cb, void *data) {
    static const char why[] = "the client is closing";

    if (client->is_closing)
        return;
    client->is_closing = true;
    client->on_closed = cb;
    client->on_closed_data = data;
    while (client->stats.queued > 0)
        end_queued(client, first_queued(client), why);
    for (int state = 0; state < CONNECTION_CLOSED; state++)
        while (client->count[state] > 0)
            http_connection_close(TAILQ_FIRST(&client->connections[state]), why);
    http_client_maybe_closed(client);
}

void http_client_warm(struct http_client *client, unsigned count) {
    while (!client->is_closing && kept_connections(client) < count && may_connect(client))
        if (http_connection_open(client) != 0)
            return;
}

void http_client_stats(const struct http_client *client, struct http_client_stats *stats) {
    *stats = client->stats;
    stats->connections = kept_connections(client);
    stats->idle = client->count[CONNECTION_IDLE];
    stats->in_flight = client->count[CONNECTION_BUSY];
}

void http_call_cancel(struct http_client *client, struct http_call *call) {
    static const char why[] = "broken off";

    if (call->internal.is_running) {
        http_client_end_early(client, call, why, why, why);
        http_client_dispatch(client);
    }
}

static void http_client_set_defaults(struct http_client_options *set) {
    set->connections = set->connections != 0 ? set->connections : 64;
    set->opening = set->opening != 0 ? set->opening : set->connections;
    set->queue = set->queue != 0 ? set->queue : 1024;
    set->reply_limit = set->reply_limit != 0 ? set->reply_limit : 64 * 1024;
    set->connect_timeout_ms = set->connect_timeout_ms != 0 ? set->connect_timeout_ms : 1000;
    set->idle_ms = set->idle_ms != 0 ? set->idle_ms : 30000;
}

int http_client_open(struct http_client **client, uv_loop_t *loop,
                     const struct http_client_options *options) {
    struct http_client *made;

    if (options->host == NULL || !dial_is_host(options->host) || options->port < 1 ||
        options->port > 65535 || (options->name != NULL && !dial_is_host(options->name)))
        return UV_EINVAL;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return UV_ENOMEM;
    made->loop = loop;
    dial_host_init(&made->host, options->host, options->port);
    if (options->name != NULL)
        dial_host_keep(&made->host, options->name);
    http_origin_write(made->authority, sizeof made->authority, options->host, options->port);
    made->options = *options;
    made->options.host = made->options.name = made->host.name;
    http_client_set_defaults(&made->options);
    for (int state = 0; state < CONNECTION_STATES; state++)
        TAILQ_INIT(&made->connections[state]);
    TAILQ_INIT(&made->urgent);
    TAILQ_INIT(&made->queue);
    TAILQ_INIT(&made->ended);
    TAILQ_INIT(&made->running);
    made->retry_ms = INT64_MAX;
    (void)uv_timer_init(loop, &made->timer); /* cannot fail, nor do the others */
    (void)uv_check_init(loop, &made->polled);
    (void)uv_idle_init(loop, &made->ending);
    made->timer.data = made->polled.data = made->ending.data = made;
    loop_ignore_sigpipe();
    *client = made;
    return 0;
}
