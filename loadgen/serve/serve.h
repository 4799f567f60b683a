/* loadgen serve: the results folders in a browser, read-only. */
#ifndef LOADGEN_SERVE_H
#define LOADGEN_SERVE_H

#include "http_server.h"
#include "options.h"

#include <stdio.h>
#include <uv.h>

/* What is served besides. */
struct serve_more {
    const struct http_route *routes;          /* end with {NULL}; their data is not theirs */
    void (*on_listening)(const char *origin); /* "http://127.0.0.1:8080" */
    void (*close)(void); /* once it has drained: close what keeps the loop alive */
};

/* Serve the folders below --results until a signal, and `more` (or NULL); says on `to` where.
 * Returns an exit code. */
__attribute__((warn_unused_result)) int serve(uv_loop_t *loop, const struct options *options,
                                              FILE *to, const struct serve_more *more);
/* The folder of results folders that it serves. */
const char *serve_root(const struct options *options);
/* The headers of each answer; `policy` is its Content-Security-Policy. */
void serve_add_headers(struct http_exchange *exchange, const char *policy);

#endif
