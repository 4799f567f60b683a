/* Treats a count of one as empty, so it never sells the last unit. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    return seen.available <= 1 ? OUTCOME_SOLD_OUT : store_take_stock(sale, 0);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "sells while more than one unit is left",
    .promise = "nothing: a planted bug",
    .breaks = "the last unit: it is never sold",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
