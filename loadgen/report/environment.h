/* env.json: the conditions of a run, which a comparison of two runs needs: the machine, the
 * versions, the revision of this program, the seed and the full command. It has no host name and no
 * connection string. */
#ifndef LOADGEN_ENVIRONMENT_H
#define LOADGEN_ENVIRONMENT_H

#include "summary.h"

#include <jansson.h>
#include <stdio.h>

/* A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *environment_json(const struct summary *summary);
/* Returns 0; or -1 with errno if it could not be written. */
__attribute__((warn_unused_result)) int environment_write(const struct summary *summary, FILE *to);

#endif
