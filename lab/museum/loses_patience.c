/* Checks the version four times, and then no more. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome try_once(struct sale *sale, int tries) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, &seen, tries < 4 ? GUARD_VERSION : GUARD_ANY, NULL);
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = try_once(sale, 0);

    for (int tries = 1; outcome == OUTCOME_CONFLICT; tries++) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_once(sale, tries);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "checks the version four times, and then no more",
    .promise = "nothing: a planted bug",
    .breaks = "four other sales during one",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
