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

/* 0 while no lock there was wanted. */
#define X(field, text)                                                                             \
    static double read_##field(void *data) {                                                       \
        lk_client *const *client = data;                                                           \
        struct lk_counters counters = {.size = sizeof counters};                                   \
                                                                                                   \
        if (*client != NULL)                                                                       \
            lk_client_counters(*client, &counters);                                                \
        return (double)counters.field;                                                             \
    }
COUNTERS(X)
#undef X

static const struct {
    const char *name, *help;
    double (*read)(void *data);
} counters[] = {
#define X(field, text) {"inventory_lock_" #field "_total", text, read_##field},
    COUNTERS(X)
#undef X
};

#define COUNTER_COUNT (sizeof counters / sizeof *counters)

static const char *const labels[LOCK_SERVER_COUNT] = {
#define X(name, text) "backend=\"" text "\"",
    LOCK_SERVERS(X)
#undef X
};

void lock_metrics_register(struct lock_servers *servers) {
    static struct metric metrics[COUNTER_COUNT][LOCK_SERVER_COUNT];

    for (size_t i = 0; i < COUNTER_COUNT; i++)
        for (size_t j = 0; j < LOCK_SERVER_COUNT; j++) {
            metrics[i][j] = (struct metric){counters[i].name,         counters[i].help,
                                            METRIC_COUNTER,           labels[j],
                                            .read = counters[i].read, .data = &servers->clients[j]};
            if (servers->urls[j] != NULL)
                metric_register(&metrics[i][j]);
        }
}
