/* The HTTP client: brings calls and connections together, and ends every call exactly once. */
#include "http_client_internal.h"

#include "clock.h"
#include "fiber.h"

#include <stddef.h>
#include <stdlib.h>

#define RETRY_MS 100

static const char too_late[] = "the deadline passed before it was sent";

static void append(struct http_call_list *list, struct http_call *call) {
    call->internal.next = NULL;
    call->internal.previous = list->last;
    if (list->last != NULL)
        list->last->internal.next = call;
    else
        list->first = call;
    list->last = call;
    list->count++;
}

static void unlink_call(struct http_call_list *list, struct http_call *call) {
    struct http_call *next = call->internal.next, *previous = call->internal.previous;

    if (previous != NULL)
        previous->internal.next = next;
    else
        list->first = next;
    if (next != NULL)
        next->internal.previous = previous;
    else
        list->last = previous;
    list->count--;
}

static void unlink_connection(struct http_connection *connection) {
    struct http_connection_list *list = &connection->client->connections[connection->state];

    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        list->first = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    else
        list->last = connection->previous;
    list->count--;
}

/* To the front: so the idle connection that was used last is used next, and the others grow old. */
void http_client_move(struct http_connection *connection, enum http_connection_state state) {
    struct http_connection_list *list = &connection->client->connections[state];

    if (connection->state != CONNECTION_STATES)
        unlink_connection(connection);
    connection->state = state;
    connection->previous = NULL;
    connection->next = list->first;
    if (list->first != NULL)
        list->first->previous = connection;
    else
        list->last = connection;
    list->first = connection;
    list->count++;
}

/* Tell the calls that have ended so far; those that end meanwhile are told next time. */
static void tell_ended(struct http_client *client) {
    for (unsigned left = client->ended.count; left > 0; left--) {
        struct http_call *call = client->ended.first;
        char *body = call->internal.awaited == NULL ? call->internal.body : NULL;

        unlink_call(&client->ended, call);
        call->internal.cb(call); /* the call may be gone now */
        free(body);
    }
}

static void on_handle_closed(uv_handle_t *handle) {
    struct http_client *client = handle->data;
    http_client_cb on_closed = client->on_closed;
    void *data = client->on_closed_data;

    if (--client->open_handles > 0)
        return;
    while (client->ended.count > 0) /* calls made after the close */
        tell_ended(client);
    free(client->deadlines.heap);
    free(client->request);
    free(client);
    on_closed(data);
}

static void close_handle(struct http_client *client, uv_handle_t *handle) {
    handle->data = client;
    client->open_handles++;
    uv_close(handle, on_handle_closed);
}

static void maybe_closed(struct http_client *client) {
    if (!client->is_closing || client->has_closed_handles || client->ended.count > 0)
        return;
    for (int state = 0; state < CONNECTION_STATES; state++)
        if (client->connections[state].count > 0)
            return;
    client->has_closed_handles = true;
    close_handle(client, (uv_handle_t *)&client->deadlines.timer);
    close_handle(client, (uv_handle_t *)&client->deadlines.polled);
    close_handle(client, (uv_handle_t *)&client->ending);
}

void http_client_tell(struct http_client *client) {
    tell_ended(client);
    if (client->ended.count == 0)
        (void)uv_idle_stop(&client->ending);
    maybe_closed(client);
}

static void on_calls_ended(uv_idle_t *ending) {
    http_client_tell(ending->data);
}

void http_client_forget(struct http_connection *connection) {
    struct http_client *client = connection->client;

    unlink_connection(connection);
    free(connection);
    maybe_closed(client);
}

void http_client_end(struct http_client *client, struct http_call *call,
                     enum http_call_outcome outcome, const char *error) {
    static char empty[1];

    http_deadline_drop(&client->deadlines, &call->internal.deadline);
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
    append(&client->ended, call);
    if (!client->has_closed_handles)
        (void)uv_idle_start(&client->ending, on_calls_ended); /* fails only without a callback */
}

static void end_first_queued(struct http_client *client, const char *error) {
    struct http_call *call = client->queue.first;

    unlink_call(&client->queue, call);
    http_client_end(client, call, HTTP_CALL_NOT_SENT, error);
}

void http_client_requeue(struct http_client *client, struct http_call *call) {
    struct http_call_list *queue = &client->queue;

    call->internal.previous = NULL;
    call->internal.next = queue->first;
    if (queue->first != NULL)
        queue->first->internal.previous = call;
    else
        queue->last = call;
    queue->first = call;
    queue->count++;
}

static unsigned kept_connections(const struct http_client *client) {
    return client->connections[CONNECTION_OPENING].count +
           client->connections[CONNECTION_IDLE].count + client->connections[CONNECTION_BUSY].count;
}

/* Where others work, the calls that wait have hope; where none does, they share out the attempts
 * that are still under way, and with the last attempt the last call ends. */
void http_client_connect_failed(struct http_client *client, int code) {
    unsigned opening = client->connections[CONNECTION_OPENING].count;
    unsigned share = (client->queue.count + opening) / (opening + 1);

    client->connect_failures++;
    if (client->connections[CONNECTION_BUSY].count > 0) {
        if (client->retry.place == 0)
            http_deadline_set(&client->deadlines, &client->retry, clock_now_ms() + RETRY_MS);
        return;
    }
    for (; share > 0; share--)
        end_first_queued(client, uv_strerror(code));
}

