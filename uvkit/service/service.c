/* The frame of a service: serve, answer for its health, and drain when told to stop. */
#include "service.h"

#include "log.h"
#include "metrics.h"
#include "service_metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* One service per process. */
static struct {
    const struct service *service;
    struct http_server *server;
    struct http_route *routes; /* the service's and ours */
    uv_signal_t signals[2];
    unsigned watched; /* of these */
    bool is_draining;
} frame;

static void reply_health(struct http_exchange *exchange, void *data) {
    (void)data;
    http_reply_json(exchange, 200, json_pack("{s:s}", "status", "ok"));
}

static void reply_readiness(struct http_exchange *exchange, void *data) {
    char why[256] = "draining";
    bool is_ready = !frame.is_draining;

    if (is_ready && frame.service->is_ready != NULL)
        is_ready = frame.service->is_ready(data, why, sizeof why) == 0;
    if (is_ready)
        http_reply_json(exchange, 200, json_pack("{s:s}", "status", "ready"));
    else
        http_reply_error(exchange, 503, "not_ready", "%s", why);
}

static void reply_metrics(struct http_exchange *exchange, void *data) {
    size_t length;
    char *text = metrics_text(&length);

    (void)data;
    if (text == NULL)
        http_reply_error(exchange, 503, "out_of_memory", "no memory to print the metrics: retry");
    else
        http_reply(exchange, 200, "text/plain; version=0.0.4", text, length);
    free(text);
}

static const struct http_route own_routes[] = {{"GET", "/healthz", reply_health},
                                               {"GET", "/readyz", reply_readiness},
                                               {"GET", "/metrics", reply_metrics},
                                               {NULL, NULL, NULL}};

static struct http_route *join_routes(const struct http_route *routes) {
    size_t count = 0;
    struct http_route *joined;

    while (routes[count].method != NULL)
        count++;
    joined = malloc(count * sizeof *joined + sizeof own_routes);
    if (joined == NULL)
        return NULL;
    memcpy(joined, routes, count * sizeof *joined);
    memcpy(joined + count, own_routes, sizeof own_routes);
    return joined;
}

/* Every connection is a descriptor; the soft limit is often 1,024 for the sake of select(). */
static void raise_descriptor_limit(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_warn("descriptor limit not raised", "limit=%" PRIu64, (uint64_t)limit.rlim_max);
}

static void close_signals(void) {
    while (frame.watched > 0)
        uv_close((uv_handle_t *)&frame.signals[--frame.watched], NULL);
}

static void on_server_closed(void *data) {
    (void)data;
    frame.server = NULL;
}

static void on_drained(void *data) {
    (void)data;
    assert(frame.is_draining);
    frame.server = NULL;
    close_signals();
    if (frame.service->on_drained != NULL)
        frame.service->on_drained(frame.service->data);
}

static void on_signal(uv_signal_t *handle, int number) {
    struct http_server_stats stats;

    (void)handle;
    if (frame.server == NULL)
        return;
    if (frame.is_draining) {
        log_warn("drain cut short", "signal=%d", number);
        http_server_cut(frame.server);
        return;
    }
    frame.is_draining = true;
    http_server_stats(frame.server, &stats);
    log_info("draining", "signal=%d in_flight=%u timeout_ms=%" PRIu64, number, stats.in_flight,
             frame.service->drain_ms);
    http_server_drain(frame.server, frame.service->drain_ms, on_drained, NULL);
}

static int watch_signals(uv_loop_t *loop) {
    static const int numbers[] = {SIGTERM, SIGINT};
    int err = 0;

    for (unsigned i = 0; i < 2 && err == 0; i++) {
        err = uv_signal_init(loop, &frame.signals[i]);
        if (err == 0) {
            frame.watched++;
            err = uv_signal_start(&frame.signals[i], on_signal, numbers[i]);
        }
    }
    return err;
}

static void close_server(uv_loop_t *loop) {
    close_signals();
    http_server_close(frame.server, on_server_closed, NULL);
    while (frame.server != NULL)
        (void)uv_run(loop, UV_RUN_ONCE);
}

static int start(uv_loop_t *loop) {
    const struct service *service = frame.service;
    const struct http_server_options options = {.routes = frame.routes, .data = service->data};
    int err = http_server_open(&frame.server, loop, &options);

    if (err != 0)
        return err;
    err = http_server_listen(frame.server, service->listen, service->port);
    if (err == 0)
        err = watch_signals(loop);
    if (err != 0)
        close_server(loop);
    return err;
}

static void complain(const struct service *service, int err) {
    if (err == UV_EADDRINUSE)
        (void)fprintf(stderr,
                      "%s: port %d on %s is taken by another program: stop it, or choose another "
                      "with --port\n",
                      service->name, service->port, service->listen);
    else if (err == UV_EINVAL)
        (void)fprintf(stderr,
                      "%s: \"%s\" is not an address to listen on: give one such as 127.0.0.1, "
                      "0.0.0.0 or ::1 with --listen\n",
                      service->name, service->listen);
    else
        (void)fprintf(stderr, "%s: cannot serve on %s, port %d: %s\n", service->name,
                      service->listen, service->port, uv_strerror(err));
}

int service_run(uv_loop_t *loop, const struct service *service) {
    int err;

    raise_descriptor_limit();
    frame.service = service;
    assert(frame.server == NULL && frame.watched == 0);
    frame.is_draining = false;
    frame.routes = join_routes(service->routes);
    err = frame.routes == NULL ? UV_ENOMEM : start(loop);
    if (err == 0) {
        service_metrics_watch(frame.server);
        log_info("listening", "address=%s port=%d", service->listen,
                 http_server_port(frame.server));
        if (service->on_listening != NULL)
            service->on_listening(service->data, http_server_port(frame.server));
        (void)uv_run(loop, UV_RUN_DEFAULT);
        log_info("stopped", "port=%d", service->port);
    } else {
        complain(service, err);
    }
    free(frame.routes);
    return err == 0 ? 0 : 1;
}
