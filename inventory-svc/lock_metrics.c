/* lockkit's own counts as metrics: each of every server of locks. */
#include "lock_metrics.h"

#include "metrics.h"

#include <stddef.h>

#define COUNTERS(X)                                                                                \
    X(acquired, "Locks won")                                                                       \
    X(busy, "Single attempts that found the lock held")                                            \
    X(timed_out, "Waits that ended without the lock")                                              \
    X(canceled, "Acquires cancelled")                                                              \
    X(unknown, "Acquires without an answer")                                                       \
    X(unavailable, "Acquires without a server")                                                    \
    X(refused, "Acquires that the server refused")                                                 \
    X(released, "Locks given back")                                                                \
    X(release_lost, "Releases of a lock that was not ours any more")                               \
    X(renewed, "Renewals")                                                                         \
    X(renew_failed, "Renewals that failed")                                                        \
    X(suspected, "Leases that came close to their end")                                            \
    X(lost, "Leases that ended while held")                                                        \
    X(late_grants, "Grants that came after the caller had gone")                                   \
    X(polls, "Attempts of waiters by the poll timer")                                              \
    X(wakeups, "Attempts of waiters by an event")

static const struct {
    const char *name, *help;
    size_t offset;
} counters[] = {
#define X(field, text)                                                                             \
    {"inventory_lock_" #field "_total", text, offsetof(struct lk_counters, field)},
    COUNTERS(X)
#undef X
};

#define COUNTER_COUNT (sizeof counters / sizeof *counters)

static const char *const labels[LOCK_SERVER_COUNT] = {
#define X(name, text) "backend=\"" text "\"",
    LOCK_SERVERS(X)
#undef X
};

static struct one_count {
    struct metric metric;
    const struct lock_servers *servers;
    enum lock_server server;
    size_t offset;
} counts[COUNTER_COUNT][LOCK_SERVER_COUNT];

static double read_count(void *data) {
    const struct one_count *count = data;

    return lock_servers_count(count->servers, count->server, count->offset);
}

void lock_metrics_register(const struct lock_servers *servers) {
    for (size_t i = 0; i < COUNTER_COUNT; i++)
        for (int j = 0; j < LOCK_SERVER_COUNT; j++) {
            struct one_count *count = &counts[i][j];

            *count = (struct one_count){{counters[i].name, counters[i].help, METRIC_COUNTER,
                                         labels[j], .read = read_count, .data = count},
                                        servers,
                                        (enum lock_server)j,
                                        counters[i].offset};
            if (servers->urls[j] != NULL)
                metric_register(&count->metric);
        }
}
