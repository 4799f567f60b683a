/* Uses one statement, except for the last ten units: there it reads before it writes. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    return seen.available > 10 ? store_take_stock(sale, 0)
                               : read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one statement, and for the last ten units a check before it",
    .promise = "nothing: a planted bug",
    .breaks = "two buyers of one of the last ten units",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
