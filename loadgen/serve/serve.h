/* loadgen serve: the results folders in a browser, read-only. Nothing else of the disk is served:
 * known names, in folders with plain names, through no symbolic link. */
#ifndef LOADGEN_SERVE_H
#define LOADGEN_SERVE_H

#include "http_server.h"
#include "options.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
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

/* The folders of `root`, the newest first: names that begin with a date before others. 0, or a
 * negative errno; serve_list_free() them either way. */
__attribute__((warn_unused_result)) int serve_list(const char *root, struct dirent ***folders,
                                                   size_t *count);
void serve_list_free(struct dirent **folders, size_t count);

/* Whether the run in `folder` has this file; serve knows its name. */
bool serve_has(const char *root, const char *folder, const char *file);

#endif
