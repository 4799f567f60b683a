/* The metrics of every service, read when they are printed: server, process and database. */
#include "service_metrics.h"

#include "clock.h"
#include "metrics.h"

#include <dirent.h>
#include <stdio.h>

/* Each with what it shows of `now`, a struct http_server_stats. */
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

/* Each with the field of struct pg_pool_stats that it shows. */
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
    return entries - 3; /* ".", ".." and the one that was just open */
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

void service_metrics_watch(struct http_server *server) {
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        metrics[i].data = server;
        metric_register(&metrics[i]);
    }
}

void service_metrics_watch_pool(struct pg_pool *pool, const char *prefix) {
    for (size_t i = 0; i < sizeof pool_metrics / sizeof *pool_metrics; i++) {
        (void)snprintf(pool_metrics[i].name, sizeof pool_metrics[i].name, "%s_db_%s", prefix,
                       pool_metrics[i].suffix);
        pool_metrics[i].metric.name = pool_metrics[i].name;
        pool_metrics[i].metric.data = pool;
        metric_register(&pool_metrics[i].metric);
    }
}
