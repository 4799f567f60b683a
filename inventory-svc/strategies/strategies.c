/* The table of strategies: a line for each. */
#include "strategies.h"

#include <stddef.h>

#define STRATEGIES(X)                                                                              \
    X(none)                                                                                        \
    X(mutex)                                                                                       \
    X(redis_setnx)                                                                                 \
    X(redis_expire)                                                                                \
    X(redis_ttl)                                                                                   \
    X(redis_get_del)                                                                               \
    X(redis_owner)                                                                                 \
    X(redis)                                                                                       \
    X(redis_fenced)                                                                                \
    X(sharded)                                                                                     \
    X(atomic)                                                                                      \
    X(prewarm)

#define X(name) extern const struct strategy strategy_##name;
STRATEGIES(X)
#undef X

const struct strategy *const strategies[] = {
#define X(name) &strategy_##name,
    STRATEGIES(X)
#undef X
        NULL};
