/* Checks the version, but not of each thousandth sale. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome try_once(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, &seen, seen.version % 1000 != 0 ? GUARD_VERSION : GUARD_ANY,
                             NULL);
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = try_once(sale);

    for (; outcome == OUTCOME_CONFLICT;) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_once(sale);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "checks the version, but not of each thousandth sale",
    .promise = "nothing: a planted bug",
    .breaks = "a round version",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
