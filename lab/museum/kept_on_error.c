/* Several rows, a lease each. It keeps the lease of a row that turns out to be empty. */
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_from(struct sale *sale, int shard) {
    struct stock_row seen;
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, shard, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_stock(sale, shard, &seen);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = store_write_stock(sale, &seen, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    const int shards = sale->options->shards, first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    for (int i = 0; i < shards && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = sell_from(sale, (first + i) % shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a lease for each row; two of three returns keep it",
    .promise = "nothing: a planted bug",
    .breaks = "an empty row: the next row's lease is refused",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 2,
    .sell = sell,
};
