/* A lock that readers share and a writer has alone, Java's ReadWriteLock: whoever finds the stock
 * sold out looked beside others and stood in no line. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return look_then_write(sale, LOCK_RWLOCK);
}

const struct strategy strategy_rwlock = {
    .name = "rwlock",
    .family = "one process",
    .summary = "a lock in each process: shared to see whether any is left, alone to sell",
    .promise = "no unit sold twice by one instance; those who only look do so side by side",
    .breaks = "a second instance: it has a lock of its own",
    .source = "Locks in practice, 2",
    .default_shards = 1,
    .sell = sell,
};
