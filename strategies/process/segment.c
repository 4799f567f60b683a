/* Segment locks, as in Java's ConcurrentHashMap before version 8. The stock is in several rows,
 * each with a lock in this process, so as many sales run at once. A sale that finds its row empty
 * tries the next. It holds one lock at a time, so sales never wait in a ring. */
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
        "several stock rows, each with a lock in the process; an empty row sends a sale to the "
        "next",
    .promise = "like mutex, per row; never says sold out while a row has a unit",
    .breaks = "a second instance has its own locks",
    .source = "An overview of locks, segment locks",
    .takes = TAKES_SHARDS,
    .default_shards = 10,
    .sell = segment_sell,
};
