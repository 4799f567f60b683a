/* Between the process that asks for an attempt and the one that makes it. */
#ifndef LAB_ATTEMPT_INTERNAL_H
#define LAB_ATTEMPT_INTERNAL_H

#include "attempt.h"

/* What ends an attempt depends on the file alone, not on how fast the machine is or how busy: a
 * number of runs; and a run that needs TICKS ticks of CPU, where one of the longest takes some
 * milliseconds. */
#define ATTEMPT_RUNS    100000
#define ATTEMPT_TICK_MS 125
#define ATTEMPT_TICKS   8
#define ATTEMPT_CPU_S   30 /* which is never reached, but by who wants to */
#define ATTEMPT_MEMORY  ((size_t)600 << 20)
#define ATTEMPT_LOOPS   3 /* the child's exit code: a run did not end */

/* In the child: shut it in, explore, write `attempt` to `to`, and end. */
_Noreturn void attempt_child(const char *path, const struct check *check, int to);

#endif
