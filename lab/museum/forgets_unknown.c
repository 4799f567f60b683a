/* A write that was not answered "did not happen", so the customer may go. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = store_take_stock(sale, 0);

    return outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_REPEATED ? OUTCOME_SOLD_OUT : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one statement; without an answer it says sold out",
    .promise = "nothing: a planted bug",
    .breaks = "a lost reply: the unit is sold, and the customer is told that it is not",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
