/* Metrics that are asked for when they are printed. */
#include "gauges.h"

#include "metrics.h"

#include <stddef.h>

#define POOL_GAUGES(X)                                                                             \
    X(connections, "db_connections", "Open database connections", METRIC_GAUGE)                    \
    X(idle, "db_connections_idle", "Database connections without a statement", METRIC_GAUGE)       \
    X(held, "db_connections_held", "Database connections held by a sale", METRIC_GAUGE)            \
    X(queued, "db_queued", "Statements that wait for a connection", METRIC_GAUGE)                  \
    X(queries, "db_statements_total", "Statements answered", METRIC_COUNTER)                       \
    X(reconnects, "db_reconnects_total", "Database connections made again", METRIC_COUNTER)

#define LOCK_COUNTERS(X)                                                                           \
    X(acquired, "acquired_total", "Locks won")                                                     \
    X(busy, "busy_total", "Single attempts that found the lock held")                              \
    X(timed_out, "timed_out_total", "Waits that ended without the lock")                           \
    X(canceled, "canceled_total", "Acquires cancelled")                                            \
    X(unknown, "unknown_total", "Acquires without an answer")                                      \
    X(unavailable, "unavailable_total", "Acquires without a server")                               \
    X(released, "released_total", "Locks given back")                                              \
    X(release_lost, "release_lost_total", "Releases of a lock that was not ours any more")         \
    X(renewed, "renewed_total", "Renewals")                                                        \
    X(renew_failed, "renew_failed_total", "Renewals that failed")                                  \
    X(suspected, "suspected_total", "Leases that came close to their end")                         \
    X(lost, "lost_total", "Leases that ended while held")                                          \
    X(late_grants, "late_grants_total", "Grants that came after the caller had gone")              \
    X(polls, "polls_total", "Attempts of waiters by the poll timer")                               \
    X(wakeups, "wakeups_total", "Attempts of waiters by an event")

#define X(field, label, text, kind)                                                                \
    static double read_pool_##field(void *data) {                                                  \
        struct pg_pool_stats stats;                                                                \
                                                                                                   \
        pg_pool_stats(data, &stats);                                                               \
        return (double)stats.field;                                                                \
    }
POOL_GAUGES(X)
#undef X

#define X(field, label, text)                                                                      \
    static double read_lock_##field(void *data) {                                                  \
        struct lk_counters counters;                                                               \
                                                                                                   \
        lk_client_counters(data, &counters);                                                       \
        return (double)counters.field;                                                             \
    }
LOCK_COUNTERS(X)
#undef X

static const struct product_table *table;

static double read_products(void *data) {
    (void)data;
    return product_table_count(table);
}

static struct metric pool_gauges[] = {
#define X(field, label, text, kind)                                                                \
    {.name = "inventory_" label, .help = text, .type = kind, .read = read_pool_##field},
    POOL_GAUGES(X)
#undef X
};

#define LOCK_METRIC(field, label, text, where)                                                     \
    {.name = "inventory_lock_" label,                                                              \
     .help = text,                                                                                 \
     .type = METRIC_COUNTER,                                                                       \
     .labels = "backend=\"" where "\"",                                                            \
     .read = read_lock_##field},

static struct metric lock_counters[][2] = {
#define X(field, label, text)                                                                      \
    {LOCK_METRIC(field, label, text, "local") LOCK_METRIC(field, label, text, "redis")},
    LOCK_COUNTERS(X)
#undef X
};

static struct metric products = {.name = "inventory_products",
                                 .help = "Products remembered",
                                 .type = METRIC_GAUGE,
                                 .read = read_products};

void gauges_register(const struct store *store, const struct product_table *product_table) {
    table = product_table;
    metric_register(&products);
    for (size_t i = 0; i < sizeof pool_gauges / sizeof pool_gauges[0]; i++) {
        pool_gauges[i].data = store->pool;
        metric_register(&pool_gauges[i]);
    }
    for (size_t i = 0; i < sizeof lock_counters / sizeof lock_counters[0]; i++) {
        lock_counters[i][0].data = store->local;
        lock_counters[i][1].data = store->redis;
        metric_register(&lock_counters[i][0]);
        metric_register(&lock_counters[i][1]);
    }
}
