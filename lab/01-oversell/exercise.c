/* Chapter 1: read the stock, work, write it back. Two customers read the same count, and both buy
 * the same unit. */
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    /* To do: this writes the old count minus one, even if the row has changed since the read. */
    return store_write_stock(sale, &seen, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "read the stock, work, write it back",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
