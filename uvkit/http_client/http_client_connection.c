/* One connection of the HTTP client: resolve, connect, write a call, read its reply, again.
 *
 * When an address cannot be reached, the next one of the name is tried, until connecting has taken
 * too long. A kept-alive connection that is closed, or turns out to be before a byte of a call has
 * left, gives the call back to the queue. After the first byte the call is never sent again:
 * whatever breaks the connection then leaves the call UNKNOWN. */
#include "http_client_internal.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int connect_to_address(struct http_connection *connection);
static void on_tcp_closed(uv_handle_t *tcp);

static void free_when_let_go(struct http_connection *connection) {
    if (connection->has_tcp || connection->is_resolving)
        return;
    uv_freeaddrinfo(connection->addresses.all);
    free(connection->unsent);
    buffer_free(&connection->body);
    http_client_forget(connection);
}

/* In words, with the address where the name has several. */
static const char *why_failed(struct http_connection *connection, int code) {
    struct http_client *client = connection->client;
    char address[ADDRESS_TEXT];

    if (connection->addresses.count < 2)
        return uv_strerror(code);
    address_text(address, connection->addresses.current->ai_addr);
    (void)snprintf(client->failure, sizeof client->failure, "%s: %s", address, uv_strerror(code));
    return client->failure;
}

void http_connection_fail(struct http_connection *connection, int code) {
    struct http_client *client = connection->client;
    const char *why = why_failed(connection, code);

    http_connection_close(connection, NULL);
    http_client_connect_failed(client, why);
    http_client_dispatch(client);
}

void http_connection_leave(struct http_connection *connection, int code) {
    int64_t now_ms = (int64_t)uv_now(connection->client->loop);

    connection->leave_ms = HTTP_CLIENT_NEVER_MS;
    if (connection->has_tcp && addresses_next(&connection->addresses, code == UV_ETIMEDOUT, now_ms))
        uv_close((uv_handle_t *)&connection->tcp, on_tcp_closed);
    else
        http_connection_fail(connection, code);
}

static void on_tcp_closed(uv_handle_t *tcp) {
    struct http_connection *connection = tcp->data;
    int rc;

    connection->has_tcp = false;
    if (connection->state == CONNECTION_CLOSED) {
        free_when_let_go(connection);
        return;
    }
    rc = connect_to_address(connection); /* the next one of the name */
    if (rc != 0)
        http_connection_leave(connection, rc);
}

void http_connection_close(struct http_connection *connection, const char *error) {
    struct http_client *client = connection->client;
    struct http_call *call = connection->call;

    if (connection->state == CONNECTION_CLOSED)
        return;
    http_client_move(connection, CONNECTION_CLOSED);
    connection->call = NULL;
    if (call != NULL)
        http_client_end(client, call, connection->is_sent ? HTTP_CALL_UNKNOWN : HTTP_CALL_NOT_SENT,
                        error);
    if (connection->is_resolving)
        (void)uv_cancel((uv_req_t *)&connection->resolve); /* or it ends by itself */
    if (!connection->has_tcp)
        free_when_let_go(connection);
    else if (!uv_is_closing((uv_handle_t *)&connection->tcp))
        uv_close((uv_handle_t *)&connection->tcp, on_tcp_closed);
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
    call->status = connection->parser.status_code;
    call->internal.body = connection->body.bytes;
    call->reply_length = connection->body.length;
    connection->body = (struct buffer){0};
    connection->call = NULL;
    http_client_end(client, call, HTTP_CALL_ANSWERED, NULL);
    if (connection->reply.keeps_alive && connection->unsent == NULL)
        become_idle(connection);
    else
        http_connection_close(connection, NULL);
}

static const char *http_connection_read_reply(struct http_connection *connection, ssize_t length,
                                              const char *bytes) {
    if (length == UV_EOF)
        return http_reply_parse_end(connection);
    if (length < 0)
        return uv_strerror((int)length);
    return http_reply_parse(connection, bytes, (size_t)length);
}