static bool may_connect(const struct http_client *client) {
    return kept_connections(client) < client->options.connections &&
           (client->retry.place == 0 || client->connections[CONNECTION_BUSY].count == 0);
}

void http_client_dispatch(struct http_client *client) {
    if (client->is_closing)
        return;
    while (client->queue.count > 0 && client->connections[CONNECTION_IDLE].count > 0) {
        struct http_call *call = client->queue.first;

        if (call->deadline_ms <= (int64_t)uv_now(client->loop)) {
            end_first_queued(client, too_late);
            continue;
        }
        unlink_call(&client->queue, call);
        http_connection_send(client->connections[CONNECTION_IDLE].first, call);
    }
    while (client->connections[CONNECTION_OPENING].count < client->queue.count &&
           client->connections[CONNECTION_OPENING].count < client->options.opening &&
           may_connect(client)) {
        int rc = http_connection_open(client);

        if (rc != 0)
            http_client_connect_failed(client, rc);
    }
}

void on_http_client_retry(struct http_deadline *retry) {
    size_t offset = offsetof(struct http_client, retry);

    http_client_dispatch((struct http_client *)(void *)((char *)retry - offset));
}

/* One deadline for all that are idle, as only the one that has been for longest can be due. */
void on_http_client_idle(struct http_deadline *idle) {
    size_t offset = offsetof(struct http_client, idle);
    struct http_client *client = (struct http_client *)(void *)((char *)idle - offset);
    struct http_connection_list *list = &client->connections[CONNECTION_IDLE];
    int64_t idle_ms = (int64_t)client->options.idle_ms;

    while (list->last != NULL &&
           list->last->idle_since_ms + idle_ms <= (int64_t)uv_now(client->loop))
        http_connection_close(list->last, NULL);
    if (list->last != NULL)
        http_deadline_set(&client->deadlines, idle, list->last->idle_since_ms + idle_ms);
}

static void on_call_too_late(struct http_deadline *deadline) {
    size_t offset = offsetof(struct http_call, internal.deadline);
    struct http_call *call = (struct http_call *)(void *)((char *)deadline - offset);
    struct http_client *client = call->internal.client;
    struct http_connection *connection = call->internal.connection;

    if (connection == NULL) {
        unlink_call(&client->queue, call);
        http_client_end(client, call, HTTP_CALL_NOT_SENT, too_late);
    } else {
        /* A late reply would be taken for that to the next call. */
        http_connection_close(connection, connection->has_input
                                              ? "the deadline passed in the middle of the reply"
                                              : "the deadline passed before the reply");
    }
    http_client_dispatch(client);
}

static bool is_full(const struct http_client *client) {
    unsigned opening = client->connections[CONNECTION_OPENING].count;

    return client->connections[CONNECTION_IDLE].count == 0 &&
           client->queue.count >= opening + client->options.queue;
}

/* Why a call cannot even be queued, or NULL. */
static const char *refusal(const struct http_client *client, const struct http_call *call) {
    if (client->is_closing)
        return "the client is closing";
    if (call->deadline_ms <= clock_now_ms())
        return too_late;
    if (is_full(client))
        return "the queue is full";
    return http_request_flaw(call);
}

static void start(struct http_client *client, struct http_call *call, http_call_cb cb,
                  struct fiber_event *awaited) {
    const char *why = refusal(client, call);

    call->status = 0;
    call->reply_length = 0;
    call->sent_ns = call->received_ns = 0;
    call->internal = (struct http_call_part){.client = client, .cb = cb, .awaited = awaited};
    call->internal.deadline.on_passed = on_call_too_late;
    if (why != NULL) {
        http_client_end(client, call, HTTP_CALL_NOT_SENT, why);
        return;
    }
    http_deadline_set(&client->deadlines, &call->internal.deadline, call->deadline_ms);
    append(&client->queue, call);
    http_client_dispatch(client);
}

void http_client_call(struct http_client *client, struct http_call *call, http_call_cb cb) {
    start(client, call, cb, NULL);
}

static void on_awaited_ended(struct http_call *call) {
    fiber_event_set(call->internal.awaited);
}

enum http_call_outcome http_client_await(struct http_client *client, struct http_call *call) {
    struct fiber_event ended = FIBER_EVENT_INIT;

    start(client, call, on_awaited_ended, &ended);
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
    while (client->queue.count > 0)
        end_first_queued(client, why);
    for (int state = 0; state < CONNECTION_CLOSED; state++)
        while (client->connections[state].first != NULL)
            http_connection_close(client->connections[state].first, why);
    maybe_closed(client);
}

void http_client_warm(struct http_client *client, unsigned count) {
    while (!client->is_closing && kept_connections(client) < count && may_connect(client))
        if (http_connection_open(client) != 0)
            return;
}

void http_client_stats(const struct http_client *client, struct http_client_stats *stats) {
    *stats = (struct http_client_stats){.connections = kept_connections(client),
                                        .idle = client->connections[CONNECTION_IDLE].count,
                                        .in_flight = client->connections[CONNECTION_BUSY].count,
                                        .queued = client->queue.count,
                                        .opened = client->opened,
                                        .connect_failures = client->connect_failures};
}
