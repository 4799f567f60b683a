/* The metrics of every service, read when they are printed: its HTTP server and its process. */
#include "service_metrics.h"

#include "metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct http_server *watched;

static struct http_server_stats stats(void) {
    struct http_server_stats now = {0};

    if (watched != NULL)
        http_server_stats(watched, &now);
    return now;
}

static double read_requests(void *data) {
    (void)data;
    return (double)stats().requests;
}

static double read_in_flight(void *data) {
    (void)data;
    return stats().in_flight;
}

static double read_connections(void *data) {
    (void)data;
    return stats().connections;
}

static double read_refused(void *data) {
    (void)data;
    return (double)stats().refused;
}

static double read_handler_seconds(void *data) {
    (void)data;
    return (double)stats().handler_ns / 1e9;
}

static const int classes[] = {2, 3, 4, 5};

static double read_class(void *data) {
    const int *class = data;

    return (double)stats().by_status_class[*class];
}

static double read_resident_bytes(void *data) {
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    (void)data;
    if (statm == NULL)
        return 0;
    if (fscanf(statm, "%*u %lu", &pages) != 1)
        pages = 0;
    (void)fclose(statm);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
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
    struct rusage usage = {0};

    (void)data;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

#define CLASS(index, text)                                                                         \
    {                                                                                              \
        .name = "http_responses_total", .help = "Replies by class of status",                      \
        .type = METRIC_COUNTER, .labels = "class=\"" text "\"", .read = read_class,                \
        .data = (void *)(uintptr_t)&classes[index]                                                 \
    }

static struct metric metrics[] = {
    {.name = "http_requests_total",
     .help = "Requests begun",
     .type = METRIC_COUNTER,
     .read = read_requests},
    {.name = "http_in_flight",
     .help = "Handlers running now",
     .type = METRIC_GAUGE,
     .read = read_in_flight},
    {.name = "http_connections",
     .help = "Connections open now",
     .type = METRIC_GAUGE,
     .read = read_connections},
    {.name = "http_refused_total",
     .help = "Requests answered without a handler",
     .type = METRIC_COUNTER,
     .read = read_refused},
    {.name = "http_handler_seconds_total",
     .help = "Time from the start to the end of handlers",
     .type = METRIC_COUNTER,
     .read = read_handler_seconds},
    CLASS(0, "2xx"),
    CLASS(1, "3xx"),
    CLASS(2, "4xx"),
    CLASS(3, "5xx"),
    {.name = "process_resident_memory_bytes",
     .help = "Resident memory",
     .type = METRIC_GAUGE,
     .read = read_resident_bytes},
    {.name = "process_open_fds",
     .help = "Open file descriptors",
     .type = METRIC_GAUGE,
     .read = read_open_fds},
    {.name = "process_cpu_seconds_total",
     .help = "User and system CPU time",
     .type = METRIC_COUNTER,
     .read = read_cpu_seconds},
};

void service_metrics_watch(const struct http_server *server) {
    watched = server;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        metric_register(&metrics[i]);
}

void service_metrics_unwatch(void) {
    watched = NULL;
}
