/* Chapter 1, first step: write only if the row still has the count that the sale read. If another
 * sale was faster, this sale sells nothing, and its customer is told so. */
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
    /* UPDATE ... WHERE available = (the count that was read). To do: why read at all? */
    return store_write_stock(sale, &seen, GUARD_VALUE, NULL);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "read, work, and write if the count has not changed",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
