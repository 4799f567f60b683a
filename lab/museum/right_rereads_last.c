/* Right. Optimistic: for one of the last units, which all want, it reads again after the work. */
#include "strategy.h"

#include <stddef.h>

#define FEW 20

static enum outcome try_once(struct sale *sale) {
    struct stock_row seen, again;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    if (seen.available > FEW)
        return store_write_stock(sale, &seen, GUARD_VERSION, NULL);
    outcome = store_read_stock(sale, 0, &again);
    if (outcome != OUTCOME_OK)
        return outcome;
    return again.version == seen.version ? store_write_stock(sale, &again, GUARD_VERSION, NULL)
                                         : OUTCOME_CONFLICT;
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = try_once(sale);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_once(sale);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "optimistic by a version, with a second read of the last units",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
