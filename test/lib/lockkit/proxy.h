/* A TCP proxy on the test's own loop that can hold back what flows, in either direction, or cut
 * its connections and lose it. */
#ifndef LOCKKIT_TEST_PROXY_H
#define LOCKKIT_TEST_PROXY_H

#include "fixture.h"

#include <sys/queue.h>

struct chunk {
    STAILQ_ENTRY(chunk) entry;
    uv_write_t write;
    size_t size;
    char bytes[65536];
};

struct proxy;

/* One end of a connection: what is read from it goes to `peer`. */
struct end {
    uv_tcp_t tcp;
    struct proxy *proxy;
    struct end *peer;
    bool is_client;
    STAILQ_HEAD(, chunk) held;
};

struct proxy_link {
    struct end client, server;
    uv_connect_t connect;
    unsigned handles;
    LIST_ENTRY(proxy_link) entry;
};

struct proxy {
    uv_tcp_t listener;
    struct sockaddr_in server;
    bool holds_requests, holds_replies;
    unsigned requests; /* chunks that came from clients */
    char url[512];
    LIST_HEAD(, proxy_link) links;
};

static inline void on_proxy_end_closed(uv_handle_t *handle) {
    struct proxy_link *link = handle->data;

    if (--link->handles == 0)
        free(link);
}

static inline void proxy_drop_held(struct end *end) {
    struct chunk *chunk;

    while ((chunk = STAILQ_FIRST(&end->held))) {
        STAILQ_REMOVE_HEAD(&end->held, entry);
        free(chunk);
    }
}

static inline void proxy_cut(struct proxy_link *link) {
    if (uv_is_closing((uv_handle_t *)&link->client.tcp))
        return;
    LIST_REMOVE(link, entry);
    proxy_drop_held(&link->client);
    proxy_drop_held(&link->server);
    uv_close((uv_handle_t *)&link->client.tcp, on_proxy_end_closed);
    uv_close((uv_handle_t *)&link->server.tcp, on_proxy_end_closed);
}

static inline void on_proxy_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    struct chunk *chunk = malloc(sizeof *chunk);

    (void)handle;
    (void)size;
    assert_non_null(chunk);
    *buffer = uv_buf_init(chunk->bytes, sizeof chunk->bytes);
}

static inline void on_proxy_written(uv_write_t *write, int status) {
    (void)status;
    free(write->data);
}

static inline void proxy_flush(struct end *end) {
    bool is_held = end->is_client ? end->proxy->holds_requests : end->proxy->holds_replies;
    struct chunk *chunk;
    uv_buf_t buffer;

    while (!is_held && (chunk = STAILQ_FIRST(&end->held))) {
        STAILQ_REMOVE_HEAD(&end->held, entry);
        buffer = uv_buf_init(chunk->bytes, (unsigned)chunk->size);
        chunk->write.data = chunk;
        if (uv_write(&chunk->write, (uv_stream_t *)&end->peer->tcp, &buffer, 1, on_proxy_written))
            free(chunk);
    }
}

static inline void on_proxy_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    struct proxy_link *link = stream->data;
    struct end *end = (uv_stream_t *)&link->client.tcp == stream ? &link->client : &link->server;
    struct chunk *chunk =
        buffer->base ? (struct chunk *)(void *)(buffer->base - offsetof(struct chunk, bytes))
                     : NULL;

    if (size <= 0) {
        free(chunk);
        if (size < 0)
            proxy_cut(link);
        return;
    }
    chunk->size = (size_t)size;
    end->proxy->requests += end->is_client;
    STAILQ_INSERT_TAIL(&end->held, chunk, entry);
    proxy_flush(end);
}

static inline void on_proxy_connected(uv_connect_t *connect, int status) {
    struct proxy_link *link = connect->data;

    if (status < 0) {
        if (status != UV_ECANCELED)
            proxy_cut(link);
        return;
    }
    (void)uv_read_start((uv_stream_t *)&link->client.tcp, on_proxy_alloc, on_proxy_read);
    (void)uv_read_start((uv_stream_t *)&link->server.tcp, on_proxy_alloc, on_proxy_read);
}

static inline void proxy_end_init(struct end *end, struct proxy *proxy, struct proxy_link *link,
                                  struct end *peer) {
    (void)uv_tcp_init(proxy->listener.loop, &end->tcp);
    assert_int_equal(uv_tcp_nodelay(&end->tcp, 1), 0); /* else an event waits for an ACK */
    end->tcp.data = link;
    end->proxy = proxy;
    end->peer = peer;
    end->is_client = end == &link->client;
    STAILQ_INIT(&end->held);
    link->handles++;
}

static inline void on_proxy_connection(uv_stream_t *listener, int status) {
    struct proxy *proxy = listener->data;
    struct proxy_link *link = calloc(1, sizeof *link);

    assert_int_equal(status, 0);
    assert_non_null(link);
    proxy_end_init(&link->client, proxy, link, &link->server);
    proxy_end_init(&link->server, proxy, link, &link->client);
    LIST_INSERT_HEAD(&proxy->links, link, entry);
    assert_int_equal(uv_accept(listener, (uv_stream_t *)&link->client.tcp), 0);
    link->connect.data = link;
    assert_int_equal(uv_tcp_connect(&link->connect, &link->server.tcp,
                                    (const struct sockaddr *)&proxy->server, on_proxy_connected),
                     0);
}

static inline void proxy_hold(struct proxy *proxy, bool requests, bool replies) {
    struct proxy_link *link;

    proxy->holds_requests = requests;
    proxy->holds_replies = replies;
    LIST_FOREACH (link, &proxy->links, entry) {
        proxy_flush(&link->client);
        proxy_flush(&link->server);
    }
}

/* Cut all connections, and lose what is held. */
static inline void proxy_cut_all(struct proxy *proxy) {
    struct proxy_link *link;

    while ((link = LIST_FIRST(&proxy->links)))
        proxy_cut(link);
}

/* Listen on a port of its own, for the Redis at `url`: redis://[:password@]a.b.c.d:port[/db]. */
static inline void proxy_init(struct proxy *proxy, uv_loop_t *loop, const char *url) {
    const char *at = strchr(url, '@') ? strchr(url, '@') + 1 : url + strlen("redis://");
    const char *slash = strchr(at, '/') ? strchr(at, '/') : at + strlen(at);
    struct sockaddr_in own;
    int size = sizeof own, port;
    char host[32];

    memset(proxy, 0, sizeof *proxy);
    assert_int_equal(sscanf(at, "%31[^:]:%d", host, &port), 2);
    if (strcmp(host, "localhost") == 0)
        memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
    assert_int_equal(uv_ip4_addr(host, port, &proxy->server), 0);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &own), 0);
    (void)uv_tcp_init(loop, &proxy->listener);
    proxy->listener.data = proxy;
    assert_int_equal(uv_tcp_bind(&proxy->listener, (const struct sockaddr *)&own, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&proxy->listener, 16, on_proxy_connection), 0);
    assert_int_equal(uv_tcp_getsockname(&proxy->listener, (struct sockaddr *)&own, &size), 0);
    (void)snprintf(proxy->url, sizeof proxy->url, "%.*s127.0.0.1:%d%s", (int)(at - url), url,
                   ntohs(own.sin_port), slash);
}

static inline void proxy_close(struct proxy *proxy) {
    proxy_cut_all(proxy);
    uv_close((uv_handle_t *)&proxy->listener, NULL);
}

#endif
