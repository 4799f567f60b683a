/* Reads the row for update, ends the transaction, and writes in another transaction. */
#include "strategy.h"

#include <stddef.h>

static enum outcome read_alone(struct sale *sale, struct stock_row *seen) {
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_for_update(sale, 0, ROW_WAIT, seen);
    if (outcome != OUTCOME_OK)
        return store_end(sale, outcome);
    (void)store_end(sale, OUTCOME_BUSY);
    return OUTCOME_OK;
}

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = read_alone(sale, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    return seen.available <= 0 ? OUTCOME_SOLD_OUT : store_write_stock(sale, &seen, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "FOR UPDATE in a transaction that ends before the write",
    .promise = "nothing: a planted bug",
    .breaks = "another sale between the two transactions",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
