/* What loadgen does, from the first question to the target to the report. */
#ifndef LOADGEN_RUN_H
#define LOADGEN_RUN_H

#include "options.h"

#include <stdio.h>
#include <uv.h>

#define EXIT_AS_EXPECTED  0
#define EXIT_UNEXPECTED   1
#define EXIT_INCONCLUSIVE 2
#define EXIT_USAGE        64
#define EXIT_UNREACHABLE  69
#define EXIT_INTERNAL     70
#define EXIT_THRESHOLD    99
#define EXIT_INTERRUPTED  130

/* Do what `options` say on `loop`, print the report to `to`, and return the exit code. */
__attribute__((warn_unused_result)) int run(uv_loop_t *loop, const struct options *options,
                                            FILE *to);

#endif
