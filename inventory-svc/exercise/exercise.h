/* A strategy that is not compiled in: `const struct strategy strategy_exercise` of a shared object.
 * It calls the seam's functions of this program (exports.list). */
#ifndef INVENTORY_EXERCISE_H
#define INVENTORY_EXERCISE_H

#include "strategy.h"
#include "why.h"

#include <uv.h>

/* Load it for the life of the process. Its code may do anything that the process may do. 0 and
 * *strategy; or EX_NOINPUT or EX_DATAERR of <sysexits.h>, and `why`. */
__attribute__((warn_unused_result)) int exercise_load(const char *file,
                                                      const struct strategy **strategy,
                                                      struct why *why);

/* From now on a crash of the exercise's code, or a loop without end in it, ends the process. Before
 * that it writes a line into the file `file`.crash: the place in the object, as addr2line counts,
 * and the reason. Call it in the thread of the loop. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int exercise_watch(const char *file,
                                                       const struct strategy *strategy,
                                                       uv_loop_t *loop);

#endif
