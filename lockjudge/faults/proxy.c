/* Bytes of one side wait in a list until they may go to the other side. So a fault only decides
 * when the list may go on. */
#include "proxy.h"

#include "loop.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define CHUNK_BYTES 16384
#define HELD_BYTES  (1u << 20) /* a side with more waiting bytes is not read */

struct chunk {
    STAILQ_ENTRY(chunk) entry;
    uv_write_t write;
    struct side *from;
    size_t size;
    uint64_t due_ms;
    char bytes[CHUNK_BYTES];
};

/* One side of a connection: the worker's, or the server's. */
struct side {
    uv_tcp_t tcp;
    struct proxy_link *link;
    struct side *peer;
    unsigned way; /* of its bytes */
    uv_shutdown_t shutdown;
    STAILQ_HEAD(, chunk) held;
    size_t held_bytes;
    bool is_read;
    bool has_ended;  /* it sends no more; the held bytes are still to go */
    bool has_passed; /* and its peer knows it */
};

struct proxy_link {
    struct proxy *proxy;
    struct side worker, server;
    uv_connect_t connect;
    unsigned open; /* sides that libuv still uses */
    bool is_cut, has_hole;
    LIST_ENTRY(proxy_link) entry;
};

static void part_gone(struct proxy *proxy) {
    if (--proxy->open == 0 && proxy->on_closed != NULL)
        proxy->on_closed(proxy);
}

/* ---- the end of a connection */

static void on_side_closed(uv_handle_t *handle) {
    struct side *side = handle->data;
    struct proxy_link *link = side->link;
    struct proxy *proxy = link->proxy;

    if (--link->open > 0)
        return;
    free(link);
    part_gone(proxy);
}

static void close_side(struct side *side, bool is_reset) {
    struct chunk *chunk;

    while ((chunk = STAILQ_FIRST(&side->held)) != NULL) {
        STAILQ_REMOVE_HEAD(&side->held, entry);
        free(chunk);
    }
    /* libuv refuses the reset while a shutdown is under way. */
    if (!is_reset || uv_tcp_close_reset(&side->tcp, on_side_closed) != 0)
        uv_close((uv_handle_t *)&side->tcp, on_side_closed);
}

static void link_end(struct proxy_link *link, bool is_reset) {
    if (link->is_cut)
        return;
    link->is_cut = true;
    link->proxy->cuts += is_reset;
    LIST_REMOVE(link, entry);
    close_side(&link->worker, is_reset);
    close_side(&link->server, is_reset);
}

static void cut_all(struct proxy *proxy) {
    struct proxy_link *link;

    while ((link = LIST_FIRST(&proxy->links)) != NULL)
        link_end(link, true);
}

/* ---- the bytes */

static bool has_fault(const struct proxy *proxy, enum proxy_kind kind, unsigned way) {
    return proxy->has_fault && proxy->fault.kind == kind && (proxy->fault.ways & way) != 0;
}

static bool is_due(const struct side *side, const struct chunk *chunk) {
    struct proxy *proxy = side->link->proxy;

    return !has_fault(proxy, PROXY_FREEZE, side->way) &&
           (!has_fault(proxy, PROXY_DELAY, side->way) ||
            chunk->due_ms <= uv_now(proxy->timer.loop));
}

static void read_on(struct side *side);

static void on_written(uv_write_t *write, int status) {
    struct chunk *chunk = write->data;
    struct side *from = chunk->from;

    free(chunk);
    if (status == UV_ECANCELED || from->link->is_cut)
        return;
    if (status < 0)
        link_end(from->link, true);
    else
        read_on(from);
}

/* The caller gives up `chunk`. */
static void send_chunk(struct side *side, struct chunk *chunk) {
    uv_buf_t buffer = uv_buf_init(chunk->bytes, (unsigned)chunk->size);

    chunk->write.data = chunk;
    chunk->from = side;
    if (uv_write(&chunk->write, (uv_stream_t *)&side->peer->tcp, &buffer, 1, on_written) != 0)
        free(chunk); /* the peer is gone; reading from it will say so */
}

static void on_shutdown(uv_shutdown_t *shutdown, int status) {
    struct side *side = shutdown->data; /* its end has passed */

    if (status != UV_ECANCELED && side->peer->has_passed && !side->link->is_cut)
        link_end(side->link, false);
}

