/* The command `loadgen shop`. */
#ifndef LOADGEN_SHOP_COMMAND_H
#define LOADGEN_SHOP_COMMAND_H

#include "options.h"
#include "shop.h"

#include <stdio.h>
#include <uv.h>

/* Does the command in `options->arguments`. Returns the exit code. */
__attribute__((warn_unused_result)) int shop_command(uv_loop_t *loop, const struct options *options,
                                                     FILE *to);

/* Reads a shop file. An exit code; unless it is EXIT_AS_EXPECTED the reason is told, and there is
 * nothing to free. */
__attribute__((warn_unused_result)) int shop_command_read(struct shop *shop, const char *path);

#endif
