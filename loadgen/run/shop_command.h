/* The command `loadgen shop`. */
#ifndef LOADGEN_SHOP_COMMAND_H
#define LOADGEN_SHOP_COMMAND_H

#include "options.h"

#include <stdio.h>
#include <uv.h>

/* Does the command in `options->arguments`. Returns the exit code. */
__attribute__((warn_unused_result)) int shop_command(uv_loop_t *loop, const struct options *options,
                                                     FILE *to);

#endif
