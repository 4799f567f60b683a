/* The frame of an HTTP service: listen, /healthz, /readyz, /metrics, drain on SIGTERM and SIGINT.
 *
 * The program opens what it needs on the loop, and hands over; service_run() returns when the drain
 * is over, and the program closes its own in `on_drained`. See service_program.h for the rest. */
#ifndef UVKIT_SERVICE_H
#define UVKIT_SERVICE_H

#include "http_server.h"

struct service {
    const char *name;
    const char *listen; /* a literal address */
    int port;
    const struct http_route *routes; /* the service's own; ends with {NULL} */
    void *data;                      /* for handlers and the callbacks below */
    uint64_t drain_ms;               /* how long requests in flight may take after SIGTERM */
    /* Runs in a fiber for GET /readyz: 0 when the service can do its work, else -1 and `why` says
     * what is missing, in a line. */
    int (*is_ready)(void *data, char *why, size_t size);
    /* Runs once when it listens, on this port; or NULL. */
    void (*on_listening)(void *data, int port);
    /* Runs once when the server has drained: close what keeps the loop alive. */
    void (*on_drained)(void *data);
};

/* Serve until SIGTERM or SIGINT. 0, or 1 after a line on stderr that says what failed (a taken port
 * is named). A second signal ends the drain at once. */
__attribute__((warn_unused_result)) int service_run(uv_loop_t *loop, const struct service *service);

#endif
