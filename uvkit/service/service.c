/* The life of a service: read the settings, open, serve, answer for its health, drain when it must
 * stop, close. */
#include "service.h"

#include "clock.h"
#include "complain.h"
#include "core_file.h"
#include "inherited.h"
#include "log.h"
#include "loop.h"
#include "metrics.h"
#include "pg_variables.h"
#include "reference.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>

/* More than the HTTP server's connections, so a request always finds its place. */
#define QUEUE_MOST  16384
#define ROUTES_MOST 32

/* One service per process. */
static struct {
    struct service service;
    struct http_server *server;
    struct http_route routes[ROUTES_MOST]; /* the service's and ours */
    uv_signal_t signals[2];
    unsigned watched; /* number of these */
    bool is_draining;
    struct pg_pool *pool;
} life;

/* ---- /metrics of every service: its HTTP server, its process and its database */

/* Each with its value from `now`, a struct http_server_stats. */
#define SERVER_METRICS(X)                                                                          \
    X(requests, now.requests, "http_requests_total", NULL, COUNTER, "Requests begun")              \
    X(in_flight, now.in_flight, "http_in_flight", NULL, GAUGE, "Handlers running now")             \
    X(connections, now.connections, "http_connections", NULL, GAUGE, "Connections open now")       \
    X(refused, now.refused, "http_refused_total", NULL, COUNTER,                                   \
      "Requests answered without a handler")                                                       \
    X(seconds, (double)now.handler_ns / 1e9, "http_handler_seconds_total", NULL, COUNTER,          \
      "Time from the start to the end of handlers")                                                \
    RESPONSES(X, 2) RESPONSES(X, 3) RESPONSES(X, 4) RESPONSES(X, 5)
#define RESPONSES(X, class)                                                                        \
    X(class_##class, now.by_status_class[class], "http_responses_total", "class=\"" #class "xx\"", \
      COUNTER, "Replies by class of status")

/* Each with its field of struct pg_pool_stats. */
#define POOL_METRICS(X)                                                                            \
    X(connections, "connections", GAUGE, "Open database connections")                              \
    X(idle, "connections_idle", GAUGE, "Database connections without a statement")                 \
    X(held, "connections_held", GAUGE, "Database connections held by a sale")                      \
    X(queued, "queued", GAUGE, "Statements that wait for a connection")                            \
    X(queries, "statements_total", COUNTER, "Statements answered")                                 \
    X(reconnects, "reconnects_total", COUNTER, "Database connections made again")

#define X(id, value, name, labels, kind, help)                                                     \
    static double read_##id(void *server) {                                                        \
        struct http_server_stats now;                                                              \
                                                                                                   \
        http_server_stats(server, &now);                                                           \
        return (double)(value);                                                                    \
    }
SERVER_METRICS(X)
#undef X

#define X(field, name, kind, help)                                                                 \
    static double read_pool_##field(void *pool) {                                                  \
        struct pg_pool_stats now;                                                                  \
                                                                                                   \
        pg_pool_stats(pool, &now);                                                                 \
        return (double)now.field;                                                                  \
    }
POOL_METRICS(X)
#undef X

static double read_resident_bytes(void *data) {
    size_t bytes = 0;

    (void)data;
    (void)uv_resident_set_memory(&bytes);
    return (double)bytes;
}

static double read_open_fds(void *data) {
    DIR *fds = opendir("/proc/self/fd");
    int entries = 0;

    (void)data;
    if (fds == NULL)
        return 0;
    while (readdir(fds) != NULL)
        entries++;
    (void)closedir(fds);
    return entries - 3; /* without ".", ".." and the one that is open for this */
}

