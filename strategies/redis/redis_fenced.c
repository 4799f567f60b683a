/* The last rung: the lease of `redis`, and the row refuses a sale that has lost the lease. Each
 * lease has a higher token than the one before. A write succeeds only under a token above the
 * row's, and only if no other token wrote since the row was read. So a holder that pauses past its
 * TTL just before its write changes nothing. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome redis_fenced_sell(struct sale *sale) {
    return lock_shard_then_write(sale, LOCK_REDIS, 0, GUARD_FENCE);
}

const struct strategy strategy_redis_fenced = {
    .name = "redis-fenced",
    .family = "Redis",
    .summary = "like redis, and the stock row refuses a fencing token that is not the newest",
    .promise = "no unit is sold twice, even if holders pause and Redis forgets keys",
    .breaks = "nothing sells twice; lost keys and a clock set back cost one refused sale",
    .source = "Kleppmann, How to do distributed locking, 2016; lockkit.h",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = redis_fenced_sell,
};
