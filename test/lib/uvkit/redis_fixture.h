/* What the tests of the Redis client share: a loop, an administrator's connection, and a relay that
 * stands between a client and the server, to be cut, silenced or absent. */
#ifndef TEST_REDIS_FIXTURE_H
#define TEST_REDIS_FIXTURE_H

#include "clock.h"
#include "redis_internal.h"
#include "wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static uv_loop_t loop;
static struct redis *redis;
static struct redis_address server;
static redisContext *admin; /* blocking */
static bool is_closed;
static char client_name[32];

static inline const char *test_url(void) {
    const char *url = getenv("TEST_REDIS");

    if (!url)
        print_error("set TEST_REDIS to the URL of a scratch server (test/run does)\n");
    return url;
}

/* An administrator's command; the reply is the caller's. */
__attribute__((format(printf, 1, 2))) static inline redisReply *order(const char *format, ...) {
    va_list arguments;
    redisReply *reply;

    va_start(arguments, format);
    reply = redisvCommand(admin, format, arguments);
    va_end(arguments);
    assert_non_null(reply);
    return reply;
}

#define ORDER(...) freeReplyObject(order(__VA_ARGS__))

/* Kill our own connections of a type ("normal", "pubsub"): others may be using the server. */
static inline void kill_clients(const char *type) {
    redisReply *list = order("CLIENT LIST TYPE %s", type);
    char *save = NULL;

    for (char *line = strtok_r(list->str, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strstr(line, client_name) && strncmp(line, "id=", 3) == 0)
            ORDER("CLIENT KILL ID %ld", strtol(line + 3, NULL, 10));
    freeReplyObject(list);
}

static inline int set_up(void **state) {
    (void)state;
    if (redis_address_parse(&server, test_url()) != 0)
        return -1;
    admin = redisConnect(server.host, server.port);
    if (!admin || admin->err)
        return -1;
    if (server.password)
        ORDER("AUTH %s", server.password);
    ORDER("SELECT %d", server.db);
    (void)snprintf(client_name, sizeof client_name, "test-%ld", (long)getpid());
    redis = NULL;
    is_closed = false;
    return uv_loop_init(&loop);
}

static inline void on_closed(void *data) {
    (void)data;
    assert_false(is_closed);
    is_closed = true;
}

static inline void close_redis(void) {
    if (redis)
        redis_close(redis, on_closed, NULL);
    WAIT_FOR(&loop, !redis || is_closed);
    redis = NULL;
    is_closed = false;
}

static inline int tear_down(void **state) {
    (void)state;
    if (redis)
        close_redis();
    redisFree(admin);
    redis_address_free(&server);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

static inline void open_redis_at(const char *url) {
    struct redis_options options = {.url = url, .name = client_name};

    assert_int_equal(redis_open(&redis, &loop, &options), 0);
}

static inline void open_redis(void) {
    open_redis_at(test_url());
    WAIT_FOR(&loop, redis->connection.is_up);
}

/* One side of a relayed connection. */
struct relay_end {
    uv_tcp_t tcp;
    struct relay_end *other;
    struct relay *relay;
    struct relay_end *next;
};

struct relay {
    uv_tcp_t listener;
    struct relay_end *ends;
    bool is_silent; /* takes all, passes nothing on */
    char url[512];
    unsigned accepted;
};

static inline void on_relay_end_closed(uv_handle_t *handle) {
    free(handle->data);
}

static inline void relay_cut(struct relay *relay) {
    while (relay->ends) {
        struct relay_end *end = relay->ends;

        relay->ends = end->next;
        uv_close((uv_handle_t *)&end->tcp, on_relay_end_closed);
    }
}

static inline void on_relay_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    static char room[65536];

    (void)handle;
    (void)size;
    *buffer = uv_buf_init(room, sizeof room);
}

/* uv_try_write() takes all of the little that tests send. */
static inline void on_relay_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    struct relay_end *end = stream->data;

    if (size < 0) {
        relay_cut(end->relay);
    } else if (!end->relay->is_silent) {
        uv_buf_t out = uv_buf_init(buffer->base, (unsigned)size);

        (void)uv_try_write((uv_stream_t *)&end->other->tcp, &out, 1);
    }
}

static inline struct relay_end *relay_add(struct relay *relay) {
    struct relay_end *end = calloc(1, sizeof *end);

    assert_non_null(end);
    assert_int_equal(uv_tcp_init(&loop, &end->tcp), 0);
    end->tcp.data = end;
    end->relay = relay;
    end->next = relay->ends;
    relay->ends = end;
    return end;
}

static inline void on_relay_connected(uv_connect_t *request, int status) {
    struct relay_end *end = request->handle->data;

    free(request);
    if (status != 0)
        return;
    assert_int_equal(uv_read_start((uv_stream_t *)&end->tcp, on_relay_room, on_relay_read), 0);
    assert_int_equal(uv_read_start((uv_stream_t *)&end->other->tcp, on_relay_room, on_relay_read),
                     0);
}

static inline void on_relay_client(uv_stream_t *listener, int status) {
    struct relay *relay = listener->data;
    struct relay_end *client = relay_add(relay), *far = relay_add(relay);
    uv_connect_t *request = calloc(1, sizeof *request);
    struct sockaddr_in address;

    assert_int_equal(status, 0);
    assert_non_null(request);
    client->other = far;
    far->other = client;
    relay->accepted++;
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&client->tcp), 0);
    assert_int_equal(uv_ip4_addr(server.host, server.port, &address), 0);
    assert_int_equal(
        uv_tcp_connect(request, &far->tcp, (const struct sockaddr *)&address, on_relay_connected),
        0);
}

/* Reserve a port: nobody listens until relay_listen(). */
static inline void relay_open(struct relay *relay) {
    struct sockaddr_in address;
    int size = sizeof address;

    memset(relay, 0, sizeof *relay);
    assert_int_equal(uv_tcp_init(&loop, &relay->listener), 0);
    relay->listener.data = relay;
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    assert_int_equal(uv_tcp_bind(&relay->listener, (const struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_tcp_getsockname(&relay->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(relay->url, sizeof relay->url, "redis://%s%s%s127.0.0.1:%d/%d",
                   server.password ? ":" : "", server.password ? server.password : "",
                   server.password ? "@" : "", ntohs(address.sin_port), server.db);
}

static inline void relay_listen(struct relay *relay) {
    assert_int_equal(uv_listen((uv_stream_t *)&relay->listener, 16, on_relay_client), 0);
}

static inline void relay_close(struct relay *relay) {
    relay_cut(relay);
    uv_close((uv_handle_t *)&relay->listener, NULL);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
}

#endif