static double read_cpu_seconds(void *data) {
    (void)data;
    return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static struct metric metrics[] = {
#define X(id, value, name, labels, kind, help)                                                     \
    {name, help, METRIC_##kind, labels, .read = read_##id},
    SERVER_METRICS(X)
#undef X
        {"process_resident_memory_bytes", "Resident memory", METRIC_GAUGE,
         .read = read_resident_bytes},
    {"process_open_fds", "Open file descriptors", METRIC_GAUGE, .read = read_open_fds},
    {"process_cpu_seconds_total", "User and system CPU time", METRIC_COUNTER,
     .read = read_cpu_seconds},
};

static struct {
    const char *suffix;
    char name[48];
    struct metric metric;
} pool_metrics[] = {
#define X(field, name, kind, text)                                                                 \
    {name, "", {.help = text, .type = METRIC_##kind, .read = read_pool_##field}},
    POOL_METRICS(X)
#undef X
};

/* Register the pool's own counts as <prefix>_db_... */
static void service_metrics_watch_pool(struct pg_pool *pool, const char *prefix) {
    for (size_t i = 0; i < sizeof pool_metrics / sizeof *pool_metrics; i++) {
        (void)snprintf(pool_metrics[i].name, sizeof pool_metrics[i].name, "%s_db_%s", prefix,
                       pool_metrics[i].suffix);
        pool_metrics[i].metric.name = pool_metrics[i].name;
        pool_metrics[i].metric.data = pool;
        metric_register(&pool_metrics[i].metric);
    }
}

/* ---- Its life */

int service_fail(int code, const char *format, ...) {
    va_list args;

    va_start(args, format);
    complain_list(life.service.name, format, args);
    va_end(args);
    return code;
}

static void reply_health(struct http_exchange *exchange, void *data) {
    (void)data;
    http_reply_json(exchange, 200, json_pack("{s:s}", "status", "ok"));
}

static void reply_readiness(struct http_exchange *exchange, void *data) {
    int (*is_ready)(void *data, struct why *why) = life.service.is_ready;
    struct why why;

    if (life.is_draining)
        (void)why_set(&why, "draining");
    if (life.is_draining || (is_ready != NULL && is_ready(data, &why) != 0))
        http_reply_error(exchange, 503, "not_ready", "%s", why.text);
    else
        http_reply_json(exchange, 200, json_pack("{s:s}", "status", "ready"));
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

static void service_join_routes(const struct http_route *routes) {
    size_t count = 0;

    while (routes[count].method != NULL)
        count++;
    assert(count + sizeof own_routes / sizeof *own_routes <= ROUTES_MOST);
    memcpy(life.routes, routes, count * sizeof *routes);
    memcpy(life.routes + count, own_routes, sizeof own_routes);
}

static void raise_limit(unsigned resource, const char *name) {
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) != 0)
        log_warn("limit not raised", "of=%s limit=%" PRIu64, name, (uint64_t)limit.rlim_max);
}

static void service_on_closed(void *data) {
    (void)data;
    life.server = NULL;
    while (life.watched > 0)
        uv_close((uv_handle_t *)&life.signals[--life.watched], NULL);
    if (life.service.close != NULL)
        life.service.close(life.service.data);
}

static void service_on_signal(uv_signal_t *handle, int number) {
    struct http_server_stats stats;

    (void)handle;
    if (life.is_draining) {
        log_warn("drain cut short", "signal=%d", number);
        http_server_cut(life.server);
        return;
    }
    life.is_draining = true;
    http_server_stats(life.server, &stats);
    log_info("draining", "signal=%d in_flight=%u timeout_ms=%" PRIu64, number, stats.in_flight,
             life.service.drain_ms);
    http_server_drain(life.server, life.service.drain_ms, service_on_closed, NULL);
}

static int watch_signals(uv_loop_t *loop) {
    static const int numbers[] = {SIGTERM, SIGINT};
    int err = 0;

    for (unsigned i = 0; i < 2 && err == 0; i++) {
        err = uv_signal_init(loop, &life.signals[i]);
        if (err == 0) {
            life.watched++;
            err = uv_signal_start(&life.signals[i], service_on_signal, numbers[i]);
        }
    }
    return err;
}

static int service_start(uv_loop_t *loop) {
    const struct service *service = &life.service;
    const struct http_server_options options = {
        .routes = life.routes, .data = service->data, .hosts = service->allow_host};
    int err = http_server_open(&life.server, loop, &options);

    if (err == 0)
        err = watch_signals(loop); /* first, so that a client with an answer may stop the service */
    if (err == 0)
        err = http_server_listen(life.server, service->listen, service->port);
    life.is_draining = err != 0;
    if (life.server == NULL)
        service_on_closed(NULL);
    else if (err != 0)
        http_server_close(life.server, service_on_closed, NULL);
    return err;
}

static void tell_failure(int err) {
    const char *listen = life.service.listen;
    int port = life.service.port;

    if (err == UV_EADDRINUSE)
        (void)service_fail(1,
                           "port %d on %s is taken by another program: stop "
                           "it, or choose another with --port",
                           port, listen);
    else if (err == UV_EINVAL)
        (void)service_fail(1,
                           "\"%s\" is not an address to listen on: give one such as 127.0.0.1, "
                           "0.0.0.0 or ::1 with --listen",
                           listen);
    else
        (void)service_fail(1, "cannot serve on %s, port %d: %s", listen, port, uv_strerror(err));
}

int service_run(uv_loop_t *loop, const struct service *service) {
    int err;

    /* Every connection is a descriptor. The soft limit is often 1,024, for select(). */
    raise_limit(RLIMIT_NOFILE, "descriptors");
    assert(life.server == NULL && life.watched == 0);
    life.service = *service;
    service_join_routes(service->routes);
    err = service_start(loop);
    if (err == 0) {
        for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
            metrics[i].data = life.server;
            metric_register(&metrics[i]);
        }
        log_info("listening", "address=%s port=%d", service->listen, http_server_port(life.server));
        if (service->on_listening != NULL)
            service->on_listening(service->data, http_server_port(life.server));
    } else {
        tell_failure(err);
    }
    (void)uv_run(loop, UV_RUN_DEFAULT);
    if (err == 0)
        log_info("stopped", "port=%d", service->port);
    return err == 0 ? 0 : 1;
}

static int service_check(void) {
    const struct service *service = &life.service;
    enum log_level level;
    int code = 0;

    if (log_level_parse(service->set->log_level, &level) != 0)
        return service_fail(EX_USAGE, "--log-level must be debug, info, warn or error");
    if (service->check != NULL)
        code = service->check();
    if (code == 0)
        log_init(service->instance, level);
    return code;
}

static int open_pool(uv_loop_t *loop) {
    const struct service *service = &life.service;
    const struct pg_pool_options options = {.conninfo = service->set->db,
                                            .name = service->instance,
                                            .settings = service->session,
                                            .connections = (unsigned)service->set->db_connections,
                                            .pipelines = service->set->db_in_flight > 1,
                                            .in_flight = (unsigned)service->set->db_in_flight,
                                            .queue = QUEUE_MOST};
    int err = pg_pool_open(&life.pool, loop, &options);

    if (err != 0)
        return service_fail(err == UV_EINVAL ? EX_USAGE : EX_SOFTWARE, "%s_DB: %s",
                            service->variables,
                            err == UV_EINVAL ? "not a libpq connection string" : uv_strerror(err));
    service_metrics_watch_pool(life.pool, service->metrics);
    return 0;
}

static void service_on_pool_closed(void *data) {
    (void)data;
}

void service_close_pool(void) {
    assert(life.server == NULL && life.pool != NULL);
    pg_pool_close(life.pool, service_on_pool_closed, NULL);
    life.pool = NULL;
}

static int live(void) {
    const struct service *service = &life.service;
    uv_loop_t loop;
    int code = loop_init(&loop);

    if (code != 0)
        return service_fail(EX_SOFTWARE, "cannot make an event loop: %s", uv_strerror(code));
    code = open_pool(&loop);
    if (code == 0) {
        code = service->open(&loop, life.pool);
        if (code == 0) {
            code = service_run(&loop, service);
        } else {
            service->close(service->data);
            (void)uv_run(&loop, UV_RUN_DEFAULT);
        }
        assert(life.pool == NULL);
    }
    if (uv_loop_close(&loop) != 0 && code == 0)
        return service_fail(EX_SOFTWARE, "something was left open");
    return code;
}

int service_main(const struct service *service, int argc, char **argv) {
    const struct service_settings *set = service->set;
    const struct settings_program program = {.about = service->about, .prefix = service->variables};
    const struct reference_command command = {"", &program, service->table};
    const struct reference reference = {service->name, 8, service->also, &command, 1};
    enum settings_result result;
    int code = reference_asked(&reference, argc, argv);

    if (code >= 0)
        return code;
    inherited_mend();
    life.service = *service;
    pg_variables_forget();
    result = settings_read(service->table, &program, &argc, argv, NULL);
    if (result != SETTINGS_OK)
        return result == SETTINGS_HELP ? 0 : EX_USAGE;
    if (set->has_cores)
        raise_limit(RLIMIT_CORE, "cores");
    else
        core_file_forbid();
    life.service.listen = set->listen;
    life.service.port = (int)set->port;
    life.service.allow_host = set->allow_host;
    life.service.drain_ms = (uint64_t)set->drain_ns / 1000000;
    code = service_check();
    if (code == 0)
        code = live();
    settings_free(service->table);
    return code;
}
