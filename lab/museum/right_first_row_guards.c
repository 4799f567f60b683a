/* Right. Every cart locks product 0 first, so the row of product 1 needs no lock of its own. */
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_both(struct sale *sale) {
    struct stock_row first, second;
    enum outcome outcome = store_read_for_update(sale, 0, ROW_WAIT, &first);

    if (outcome == OUTCOME_OK)
        outcome = store_read_stock(sale, 1, &second);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (first.available <= 0 || second.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = store_write_stock(sale, &second, GUARD_ANY, NULL);
    return outcome == OUTCOME_SOLD ? store_write_stock(sale, &first, GUARD_ANY, NULL) : outcome;
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    return outcome == OUTCOME_OK ? store_end(sale, sell_both(sale)) : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "the row of product 0 is the lock for both",
    .promise = "both products or none",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_CART,
    .default_shards = 2,
    .sell = sell,
};
