/* env.json: where and how a run was made, so that another can be compared with it: the machine, the
 * versions, the revision of this program, the seed and the full command. No host name, and no
 * connection string. */
#ifndef LOADGEN_ENVIRONMENT_H
#define LOADGEN_ENVIRONMENT_H

#include "summary.h"

#include <jansson.h>
#include <stdio.h>

/* A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *environment_json(const struct summary *summary);
/* 0, or -1 when it could not be written, with errno. */
__attribute__((warn_unused_result)) int environment_write(const struct summary *summary, FILE *to);

#endif
