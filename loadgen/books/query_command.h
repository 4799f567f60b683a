/* A command that answers a query of the ledger: it reads the query on its standard input, and
 * prints rows. */
#ifndef LOADGEN_QUERY_COMMAND_H
#define LOADGEN_QUERY_COMMAND_H

#include "buffer.h"
#include "why.h"

#include <uv.h>

#define QUERY_OUTPUT_BYTES (16 * 1024 * 1024) /* a command that prints more is killed */

/* Run it, in a fiber. A shell takes part only if the command has characters that need one. It has a
 * process group of its own, which is killed when the command ends, or after `ms`. `output` gets
 * what it printed. 0; or -1 with the reason: it did not start, was late, printed too much, or
 * failed. */
__attribute__((warn_unused_result)) int query_command_run(uv_loop_t *loop, const char *command,
                                                          const struct buffer *input, uint64_t ms,
                                                          struct buffer *output, struct why *why);

#endif
