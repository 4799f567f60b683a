/* The values of a round that the shop file has. */
#ifndef LOADGEN_ROUND_VALUES_H
#define LOADGEN_ROUND_VALUES_H

#include "shop.h"
#include "values.h"
#include "why.h"

#include <stdint.h>

/* Sets `stock`, `run`, and the file's `set`, `env` and `run`; runs the commands and waits for them.
 * 0; or -1 with the reason, and then the caller still frees the values. */
__attribute__((warn_unused_result)) int round_values_set(struct values *values,
                                                         const struct shop *shop, int64_t stock,
                                                         struct why *why);

#endif
