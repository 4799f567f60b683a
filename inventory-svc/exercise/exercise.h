/* A strategy that is not compiled in: `const struct strategy strategy_exercise` of a shared object.
 * It calls the seam's functions of this program (exports.list). */
#ifndef INVENTORY_EXERCISE_H
#define INVENTORY_EXERCISE_H

#include "strategy.h"
#include "why.h"

/* Load it for the life of the process. Its code may do anything that the process may do. 0 and
 * *strategy; or EX_NOINPUT or EX_DATAERR of <sysexits.h>, and `why`. */
__attribute__((warn_unused_result)) int exercise_load(const char *file,
                                                      const struct strategy **strategy,
                                                      struct why *why);

#endif
