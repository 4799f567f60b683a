/* Sells at a count of zero, too. That is one unit more than there is. */
#include "strategy.h"

#include <stddef.h>

static enum outcome attempt(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available < 0)
        return OUTCOME_SOLD_OUT;
    if (seen.available == 0)
        seen = (struct stock_row){.shard = 0, .available = 1, .unit = 0, .version = seen.version};
    return store_write_stock(sale, &seen, GUARD_VERSION, NULL);
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = attempt(sale);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = attempt(sale);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "sells while the count is not below zero",
    .promise = "nothing: a planted bug",
    .breaks = "the end of the stock: unit 0 is sold",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
