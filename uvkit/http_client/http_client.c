/* The HTTP client: brings calls and connections together, and ends every call exactly once. */
#include "http_client_internal.h"

#include "clock.h"
#include "fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 100

static const char too_late[] = "the deadline passed before it was sent";

static void leave_list(struct http_connection *connection) {
    struct http_client *client = connection->client;

    assert(client->count[connection->state] > 0);
    TAILQ_REMOVE(&client->connections[connection->state], connection, entry);
    client->count[connection->state]--;
}

/* To the front: so the idle connection that was used last is used next, and the others grow old. */
void http_client_move(struct http_connection *connection, enum http_connection_state state) {
    struct http_client *client = connection->client;

    assert(connection->state != CONNECTION_CLOSED && connection->state != state);
    if (connection->state != CONNECTION_STATES)
        leave_list(connection);
    connection->state = state;
    TAILQ_INSERT_HEAD(&client->connections[state], connection, entry);
    client->count[state]++;
}

/* Tell the calls that have ended so far; those that end meanwhile are told next time. */
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
    if (client->closing_handles > 1) { /* the last one counts until all is over */
        client->closing_handles--;
        return;
    }
    while (!TAILQ_EMPTY(&client->ended)) /* calls made after the close */
        tell_ended(client);
    assert(TAILQ_EMPTY(&client->queue) && TAILQ_EMPTY(&client->running));
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

void http_client_tell(struct http_client *client) {
    tell_ended(client);
    if (TAILQ_EMPTY(&client->ended))
        (void)uv_idle_stop(&client->ending);
    http_client_maybe_closed(client);
}

static void on_calls_ended(uv_idle_t *ending) {
    http_client_tell(ending->data);
}

void http_client_forget(struct http_connection *connection) {
    struct http_client *client = connection->client;

    assert(connection->state == CONNECTION_CLOSED && connection->call == NULL);
    leave_list(connection);
    free(connection);
    http_client_maybe_closed(client);
}

void http_client_end(struct http_client *client, struct http_call *call,
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
        call->header[0] = '\0'; /* it may be half of one */
    TAILQ_INSERT_TAIL(&client->ended, call, internal.entry);
    if (client->closing_handles == 0)
        (void)uv_idle_start(&client->ending, on_calls_ended); /* fails only without a callback */
}

static void dequeue(struct http_client *client, struct http_call *call) {
    assert(client->queued > 0 && call->internal.connection == NULL);
    TAILQ_REMOVE(&client->queue, call, internal.entry);
    client->queued--;
}

static void end_queued(struct http_client *client, struct http_call *call, const char *error) {
    dequeue(client, call);
    http_client_end(client, call, HTTP_CALL_NOT_SENT, error);
}

void http_client_requeue(struct http_client *client, struct http_call *call) {
    assert(call->internal.connection == NULL);
    TAILQ_INSERT_HEAD(&client->queue, call, internal.entry);
    client->queued++;
}

static unsigned kept_connections(const struct http_client *client) {
    return client->count[CONNECTION_OPENING] + client->count[CONNECTION_IDLE] +
           client->count[CONNECTION_BUSY];
}

/* Where others work, the calls that wait have hope; where none does, they share out the attempts
 * that are still under way, and with the last attempt the last call ends. */
void http_client_connect_failed(struct http_client *client, const char *why) {
    unsigned opening = client->count[CONNECTION_OPENING];
    unsigned share = (client->queued + opening) / (opening + 1);

    client->connect_failures++;
    if (client->count[CONNECTION_BUSY] > 0) {
        if (client->retry_ms == HTTP_CLIENT_NEVER_MS)
            client->retry_ms = clock_now_ms() + RETRY_MS;
        http_client_arm(client, client->retry_ms);
        return;
    }
    for (; share > 0; share--)
        end_queued(client, TAILQ_FIRST(&client->queue), why);
}

static bool may_connect(const struct http_client *client) {
    return kept_connections(client) < client->options.connections &&
           (client->retry_ms == HTTP_CLIENT_NEVER_MS || client->count[CONNECTION_BUSY] == 0);
}

void http_client_dispatch(struct http_client *client) {
    struct http_call *call;

    if (client->is_closing)
        return;
    while ((call = TAILQ_FIRST(&client->queue)) != NULL && client->count[CONNECTION_IDLE] > 0) {
        if (call->deadline_ms <= (int64_t)uv_now(client->loop)) {
            end_queued(client, call, too_late);
        } else {
            dequeue(client, call);
            http_connection_send(TAILQ_FIRST(&client->connections[CONNECTION_IDLE]), call);
        }
    }
    while (client->count[CONNECTION_OPENING] < client->queued &&
           client->count[CONNECTION_OPENING] < client->options.opening && may_connect(client)) {
        int rc = http_connection_open(client);

        if (rc != 0)
            http_client_connect_failed(client, uv_strerror(rc));
    }
}

