/* Reads twice: the count before the work, the version after it. */
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct stock_row seen, again;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = store_read_stock(sale, 0, &again);
    if (outcome != OUTCOME_OK)
        return outcome;
    seen.version = again.version;
    return store_write_stock(sale, &seen, GUARD_VERSION, NULL);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "the count of one read, and the version of a later one",
    .promise = "nothing: a planted bug",
    .breaks = "a sale between the two reads",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
