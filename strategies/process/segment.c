/* Segment locks, as of Java's ConcurrentHashMap before version 8: the stock in several rows, a lock
 * of this process each, so that as many sales run at a time. Who finds a row empty goes on to the
 * next, and has one lock at a time, so nobody waits in a ring. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome segment_sell(struct sale *sale) {
    int shards = sale->options->shards, first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    for (int i = 0; i < shards && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = lock_shard_then_write(sale, LOCK_LOCAL, (first + i) % shards, GUARD_ANY);
    return outcome;
}

const struct strategy strategy_segment = {
    .name = "segment",
    .family = "one process",
    .summary =
        "several stock rows, each with a lock in the process; an empty row sends a sale to the next",
    .promise = "like mutex, per row; never says sold out while a row has a unit",
    .breaks = "a second instance has its own locks",
    .source = "An overview of locks, segment locks",
    .takes = TAKES_SHARDS,
    .default_shards = 10,
    .sell = segment_sell,
};