/* Tell the peer that this side sends no more. The link ends when both sides have ended. */
static void pass_end(struct side *side) {
    side->has_passed = true;
    side->shutdown.data = side;
    if (uv_shutdown(&side->shutdown, (uv_stream_t *)&side->peer->tcp, on_shutdown) != 0)
        link_end(side->link, true);
}

/* Send all that may go on now. */
static void side_flush(struct side *side) {
    struct chunk *chunk;

    while ((chunk = STAILQ_FIRST(&side->held)) != NULL && is_due(side, chunk)) {
        STAILQ_REMOVE_HEAD(&side->held, entry);
        side->held_bytes -= chunk->size;
        send_chunk(side, chunk);
    }
    if (side->has_ended && !side->has_passed && STAILQ_EMPTY(&side->held) &&
        !has_fault(side->link->proxy, PROXY_FREEZE, side->way))
        pass_end(side);
    else
        read_on(side);
}

static void flush_all(struct proxy *proxy) {
    struct proxy_link *link, *next;

    for (link = LIST_FIRST(&proxy->links); link != NULL; link = next) {
        next = LIST_NEXT(link, entry);
        side_flush(&link->worker);
        if (!link->is_cut)
            side_flush(&link->server);
    }
}

static void wait_until_due(struct proxy *proxy);

static void on_timer(uv_timer_t *timer) {
    struct proxy *proxy = timer->data;

    flush_all(proxy);
    wait_until_due(proxy);
}

static void sooner(struct side *side, uint64_t *due_ms) {
    struct chunk *chunk = STAILQ_FIRST(&side->held);

    if (chunk != NULL && chunk->due_ms < *due_ms)
        *due_ms = chunk->due_ms;
}

