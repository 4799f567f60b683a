/* loadgen serve: shows the results folders in a browser, read-only. It serves nothing else of the
 * disk: only known file names, in folders with plain names, and through no symbolic link. */
#ifndef LOADGEN_SERVE_H
#define LOADGEN_SERVE_H

#include "http_server.h"
#include "options.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <uv.h>

/* Further pages to serve. */
struct serve_more {
    const struct http_route *routes;          /* {NULL} ends them; handlers ignore their data */
    void (*on_listening)(const char *origin); /* "http://127.0.0.1:8080" */
    void (*close)(void);                      /* after the drain: close your handles of the loop */
};

/* Serves the folders below --results, and `more` (or NULL), until a signal; prints the address to
 * `to`. Returns an exit code. */
__attribute__((warn_unused_result)) int serve(uv_loop_t *loop, const struct options *options,
                                              FILE *to, const struct serve_more *more);
/* The folder that holds the served results folders. */
const char *serve_root(const struct options *options);
/* Adds the headers of every answer. `policy` is its Content-Security-Policy. */
void serve_add_headers(struct http_exchange *exchange, const char *policy);

/* Lists the folders of `root`, the newest first; names without a date come last. Returns 0 or a
 * negative errno; call serve_list_free() either way. */
__attribute__((warn_unused_result)) int serve_list(const char *root, struct dirent ***folders,
                                                   size_t *count);
void serve_list_free(struct dirent **folders, size_t count);

/* Whether the run in `folder` has this file; `file` must be a name that serve knows. */
bool serve_has(const char *root, const char *folder, const char *file);

#endif
