/* Answers sold out if the first of several rows is empty. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    const int shards = sale->options->shards;
    const int first = store_deal(sale);
    struct stock_row row;
    enum outcome outcome = store_read_stock(sale, 0, &row);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (row.available <= 0)
        return OUTCOME_SOLD_OUT;
    outcome = OUTCOME_SOLD_OUT;
    for (int i = 0; i < shards && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = store_take_stock(sale, (first + i) % shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "takes from any row, but checks only the first one",
    .promise = "nothing: a planted bug",
    .breaks = "a first row that is empty before the others",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 2,
    .sell = sell,
};
