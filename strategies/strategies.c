/* The table of strategies, one line each. */
#include "strategies.h"

#define STRATEGIES(X)                                                                              \
    X(none)                                                                                        \
    X(mutex)                                                                                       \
    X(reentrant)                                                                                   \
    X(rwlock)                                                                                      \
    X(stamped)                                                                                     \
    X(spin)                                                                                        \
    X(segment)                                                                                     \
    X(redis_setnx)                                                                                 \
    X(redis_expire)                                                                                \
    X(redis_ttl)                                                                                   \
    X(redis_get_del)                                                                               \
    X(redis_owner)                                                                                 \
    X(redis)                                                                                       \
    X(redis_fenced)                                                                                \
    X(redis_cohort)                                                                                \
    X(redis_fair)                                                                                  \
    X(redis_wait)                                                                                  \
    X(rw)                                                                                          \
    X(redlock)                                                                                     \
    X(zookeeper)                                                                                   \
    X(zookeeper_unfair)                                                                            \
    X(etcd)                                                                                        \
    X(early_unlock)                                                                                \
    X(pg_row)                                                                                      \
    X(pg_nowait)                                                                                   \
    X(pg_version)                                                                                  \
    X(pg_value)                                                                                    \
    X(pg_serializable)                                                                             \
    X(pg_table)                                                                                    \
    X(pg_advisory)                                                                                 \
    X(pg_advisory_raw)                                                                             \
    X(atomic)                                                                                      \
    X(mkdir)                                                                                       \
    X(flock)                                                                                       \
    X(sharded)                                                                                     \
    X(sharded_skip)                                                                                \
    X(prewarm)                                                                                     \
    X(batched)

#define X(name) extern const struct strategy strategy_##name;
STRATEGIES(X)
#undef X

const struct strategy *const strategies[] = {
#define X(name) &strategy_##name,
    STRATEGIES(X)
#undef X
        NULL};

const struct strategy *strategies_exercise;