static void http_connection_on_read(uv_stream_t *tcp, ssize_t length, const uv_buf_t *input) {
    struct http_connection *connection = tcp->data;
    struct http_client *client = connection->client;
    const char *error;

    if (length == 0 || connection->state == CONNECTION_CLOSED)
        return;
    if (connection->state == CONNECTION_IDLE) {
        http_connection_close(connection, NULL); /* gone, or it speaks out of turn */
    } else {
        error = http_connection_read_reply(connection, length, input->base);
        if (error != NULL)
            http_connection_close(connection, error);
        else if (connection->reply.is_complete)
            finish_reply(connection);
    }
    http_client_dispatch(client);
    http_client_tell(client);
}

/* All connections share one buffer: what is in it is parsed before the next read. */
static void on_input_wanted(uv_handle_t *tcp, size_t suggested, uv_buf_t *input) {
    struct http_connection *connection = tcp->data;

    (void)suggested;
    *input = uv_buf_init(connection->client->input, HTTP_CLIENT_INPUT_BYTES);
}

static void http_connection_on_connected(uv_connect_t *connect, int status) {
    struct http_connection *connection = connect->data;
    struct http_client *client = connection->client;

    if (connection->state == CONNECTION_CLOSED || uv_is_closing((uv_handle_t *)&connection->tcp))
        return;
    if (status == 0)
        status = uv_tcp_nodelay(&connection->tcp, 1);
    if (status == 0)
        status = uv_read_start((uv_stream_t *)&connection->tcp, on_input_wanted,
                               http_connection_on_read);
    if (status != 0) {
        http_connection_leave(connection, status);
        return;
    }
    assert(connection->state == CONNECTION_OPENING);
    client->opened++;
    client->connect_failures = 0;
    if (connection->addresses.current != NULL)
        memcpy(&client->answered, connection->addresses.current->ai_addr,
               connection->addresses.current->ai_addrlen);
    become_idle(connection);
    http_client_dispatch(client);
}

static int connect_to_address(struct http_connection *connection) {
    struct http_client *client = connection->client;
    const struct addrinfo *current = connection->addresses.current;
    const struct sockaddr *address =
        current != NULL ? current->ai_addr : (const struct sockaddr *)&client->literal;

    if (!connection->has_tcp) {
        int rc = uv_tcp_init(client->loop, &connection->tcp);

        if (rc != 0)
            return rc;
        connection->has_tcp = true;
        connection->tcp.data = connection;
    }
    if (current != NULL) {
        connection->leave_ms =
            addresses_due_ms(&connection->addresses, (int64_t)uv_now(client->loop));
        http_client_arm(client, connection->leave_ms);
    }
    return uv_tcp_connect(&connection->connect, &connection->tcp, address,
                          http_connection_on_connected);
}

static void http_connection_on_resolved(uv_getaddrinfo_t *resolve, int status,
                                        struct addrinfo *addresses) {
    struct http_connection *connection = resolve->data;
    struct http_client *client = connection->client;

    connection->is_resolving = false;
    addresses_begin(&connection->addresses, addresses, &client->answered, connection->since_ms,
                    (int64_t)client->options.connect_timeout_ms);
    client->has_several |= connection->addresses.count > 1;
    if (connection->state == CONNECTION_CLOSED) {
        free_when_let_go(connection);
        return;
    }
    if (status == 0)
        status = connect_to_address(connection);
    if (status != 0)
        http_connection_leave(connection, status);
}

static int resolve(struct http_connection *connection) {
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct http_client *client = connection->client;
    char port[16];
    int rc;

    (void)snprintf(port, sizeof port, "%d", client->options.port);
    rc = uv_getaddrinfo(client->loop, &connection->resolve, http_connection_on_resolved,
                        client->host, port, &hints);
    connection->is_resolving = rc == 0;
    return rc;
}

