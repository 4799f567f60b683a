/* What /metrics tells of every service: its HTTP server, its process and its database. */
#ifndef UVKIT_SERVICE_METRICS_H
#define UVKIT_SERVICE_METRICS_H

#include "http_server.h"
#include "pg.h"

/* `server` and `pool` must live as long as metrics may be printed: as long as there is a server. */
void service_metrics_watch(struct http_server *server);
/* The pool's own counts, as <prefix>_db_... */
void service_metrics_watch_pool(struct pg_pool *pool, const char *prefix);

#endif
