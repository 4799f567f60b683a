/* Tries only one row of stock, and answers sold out if that row is empty. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return store_take_stock(sale, store_deal(sale));
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one of several rows, dealt in turn",
    .promise = "nothing: a planted bug",
    .breaks = "units in the rows that it does not try",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 3,
    .sell = sell,
};
