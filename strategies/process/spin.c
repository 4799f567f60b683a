/* A spin lock: tried again at each turn of the loop, which never sleeps meanwhile. There is no
 * queue, so luck decides who is next; and who waits burns the processor that the holder needs. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_then_write(sale, LOCK_SPIN);
}

const struct strategy strategy_spin = {
    .name = "spin",
    .family = "one process",
    .summary = "a lock in each process, tried again and again without a queue",
    .promise = "no unit sold twice by one instance",
    .breaks = "a second instance: it has a lock of its own; contention: who waits burns the "
              "processor, in no order",
    .source = "An overview of locks, spin locks",
    .default_shards = 1,
    .sell = sell,
};
