/* What loadgen does, from the first question to the target to the report. */
#ifndef LOADGEN_RUN_H
#define LOADGEN_RUN_H

#include "exit_code.h"
#include "options.h"

#include <stdio.h>
#include <uv.h>

/* Do what `options` say on `loop`, print the report to `to`, and return the exit code. */
__attribute__((warn_unused_result)) int run(uv_loop_t *loop, const struct options *options,
                                            FILE *to);

#endif
