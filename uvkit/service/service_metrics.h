/* What /metrics tells of every service: its HTTP server, its process and its database. */
#ifndef UVKIT_SERVICE_METRICS_H
#define UVKIT_SERVICE_METRICS_H

#include "http_server.h"
#include "pg.h"

/* Register the metrics, and read them from `server` until service_metrics_unwatch(). */
void service_metrics_watch(const struct http_server *server);
void service_metrics_unwatch(void);

/* The pool's own counts, as <prefix>_db_...; `pool` must live as long as metrics may be printed. */
void service_metrics_watch_pool(struct pg_pool *pool, const char *prefix);

#endif