static void wait_until_due(struct proxy *proxy) {
    uint64_t due_ms = UINT64_MAX, now_ms = uv_now(proxy->timer.loop);
    struct proxy_link *link;

    if (!proxy->has_fault || proxy->fault.kind != PROXY_DELAY)
        return;
    LIST_FOREACH (link, &proxy->links, entry) {
        sooner(&link->worker, &due_ms);
        sooner(&link->server, &due_ms);
    }
    if (due_ms != UINT64_MAX)
        (void)uv_timer_start(&proxy->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

/* ---- faults */

static void start_fault(struct proxy *proxy, const struct proxy_fault *fault) {
    proxy->fault = *fault;
    if (fault->ways == 0)
        proxy->fault.ways = PROXY_BOTH;
    proxy->has_fault = fault->kind != PROXY_CUT;
    if (fault->kind == PROXY_CUT || fault->kind == PROXY_REFUSE)
        cut_all(proxy);
    flush_all(proxy);
    wait_until_due(proxy);
}

void proxy_set(struct proxy *proxy, const struct proxy_fault *fault) {
    proxy->has_next = fault->moment != PROXY_NOW;
    if (proxy->has_next)
        proxy->next = *fault;
    else
        start_fault(proxy, fault);
}

void proxy_heal(struct proxy *proxy) {
    struct proxy_link *link, *next;

    proxy->has_fault = proxy->has_next = false;
    for (link = LIST_FIRST(&proxy->links); link != NULL; link = next) {
        next = LIST_NEXT(link, entry);
        if (link->has_hole)
            link_end(link, true);
    }
    flush_all(proxy);
}

static bool is_moment(enum proxy_moment moment, unsigned way) {
    return way == PROXY_REQUESTS ? moment == PROXY_BEFORE_REQUEST
                                 : moment == PROXY_BEFORE_REPLY || moment == PROXY_IN_REPLY;
}

static struct chunk *chunk_new(void) {
    return malloc(sizeof(struct chunk));
}

/* Send the first `bytes` of a chunk. Returns the rest, or NULL when the rest is empty or memory is
 * full: then all of it passed. */
static struct chunk *send_first(struct side *side, struct chunk *chunk, size_t bytes) {
    struct chunk *rest = bytes > 0 && bytes < chunk->size ? chunk_new() : NULL;

    if (bytes == 0)
        return chunk;
    if (rest != NULL) {
        rest->size = chunk->size - bytes;
        memcpy(rest->bytes, chunk->bytes + bytes, rest->size);
        chunk->size = bytes;
    }
    send_chunk(side, chunk);
    return rest;
}

/* The bytes of `chunk` have their turn: a waiting fault begins at them. Returns the bytes that the
 * fault hits, or NULL: none is left. */
static struct chunk *meet_fault(struct side *side, struct chunk *chunk) {
    struct proxy *proxy = side->link->proxy;
    struct proxy_fault fault = proxy->next;

    if (!proxy->has_next || !is_moment(fault.moment, side->way))
        return chunk;
    proxy->has_next = false;
    if (fault.moment == PROXY_IN_REPLY)
        chunk = send_first(side, chunk, fault.bytes);
    start_fault(proxy, &fault);
    if (proxy->on_fault != NULL)
        proxy->on_fault(proxy);
    return chunk;
}

/* ---- reading */

static void take_chunk(struct side *side, struct chunk *chunk) {
    struct proxy_link *link = side->link;
    struct proxy *proxy = link->proxy;

    proxy->bytes[side->way - 1] += chunk->size;
    chunk = meet_fault(side, chunk);
    if (chunk == NULL)
        return;
    if (link->is_cut) {
        free(chunk);
    } else if (has_fault(proxy, PROXY_DROP, side->way)) {
        link->has_hole = true;
        free(chunk);
    } else {
        chunk->due_ms = uv_now(proxy->timer.loop);
        if (has_fault(proxy, PROXY_DELAY, side->way))
            chunk->due_ms += (uint64_t)proxy->fault.delay_ms;
        STAILQ_INSERT_TAIL(&side->held, chunk, entry);
        side->held_bytes += chunk->size;
        side_flush(side);
        wait_until_due(proxy);
    }
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    struct chunk *chunk = chunk_new();

    (void)handle;
    (void)size;
    *buffer = chunk != NULL ? uv_buf_init(chunk->bytes, sizeof chunk->bytes) : uv_buf_init(NULL, 0);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    struct side *side = stream->data;
    struct chunk *chunk = NULL;

    if (buffer->base != NULL)
        chunk = (struct chunk *)(void *)(buffer->base - offsetof(struct chunk, bytes));
    if (size > 0) {
        chunk->size = (size_t)size;
        take_chunk(side, chunk);
        return;
    }
    free(chunk);
    if (size == 0)
        return;
    /* A reset during a freeze stays unknown to the other side, as any end does. */
    if (size == UV_EOF || has_fault(side->link->proxy, PROXY_FREEZE, side->way)) {
        side->has_ended = true;
        (void)uv_read_stop(stream);
        side_flush(side);
    } else {
        link_end(side->link, true);
    }
}

/* Read from this side, unless it has ended or too many of its bytes wait. */
static void read_on(struct side *side) {
    size_t waiting = side->held_bytes + side->peer->tcp.write_queue_size;
    bool is_read = !side->has_ended && waiting < HELD_BYTES;

    if (is_read == side->is_read || side->link->is_cut)
        return;
    side->is_read = is_read;
    if (!is_read)
        (void)uv_read_stop((uv_stream_t *)&side->tcp);
    else if (uv_read_start((uv_stream_t *)&side->tcp, on_alloc, on_read) != 0)
        link_end(side->link, true);
}

/* ---- a new connection */

static void on_connected(uv_connect_t *connect, int status) {
    struct proxy_link *link = connect->data;

    if (status == UV_ECANCELED || link->is_cut)
        return;
    if (status < 0) {
        link_end(link, true);
        return;
    }
    read_on(&link->worker);
    if (!link->is_cut)
        read_on(&link->server);
}

static int init_side(struct side *side, struct proxy_link *link, struct side *peer, unsigned way) {
    int code = uv_tcp_init(link->proxy->timer.loop, &side->tcp);

    if (code != 0)
        return code;
    side->tcp.data = side;
    side->link = link;
    side->peer = peer;
    side->way = way;
    STAILQ_INIT(&side->held);
    link->open++;
    return 0;
}

static void on_worker(uv_stream_t *listener, int status) {
    const struct proxy_gate *gate = listener->data;
    struct proxy *proxy = gate->proxy;
    struct proxy_link *link = status == 0 ? calloc(1, sizeof *link) : NULL;

    if (link == NULL)
        return; /* libuv accepts it again, at the next event of the listener */
    link->proxy = proxy;
    /* These cannot fail: libuv makes the sockets later. */
    int code = init_side(&link->worker, link, &link->server, PROXY_REQUESTS);
    assert(code == 0);
    code = init_side(&link->server, link, &link->worker, PROXY_REPLIES);
    assert(code == 0);
    (void)code;
    LIST_INSERT_HEAD(&proxy->links, link, entry);
    proxy->open++;
    if (uv_accept(listener, (uv_stream_t *)&link->worker.tcp) != 0) {
        link_end(link, false);
        return;
    }
    proxy->connections++;
    link->connect.data = link;
    (void)uv_tcp_nodelay(&link->worker.tcp, 1);
    (void)uv_tcp_nodelay(&link->server.tcp, 1);
    if ((proxy->has_fault && proxy->fault.kind == PROXY_REFUSE) ||
        uv_tcp_connect(&link->connect, &link->server.tcp, (const struct sockaddr *)&gate->server,
                       on_connected) != 0)
        link_end(link, true);
}

/* ---- the address */

struct place {
    size_t start, end; /* of host:port in the URL */
    char host[256], port[8];
};

static bool copy_part(char *text, size_t size, const char *from, const char *end) {
    if (end <= from || (size_t)(end - from) >= size)
        return false;
    memcpy(text, from, (size_t)(end - from));
    text[end - from] = '\0';
    return true;
}

/* The text behind the scheme, or NULL: there is none. */
static const char *behind_scheme(const char *url) {
    const char *at = url + strcspn(url, ",/?#@");

    return at > url && at[-1] == ':' && strncmp(at, "//", 2) == 0 ? at + 2 : NULL;
}

/* The first host:port at or behind `first` of `url`. */
static bool read_place(const char *url, size_t first, struct place *place) {
    const char *behind = behind_scheme(url + first);
    const char *from = behind != NULL ? behind : url + first;
    const char *path = from + strcspn(from, "/?#"), *at, *colon, *end;

    for (at = path; at > from && at[-1] != '@'; at--)
        ;
    if (*at == '[') {
        end = memchr(at, ']', (size_t)(path - at));
        if (end == NULL || end[1] != ':' ||
            !copy_part(place->host, sizeof place->host, at + 1, end))
            return false;
        colon = end + 1;
    } else {
        colon = memchr(at, ':', (size_t)(path - at));
        if (colon == NULL || !copy_part(place->host, sizeof place->host, at, colon))
            return false;
    }
    end = colon + 1 + strspn(colon + 1, "0123456789");
    place->start = (size_t)(at - url);
    place->end = (size_t)(end - url);
    return (*end == '\0' || strchr("/?#,", *end) != NULL) &&
           copy_part(place->port, sizeof place->port, colon + 1, end);
}

/* The start of the next server: behind a comma at `end`, where a host:port ends, or the next URL of
 * a list. 0: there is none. */
static size_t next_server(const char *url, size_t end) {
    if (url[end] == ',')
        return end + 1;
    for (const char *at = strchr(url + end, ','); at != NULL; at = strchr(at + 1, ','))
        if (behind_scheme(at + 1) != NULL)
            return (size_t)(at + 1 - url);
    return 0;
}

/* Their number; 0: a server has no host:port, or there are too many. */
static unsigned read_places(const char *url, struct place places[PROXY_SERVERS_MAX]) {
    unsigned count = 0;
    size_t from = 0;

    do {
        if (count == PROXY_SERVERS_MAX || !read_place(url, from, &places[count]))
            return 0;
        from = next_server(url, places[count++].end);
    } while (from != 0);
    return count;
}

bool proxy_has_server(const char *url) {
    struct place places[PROXY_SERVERS_MAX];

    return read_places(url, places) > 0;
}

/* Does it accept a connection? It may have a second for that. */
static bool accepts(const struct addrinfo *address) {
    const struct timeval limit = {.tv_sec = 1};
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_open = false;

    if (fd < 0)
        return false;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0)
        is_open = connect(fd, address->ai_addr, address->ai_addrlen) == 0;
    (void)close(fd);
    return is_open;
}

/* `localhost` is ::1 and 127.0.0.1, and many servers listen at the second alone: so the first that
 * accepts, or the first. */
static const struct addrinfo *best_of(const struct addrinfo *all) {
    for (const struct addrinfo *one = all; all->ai_next != NULL && one != NULL; one = one->ai_next)
        if (accepts(one))
            return one;
    return all;
}

static int find_server(struct proxy_gate *gate, uv_loop_t *loop, const struct place *place,
                       struct why *why) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct addrinfo *best;
    uv_getaddrinfo_t request;
    int code = uv_getaddrinfo(loop, &request, NULL, place->host, place->port, &hints);

    if (code != 0)
        return why_set(why, "%s:%s: %s", place->host, place->port, uv_strerror(code));
    best = best_of(request.addrinfo);
    memcpy(&gate->server, best->ai_addr, best->ai_addrlen);
    uv_freeaddrinfo(request.addrinfo);
    return 0;
}

