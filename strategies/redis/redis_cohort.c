/* The lease of `redis`, which a sale hands to the next one of its instance without asking Redis, up
 * to handover= times in a row; then it is the other instances' turn. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_REDIS);
}

const struct strategy strategy_redis_cohort = {
    .name = "redis-cohort",
    .family = "Redis",
    .summary = "as redis, and up to handover= times the lease goes on to the next sale of an "
               "instance",
    .promise = "as redis; no instance keeps the lease for more than so many sales of a turn",
    .breaks = "as redis; a lease that Redis has forgotten goes on until it is to be renewed",
    .source = "Dice, Marathe, Shavit: Lock Cohorting, 2012; lockkit.h",
    .takes = TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .default_handover = 16,
    .sell = sell,
};
