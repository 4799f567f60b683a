/* A directory on the machine's disk, the article's first idea of a lock that several processes see:
 * whoever makes it has the lock, and removes it to give it back. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_MKDIR);
}

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
    .sell = sell,
};