static void on_timer_closed(uv_handle_t *handle) {
    part_gone(handle->data);
}

static void on_gate_closed(uv_handle_t *handle) {
    part_gone(((struct proxy_gate *)handle->data)->proxy);
}

/* Listen for the next server. */
static int gate_open(struct proxy *proxy, uv_loop_t *loop) {
    struct proxy_gate *gate = &proxy->gates[proxy->gate_count++];
    struct sockaddr_in own;
    int size = sizeof own, code;

    (void)uv_tcp_init(loop, &gate->listener);
    gate->listener.data = gate;
    gate->proxy = proxy;
    proxy->open++;
    (void)uv_ip4_addr("127.0.0.1", 0, &own);
    code = uv_tcp_bind(&gate->listener, (const struct sockaddr *)&own, 0);
    if (code == 0)
        code = uv_listen((uv_stream_t *)&gate->listener, 128, on_worker);
    if (code == 0)
        code = uv_tcp_getsockname(&gate->listener, (struct sockaddr *)&own, &size);
    gate->port = ntohs(own.sin_port);
    return code;
}

/* `url` with our addresses in place of the servers'. */
static int write_url(struct proxy *proxy, const char *url, const struct place *places) {
    size_t used = 0, from = 0;

    for (unsigned i = 0; i < proxy->gate_count; i++) {
        if (used < sizeof proxy->url)
            used +=
                (size_t)snprintf(proxy->url + used, sizeof proxy->url - used, "%.*s127.0.0.1:%d",
                                 (int)(places[i].start - from), url + from, proxy->gates[i].port);
        from = places[i].end;
    }
    if (used < sizeof proxy->url)
        used += (size_t)snprintf(proxy->url + used, sizeof proxy->url - used, "%s", url + from);
    return used < sizeof proxy->url ? 0 : UV_ENAMETOOLONG;
}

