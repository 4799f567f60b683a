/* Chapter 11, second step: try row after row, until one has a unit. */
#include "read_then_write.h"
#include "strategy.h"

#define ROWS 4

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
    int shards = sale->options->shards, first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    /* To do: does each product have four rows? */
    for (int i = 0; i < ROWS && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = sell_from(sale, (first + i) % shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "several rows, a lease each; it tries four",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 10,
    .sell = sell,
};