/* A late reply would be taken for that to the next call, so its connection goes with it. */
static void http_client_end_early(struct http_client *client, struct http_call *call,
                                  const char *queued, const char *sent, const char *answering) {
    struct http_connection *connection = call->internal.connection;

    if (connection == NULL)
        end_queued(client, call, queued);
    else
        http_connection_close(connection, connection->reply.has_input ? answering : sent);
}

static void end_late(struct http_client *client, struct http_call *call) {
    http_client_end_early(client, call, too_late, "the deadline passed before the reply",
                          "the deadline passed in the middle of the reply");
}

void http_call_cancel(struct http_client *client, struct http_call *call) {
    static const char why[] = "broken off";

    if (!call->internal.is_running)
        return;
    http_client_end_early(client, call, why, why, why);
    http_client_dispatch(client);
}

static void leave_silent(struct http_client *client, int64_t now_ms) {
    struct http_connection *connection = http_client_oldest(client, CONNECTION_OPENING), *younger;

    for (; client->has_several && connection != NULL; connection = younger) {
        younger = TAILQ_PREV(connection, http_connections, entry);
        if (connection->leave_ms <= now_ms)
            http_connection_leave(connection, UV_ETIMEDOUT);
    }
}

void http_client_expire(struct http_client *client) {
    int64_t now_ms = (int64_t)uv_now(client->loop);
    int64_t opened_ms = now_ms - (int64_t)client->options.connect_timeout_ms;
    int64_t idle_ms = now_ms - (int64_t)client->options.idle_ms;
    struct http_connection *oldest;
    struct http_call *call;

    while ((call = TAILQ_FIRST(&client->running)) != NULL && call->deadline_ms <= now_ms)
        end_late(client, call);
    while ((oldest = http_client_oldest(client, CONNECTION_OPENING)) != NULL &&
           oldest->since_ms <= opened_ms)
        http_connection_fail(oldest, UV_ETIMEDOUT);
    leave_silent(client, now_ms);
    while ((oldest = http_client_oldest(client, CONNECTION_IDLE)) != NULL &&
           oldest->since_ms <= idle_ms)
        http_connection_close(oldest, NULL);
    if (client->retry_ms <= now_ms)
        client->retry_ms = HTTP_CLIENT_NEVER_MS;
    http_client_dispatch(client);
}

static bool http_client_is_full(const struct http_client *client) {
    unsigned opening = client->count[CONNECTION_OPENING];

    return client->count[CONNECTION_IDLE] == 0 && client->queued >= opening + client->options.queue;
}

/* Why a call cannot even be queued, or NULL. */
static const char *refusal(const struct http_client *client, const struct http_call *call) {
    if (client->is_closing)
        return "the client is closing";
    if (call->deadline_ms <= clock_now_ms())
        return too_late;
    if (http_client_is_full(client))
        return "the queue is full";
    return http_request_flaw(call);
}

static void http_client_start(struct http_client *client, struct http_call *call, http_call_cb cb,
                              struct fiber_event *awaited) {
    const char *why = refusal(client, call);

    call->status = 0;
    call->reply_length = 0;
    call->sent_ns = call->received_ns = 0;
    memset(&call->internal, 0, sizeof call->internal);
    call->internal.cb = cb;
    call->internal.awaited = awaited;
    if (why != NULL) {
        http_client_end(client, call, HTTP_CALL_NOT_SENT, why);
        return;
    }
    http_client_run(client, call);
    TAILQ_INSERT_TAIL(&client->queue, call, internal.entry);
    client->queued++;
    http_client_dispatch(client);
}

void http_call_start(struct http_client *client, struct http_call *call, http_call_cb cb) {
    http_client_start(client, call, cb, NULL);
}

static void on_awaited_ended(struct http_call *call) {
    fiber_event_set(call->internal.awaited);
}

enum http_call_outcome http_call_await(struct http_client *client, struct http_call *call) {
    struct fiber_event ended = FIBER_EVENT_INIT;

    http_client_start(client, call, on_awaited_ended, &ended);
    fiber_event_wait(&ended);
    return call->outcome;
}

void http_call_done(struct http_call *call) {
    free(call->internal.body);
    call->internal.body = NULL;
    call->reply = NULL;
    call->reply_length = 0;
}

void http_client_close(struct http_client *client, http_client_cb cb, void *data) {
    static const char why[] = "the client is closing";

    if (client->is_closing)
        return;
    client->is_closing = true;
    client->on_closed = cb;
    client->on_closed_data = data;
    while (client->queued > 0)
        end_queued(client, TAILQ_FIRST(&client->queue), why);
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
    *stats = (struct http_client_stats){.connections = kept_connections(client),
                                        .idle = client->count[CONNECTION_IDLE],
                                        .in_flight = client->count[CONNECTION_BUSY],
                                        .queued = client->queued,
                                        .opened = client->opened,
                                        .connect_failures = client->connect_failures};
}
