/* A unit that is borrowed from another row is counted off twice. */
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_from(struct sale *sale, int shard, bool is_borrowed) {
    struct stock_row row;
    enum outcome outcome;

    do {
        outcome = store_read_stock(sale, shard, &row);
        if (outcome != OUTCOME_OK)
            return outcome;
        if (row.available <= 0)
            return OUTCOME_SOLD_OUT;
        if (is_borrowed)
            row.available--;
        outcome = store_write_stock(sale, &row, GUARD_VERSION, NULL);
    } while (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK);
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    const int shards = sale->options->shards, first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    store_work(sale);
    for (int i = 0; i < shards && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = sell_from(sale, (first + i) % shards, i > 0);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "several rows; the borrower lowers the row by two",
    .promise = "nothing: a planted bug",
    .breaks = "an empty row, and units in the next",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 2,
    .sell = sell,
};
