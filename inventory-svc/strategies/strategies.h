/* All strategies, found by name in one table. */
#ifndef INVENTORY_STRATEGIES_H
#define INVENTORY_STRATEGIES_H

#include "strategy.h"

/* In the order of the ladder; ends with NULL. */
extern const struct strategy *const strategies[];

#endif
