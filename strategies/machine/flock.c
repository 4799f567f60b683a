/* flock(2) on a file of the machine's disk: what mkdir lacks, an owner, so that the kernel frees
 * the lock of a process that is no more. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_FLOCK);
}

const struct strategy strategy_flock = {
    .name = "flock",
    .family = "one machine",
    .summary = "flock on a file of the machine's disk, which the kernel frees with its holder",
    .promise = "no unit sold twice by the instances of one machine that share the directory",
    .breaks = "a second machine: it has a disk of its own; a killed holder's write may land after "
              "the next read",
    .source = "How a distributed lock is made, 2; flock(2)",
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .sell = sell,
};
