/* After UNKNOWN it looks at the stock: none left, so it says sold out. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    struct stock_row row;
    enum outcome outcome;

    store_work(sale);
    outcome = store_take_stock(sale, 0);
    if (outcome != OUTCOME_UNKNOWN || store_read_stock(sale, 0, &row) != OUTCOME_OK)
        return outcome;
    return row.available > 0 ? store_take_stock(sale, 0) : OUTCOME_SOLD_OUT;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one statement; after UNKNOWN it looks whether to try again",
    .promise = "nothing: a planted bug",
    .breaks = "a lost reply of the sale of the last unit",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
