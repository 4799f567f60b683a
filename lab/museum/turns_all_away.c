/* Never sells a unit twice, because it never sells. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    return outcome == OUTCOME_OK ? OUTCOME_BUSY : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "reads the stock, and answers busy",
    .promise = "nothing: a planted bug",
    .breaks = "every sale",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
