/* Chapter 11, first step: if the row is empty, try the next one. With two rows that is all. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell_from(struct sale *sale, int shard) {
    struct stock_row row;
    struct store_lock *lock;
    enum outcome outcome = store_read_stock(sale, shard, &row);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (row.available <= 0)
        return OUTCOME_SOLD_OUT;
    outcome = store_lock(sale, LOCK_REDIS, shard, &lock);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, shard, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    int first = store_deal(sale);
    enum outcome outcome = sell_from(sale, first);

    /* To do: what if that row is empty, too? */
    if (outcome == OUTCOME_SOLD_OUT)
        outcome = sell_from(sale, (first + 1) % sale->options->shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "several rows, a lease each; it tries two",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 10,
    .sell = sell,
};