int http_connection_open(struct http_client *client) {
    struct http_connection *connection = calloc(1, sizeof *connection);
    int rc;

    if (connection == NULL)
        return UV_ENOMEM;
    connection->client = client;
    connection->state = CONNECTION_STATES; /* in none yet */
    connection->is_fresh = true;
    connection->connect.data = connection;
    connection->resolve.data = connection;
    connection->write.data = connection;
    http_client_move(connection, CONNECTION_OPENING);
    connection->since_ms = clock_now_ms();
    connection->leave_ms = HTTP_CLIENT_NEVER_MS;
    http_client_arm(client, connection->since_ms + (int64_t)client->options.connect_timeout_ms);
    rc = client->literal.ss_family != 0 ? connect_to_address(connection) : resolve(connection);
    if (rc != 0)
        http_connection_close(connection, NULL);
    return rc;
}

/* When it failed, the connection is broken, and reading will say so: the server may have answered
 * before it closed, so `unsent` stays, only to keep the connection from being used again. */
static void http_connection_on_written(uv_write_t *write, int status) {
    struct http_connection *connection = write->data;

    if (status != 0)
        return;
    free(connection->unsent);
    connection->unsent = NULL;
}

/* The socket is full: let libuv write the rest when there is room. */
static int http_connection_write_rest(struct http_connection *connection, const char *rest,
                                      size_t length) {
    uv_buf_t buf;
    int rc;

    connection->unsent = malloc(length);
    if (connection->unsent == NULL)
        return UV_ENOMEM;
    memcpy(connection->unsent, rest, length);
    buf = uv_buf_init(connection->unsent, (unsigned)length);
    rc = uv_write(&connection->write, (uv_stream_t *)&connection->tcp, &buf, 1,
                  http_connection_on_written);
    if (rc == 0)
        connection->is_sent = true;
    return rc;
}

/* No byte has left. A kept-alive connection may have been closed by the server just now: then the
 * call may have another one. */
static void give_call_back(struct http_connection *connection, struct http_call *call, int code) {
    struct http_client *client = connection->client;

    if (connection->is_fresh)
        http_client_end(client, call, HTTP_CALL_NOT_SENT, uv_strerror(code));
    else
        http_client_requeue(client, call);
    http_connection_close(connection, NULL);
}

static void take_call(struct http_connection *connection, struct http_call *call) {
    http_client_move(connection, CONNECTION_BUSY);
    connection->call = call;
    connection->is_fresh = false;
    call->internal.connection = connection;
    http_reply_expect(connection);
}

/* The server has closed the connection, or spoken out of turn, and the loop has not read it yet.
 * Writing would succeed, and the call be lost. What a server says to who has just connected, that
 * it is too busy, is an answer. */
static bool http_connection_is_over(const struct http_connection *connection) {
    uv_os_fd_t fd = -1;
    ssize_t got;
    char byte;

    (void)uv_fileno((const uv_handle_t *)&connection->tcp, &fd);
    got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 ? errno != EAGAIN : got == 0 || !connection->is_fresh;
}

void http_connection_send(struct http_connection *connection, struct http_call *call) {
    struct http_client *client = connection->client;
    uv_buf_t buf;
    size_t sent;
    int written, rc = 0;

    assert(connection->state == CONNECTION_IDLE && connection->call == NULL);
    if (!http_request_build(client, call)) {
        http_client_end(client, call, HTTP_CALL_NOT_SENT, "out of memory for the request");
        return;
    }
    if (http_connection_is_over(connection)) {
        give_call_back(connection, call, UV_ECONNRESET);
        return;
    }
    buf = uv_buf_init(client->request.bytes, (unsigned)client->request.length);
    call->sent_ns = clock_now_ns();
    written = uv_try_write((uv_stream_t *)&connection->tcp, &buf, 1);
    if (written < 0 && written != UV_EAGAIN) {
        give_call_back(connection, call, written);
        return;
    }
    sent = written < 0 ? 0 : (size_t)written;
    take_call(connection, call);
    connection->is_sent = sent > 0;
    if (sent < buf.len)
        rc = http_connection_write_rest(connection, buf.base + sent, buf.len - sent);
    if (rc != 0)
        http_connection_close(connection, uv_strerror(rc));
}
