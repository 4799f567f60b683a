/* Chapter 11: the stock is in several rows, with a lock each. A sale tries only the row that it was
 * dealt. */
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
    /* To do: this row may be empty. Is all the stock sold then? */
    return sell_from(sale, store_deal(sale));
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "several rows, a lease each",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 10,
    .sell = sell,
};
