/* A lock in this process, the article's `synchronized`: right with one instance, wrong with two,
 * because each instance has a lock of its own. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_LOCAL);
}

const struct strategy strategy_mutex = {
    .name = "mutex",
    .family = "one process",
    .summary = "a first-come-first-served lock in each process",
    .promise = "no unit sold twice by one instance",
    .breaks = "a second instance: it has a lock of its own",
    .source = "How a distributed lock is made, 1",
    .default_shards = 1,
    .sell = sell,
};
