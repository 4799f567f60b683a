/* The strategies of this family that differ in their lock alone: each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "strategy.h"

/* The article's first idea of a lock that several processes see: the process that makes the
 * directory has the lock, and removes it to give it back. */
const struct strategy strategy_mkdir = {
    .name = "mkdir",
    .family = "one machine",
    .summary = "a directory on the machine's disk: making it is winning, removing it giving back",
    .promise = "no unit sold twice by the instances of one machine that share the directory",
    .breaks = "a second machine: it has a disk of its own; a killed holder, or a write without an "
              "answer: the directory stays for ever",
    .source = "How a distributed lock is made, 2",
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_MKDIR,
};

/* flock(2) has what mkdir lacks, an owner: the kernel frees the lock of a process that is no more.
 */
const struct strategy strategy_flock = {
    .name = "flock",
    .family = "one machine",
    .summary = "flock on a file of the machine's disk, which the kernel frees with its holder",
    .promise = "no unit sold twice by the instances of one machine that share the directory",
    .breaks = "a second machine: it has a disk of its own; a killed holder's "
              "write may land after the next read",
    .source = "How a distributed lock is made, 2; flock(2)",
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_FLOCK,
};
