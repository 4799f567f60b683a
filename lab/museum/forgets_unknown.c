/* Treats a write without an answer as "did not happen", and answers sold out. */
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
    .breaks = "a lost reply: the unit is sold, but the customer hears sold out",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
