/* What /metrics tells of every service: its HTTP server and its process. */
#ifndef UVKIT_SERVICE_METRICS_H
#define UVKIT_SERVICE_METRICS_H

#include "http_server.h"

/* Register the metrics, and read them from `server` until service_metrics_unwatch(). */
void service_metrics_watch(const struct http_server *server);
void service_metrics_unwatch(void);

#endif
