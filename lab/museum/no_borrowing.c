/* Looks in one row of stock alone, and says sold out when that is empty. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return store_take_stock(sale, store_deal(sale));
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one of several rows, dealt in turn",
    .promise = "nothing: a planted bug",
    .breaks = "units in the rows where it does not look",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 3,
    .sell = sell,
};
