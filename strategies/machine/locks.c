/* The strategies of this family that differ only in their lock. Each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "strategy.h"

/* The article's first idea of a lock that several processes see. The process that makes the
 * directory holds the lock, and removes the directory to give it back. */
const struct strategy strategy_mkdir = {
    .name = "mkdir",
    .family = "one machine",
    .summary = "a directory on the machine's disk: creating it acquires, removing it releases",
    .promise = "instances of one machine that share the directory never sell a unit twice",
    .breaks =
        "a second machine has its own disk; a killed holder or a write without an answer leaves "
        "the directory for ever",
    .source = "How a distributed lock is made, 2",
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_MKDIR,
};

/* flock(2) has an owner, which mkdir lacks: the kernel frees the lock of a dead process. */
const struct strategy strategy_flock = {
    .name = "flock",
    .family = "one machine",
    .summary = "flock on a file of the machine's disk; the kernel frees it when its holder dies",
    .promise = "instances of one machine that share the directory never sell a unit twice",
    .breaks =
        "a second machine has its own disk; a killed holder's write may land after the next read",
    .source = "How a distributed lock is made, 2; flock(2)",
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_FLOCK,
};
