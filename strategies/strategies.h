/* All strategies, found by name in one table. */
#ifndef STRATEGIES_STRATEGIES_H
#define STRATEGIES_STRATEGIES_H

#include "strategy.h"

/* In the order of the ladder; ends with NULL. */
extern const struct strategy *const strategies[];

/* One more, after them: the exercise that a service was started with, or NULL. Set once, before the
 * first spec is read. */
extern const struct strategy *strategies_exercise;

#endif
