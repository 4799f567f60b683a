/* loadgen claims: lists the claims, or shows them.
 *
 * They run on a stack of their own, in --run-dir, on ports from --port-base on. Consecutive claims
 * that need the same stack share it. */
#ifndef LOADGEN_CLAIMS_H
#define LOADGEN_CLAIMS_H

#include "options.h"

#include <stdio.h>
#include <uv.h>

/* Without arguments lists the claims in --output-format; else shows the named claims, or `all`.
 * Returns an exit code: 1 if a failure did not appear or a cure did not hold. */
__attribute__((warn_unused_result)) int claims_show(uv_loop_t *loop, const struct options *options,
                                                    FILE *to);

#endif