int proxy_open(struct proxy *proxy, uv_loop_t *loop, const char *url, struct why *why) {
    struct place places[PROXY_SERVERS_MAX];
    const unsigned servers = read_places(url, places);
    int code = 0;

    if (servers == 0)
        return why_set(why, "no host:port of each server in %.200s", url);
    for (unsigned i = 0; i < servers; i++)
        if (find_server(&proxy->gates[i], loop, &places[i], why) != 0)
            return -1;
    loop_ignore_sigpipe();
    proxy->has_fault = proxy->has_next = false;
    proxy->connections = proxy->cuts = proxy->gate_count = 0;
    memset(proxy->bytes, 0, sizeof proxy->bytes);
    LIST_INIT(&proxy->links);
    (void)uv_timer_init(loop, &proxy->timer);
    proxy->timer.data = proxy;
    proxy->open = 1;
    while (code == 0 && proxy->gate_count < servers)
        code = gate_open(proxy, loop);
    if (code == 0)
        code = write_url(proxy, url, places);
    if (code == 0)
        return 0;
    proxy_close(proxy, NULL);
    return why_set(why, "a proxy for %.200s: %s", url, uv_strerror(code));
}

void proxy_close(struct proxy *proxy, void (*on_closed)(struct proxy *proxy)) {
    proxy->on_closed = on_closed;
    cut_all(proxy);
    uv_close((uv_handle_t *)&proxy->timer, on_timer_closed);
    for (unsigned i = 0; i < proxy->gate_count; i++)
        uv_close((uv_handle_t *)&proxy->gates[i].listener, on_gate_closed);
}
