/* loadgen claims: lists the claims, or shows them.
 *
 * Each is shown on a stack of its own, in --run-dir, on ports from --port-base on. What several
 * claims need alike is started once. */
#ifndef LOADGEN_CLAIMS_H
#define LOADGEN_CLAIMS_H

#include "options.h"

#include <stdio.h>
#include <uv.h>

/* Without arguments list them as --output-format says; else show those that are named, or `all`. An
 * exit code: 1 when a failure did not appear or a cure did not hold. */
__attribute__((warn_unused_result)) int claims_show(uv_loop_t *loop, const struct options *options,
                                                    FILE *to);

#endif
