/* Connections come in pairs. Bytes from one end wait in a list until they may go to the other
 * one, so holding and passing take the same path. */
#include "fault_proxy.h"

#include "test.h"

#include <netdb.h>
#include <sys/un.h>

struct chunk {
    STAILQ_ENTRY(chunk) entry;
    uv_write_t write;
    size_t size;
    char bytes[65536];
};

/* One end of a connection; bytes from it go to `peer`. */
struct end {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    struct proxy_link *link;
    struct end *peer;
    STAILQ_HEAD(, chunk) held;
    bool has_ended; /* after the held bytes */
};

struct proxy_link {
    struct fault_proxy *proxy;
    struct end client, server;
    uv_connect_t connect;
    unsigned open; /* ends */
    bool is_frozen;
    LIST_ENTRY(proxy_link) entry;
};

static void on_end_closed(uv_handle_t *handle) {
    struct end *end = handle->data;

    if (--end->link->open == 0)
        free(end->link);
}

static void close_end(struct end *end) {
    struct chunk *chunk;

    while ((chunk = STAILQ_FIRST(&end->held)) != NULL) {
        STAILQ_REMOVE_HEAD(&end->held, entry);
        free(chunk);
    }
    uv_close(&end->socket.handle, on_end_closed);
}

static void cut(struct proxy_link *link) {
    if (uv_is_closing(&link->client.socket.handle))
        return;
    LIST_REMOVE(link, entry);
    link->proxy->cuts++;
    close_end(&link->client);
    close_end(&link->server);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    struct chunk *chunk = malloc(sizeof *chunk);

    assert_non_null(chunk);
    *buffer = uv_buf_init(chunk->bytes, sizeof chunk->bytes);
}

static void on_written(uv_write_t *write, int status) {
    free(write->data);
}

static bool is_held(const struct end *end) {
    bool is_request = end == &end->link->client;

    return end->link->is_frozen || (end->link->proxy->faults &
                                    (is_request ? PROXY_HOLDS_REQUESTS : PROXY_HOLDS_REPLIES)) != 0;
}

static void flush(struct end *end) {
    struct chunk *chunk;
    uv_buf_t buffer;

    while (!is_held(end) && (chunk = STAILQ_FIRST(&end->held))) {
        STAILQ_REMOVE_HEAD(&end->held, entry);
        buffer = uv_buf_init(chunk->bytes, (unsigned)chunk->size);
        chunk->write.data = chunk;
        if (uv_write(&chunk->write, &end->peer->socket.stream, &buffer, 1, on_written))
            free(chunk);
    }
    if (end->has_ended && !is_held(end))
        cut(end->link);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    struct end *end = stream->data;
    struct chunk *chunk =
        buffer->base != NULL
            ? (struct chunk *)(void *)(buffer->base - offsetof(struct chunk, bytes))
            : NULL;

    if (size <= 0) {
        free(chunk);
        if (size < 0 && end->link->is_frozen)
            end->has_ended = true;
        else if (size < 0)
            cut(end->link);
        return;
    }
    chunk->size = (size_t)size;
    end->link->proxy->chunks += end == &end->link->client;
    STAILQ_INSERT_TAIL(&end->held, chunk, entry);
    flush(end);
}

static void on_connected(uv_connect_t *connect, int status) {
    struct proxy_link *link = connect->data;

    if (status == UV_ECANCELED)
        return;
    if (status < 0) {
        cut(link);
        return;
    }
    (void)uv_read_start(&link->client.socket.stream, on_alloc, on_read);
    (void)uv_read_start(&link->server.socket.stream, on_alloc, on_read);
}

static void init_end(struct end *end, struct proxy_link *link, struct end *peer, int family) {
    uv_loop_t *loop = link->proxy->listener.loop;

    if (family == AF_UNIX) {
        assert_int_equal(uv_pipe_init(loop, &end->socket.pipe, 0), 0);
    } else {
        assert_int_equal(uv_tcp_init(loop, &end->socket.tcp), 0);
        assert_int_equal(uv_tcp_nodelay(&end->socket.tcp, 1), 0); /* else events wait for an ACK */
    }
    end->socket.handle.data = end;
    end->link = link;
    end->peer = peer;
    STAILQ_INIT(&end->held);
    link->open++;
}

