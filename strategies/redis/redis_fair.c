/* The lease of `redis` with one line for all instances, kept by Redis: whoever came first is next.
 * Who waits asks for itself, where under `redis` one asks for all that wait at its instance. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_REDIS_FAIR);
}

const struct strategy strategy_redis_fair = {
    .name = "redis-fair",
    .family = "Redis",
    .summary = "as redis, with one line for all instances: first come, first served",
    .promise = "as redis, and nobody is overtaken who waits, whichever instance he came to",
    .breaks = "as redis; each who waits costs round trips of his own",
    .source = "lockkit.h, is_fair",
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .sell = sell,
};
