/* lockkit's own counts as metrics: each of both kinds of lock. */
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

#define X(field, text)                                                                             \
    static double read_##field(void *client) {                                                     \
        struct lk_counters counters = {.size = sizeof counters};                                   \
                                                                                                   \
        lk_client_counters(client, &counters);                                                     \
        return (double)counters.field;                                                             \
    }
COUNTERS(X)
#undef X

#define COUNTER(field, text, labels)                                                               \
    { "inventory_lock_" #field "_total", text, METRIC_COUNTER, labels, .read = read_##field }

static struct metric metrics[][2] = {
#define X(field, text)                                                                             \
    {COUNTER(field, text, "backend=\"local\""), COUNTER(field, text, "backend=\"redis\"")},
    COUNTERS(X)
#undef X
};

void lock_metrics_register(lk_client *local, lk_client *redis) {
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        metrics[i][0].data = local;
        metrics[i][1].data = redis;
        metric_register(&metrics[i][0]);
        metric_register(&metrics[i][1]);
    }
}
