/* The table of strategies. */
#include "strategy.h"

#include <stddef.h>

extern const struct strategy strategy_none, strategy_mutex, strategy_redis, strategy_sharded,
    strategy_atomic;

const struct strategy *const strategies[] = {&strategy_none,    &strategy_mutex,  &strategy_redis,
                                             &strategy_sharded, &strategy_atomic, NULL};
