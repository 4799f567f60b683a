/* One statement, again until its outcome is known. The ledger's key makes the second one harmless. */
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = OUTCOME_UNKNOWN;
    bool is_repeat = false, is_found = false;

    store_work(sale);
    while (outcome == OUTCOME_UNKNOWN) {
        outcome = store_take_stock(sale, 0);
        is_repeat = is_repeat || outcome == OUTCOME_UNKNOWN;
    }
    if (!is_repeat || outcome == OUTCOME_SOLD || outcome == OUTCOME_REPEATED)
        return outcome;
    if (store_find_sale(sale, &is_found) != OUTCOME_OK || outcome != OUTCOME_SOLD_OUT)
        return is_found ? OUTCOME_REPEATED : OUTCOME_UNKNOWN;
    return is_found ? OUTCOME_REPEATED : OUTCOME_SOLD_OUT;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one statement until its outcome is known; asks the ledger before it says no",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
