/* Locks the row, but writes what it read before the transaction began. */
#include "strategy.h"

#include <stddef.h>

static enum outcome write_locked(struct sale *sale, const struct stock_row *seen) {
    struct stock_row now;
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_for_update(sale, 0, ROW_WAIT, &now);
    if (outcome == OUTCOME_OK)
        outcome = store_write_stock(sale, seen, GUARD_ANY, NULL);
    return store_end(sale, outcome);
}

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return write_locked(sale, &seen);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "FOR UPDATE, and the count of an earlier read",
    .promise = "nothing: a planted bug",
    .breaks = "a sale before the row is locked",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