static void connect_server(struct proxy_link *link) {
    const struct sockaddr_storage *server = &link->proxy->server;

    link->connect.data = link;
    if (server->ss_family == AF_UNIX)
        uv_pipe_connect(&link->connect, &link->server.socket.pipe,
                        ((const struct sockaddr_un *)server)->sun_path, on_connected);
    else
        assert_int_equal(uv_tcp_connect(&link->connect, &link->server.socket.tcp,
                                        (const struct sockaddr *)server, on_connected),
                         0);
}

static void on_client(uv_stream_t *listener, int status) {
    struct fault_proxy *proxy = listener->data;
    struct proxy_link *link = calloc(1, sizeof *link);

    assert_int_equal(status, 0);
    assert_non_null(link);
    link->proxy = proxy;
    init_end(&link->client, link, &link->server, AF_INET);
    init_end(&link->server, link, &link->client, proxy->server.ss_family);
    LIST_INSERT_HEAD(&proxy->links, link, entry);
    assert_int_equal(uv_accept(listener, &link->client.socket.stream), 0);
    proxy->clients++;
    if (proxy->faults & PROXY_REFUSES)
        cut(link);
    else
        connect_server(link);
}

static void find_server(struct sockaddr_storage *server, const char *host, const char *port) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;

    if (host[0] == '/') {
        struct sockaddr_un *address = (struct sockaddr_un *)server;

        address->sun_family = AF_UNIX;
        (void)snprintf(address->sun_path, sizeof address->sun_path, "%s", host);
        return;
    }
    assert_int_equal(getaddrinfo(host, port, &hints, &found), 0);
    memcpy(server, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
}

struct fault_proxy *fault_proxy_open(uv_loop_t *loop, const char *host, const char *port) {
    struct fault_proxy *proxy = calloc(1, sizeof *proxy);
    struct sockaddr_in own;
    int size = sizeof own;

    assert_non_null(proxy);
    find_server(&proxy->server, host, port);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &own), 0);
    assert_int_equal(uv_tcp_init(loop, &proxy->listener), 0);
    proxy->listener.data = proxy;
    assert_int_equal(uv_tcp_bind(&proxy->listener, (const struct sockaddr *)&own, 0), 0);
    assert_int_equal(uv_tcp_getsockname(&proxy->listener, (struct sockaddr *)&own, &size), 0);
    proxy->port = ntohs(own.sin_port);
    return proxy;
}

struct fault_proxy *fault_proxy_open_url(uv_loop_t *loop, const char *url) {
    const char *at = strchr(url, '@') != NULL ? strchr(url, '@') + 1 : strstr(url, "://") + 3;
    char host[256], port[8];
    struct fault_proxy *proxy;
    int length;

    assert_int_equal(sscanf(at, "%255[^:]:%7[0-9]%n", host, port, &length), 2);
    proxy = fault_proxy_open(loop, host, port);
    (void)snprintf(proxy->url, sizeof proxy->url, "%.*s127.0.0.1:%d%s", (int)(at - url), url,
                   proxy->port, at + length);
    return proxy;
}

void fault_proxy_listen(struct fault_proxy *proxy) {
    assert_int_equal(uv_listen((uv_stream_t *)&proxy->listener, 64, on_client), 0);
}

void fault_proxy_set(struct fault_proxy *proxy, unsigned faults) {
    struct proxy_link *link;

    proxy->faults = faults;
    if (faults & PROXY_REFUSES)
        fault_proxy_cut(proxy);
    LIST_FOREACH (link, &proxy->links, entry) {
        link->is_frozen = false;
        flush(&link->client);
        flush(&link->server);
    }
}

void fault_proxy_freeze(struct fault_proxy *proxy) {
    struct proxy_link *link;

    LIST_FOREACH (link, &proxy->links, entry)
        link->is_frozen = true;
}

void fault_proxy_cut(struct fault_proxy *proxy) {
    struct proxy_link *link;

    while ((link = LIST_FIRST(&proxy->links)) != NULL)
        cut(link);
}

void fault_proxy_cut_last(struct fault_proxy *proxy) {
    cut(LIST_FIRST(&proxy->links));
}

static void on_listener_closed(uv_handle_t *handle) {
    free(handle->data);
}

void fault_proxy_close(struct fault_proxy *proxy) {
    fault_proxy_cut(proxy);
    uv_close((uv_handle_t *)&proxy->listener, on_listener_closed);
}
