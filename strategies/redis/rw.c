/* `rwlock` across all instances: a lease in Redis that those who look share, and that a sale has
 * alone. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return look_then_write(sale, LOCK_REDIS_RW);
}

const struct strategy strategy_rw = {
    .name = "rw",
    .family = "Redis",
    .summary = "a lease in Redis: shared to see whether any is left, alone to sell",
    .promise = "as redis; those who only look do so side by side",
    .breaks = "as redis; while there is stock each sale takes two leases",
    .source = "Locks in practice, 2; lockkit.h",
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .sell = sell,
};
