/* loadgen serve: the results folders in a browser, read-only. */
#ifndef LOADGEN_SERVE_H
#define LOADGEN_SERVE_H

#include "options.h"

#include <stdio.h>
#include <uv.h>

/* Serve the folders below --results until a signal; says on `to` where. Returns an exit code. */
__attribute__((warn_unused_result)) int serve(uv_loop_t *loop, const struct options *options,
                                              FILE *to);

#endif
