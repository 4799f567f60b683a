/* Writes again after UNKNOWN, and looks for its order before it reads the stock again. Between the two its
 * own first write takes the last unit. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    bool is_found = false, is_in_doubt = false;

    while (outcome == OUTCOME_UNKNOWN ||
           (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK)) {
        is_in_doubt = is_in_doubt || outcome == OUTCOME_UNKNOWN;
        if (outcome == OUTCOME_UNKNOWN && store_find_sale(sale, &is_found) == OUTCOME_OK &&
            is_found)
            return OUTCOME_REPEATED;
        outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    }
    return is_in_doubt && outcome == OUTCOME_CONFLICT ? OUTCOME_UNKNOWN : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a version; after UNKNOWN it looks for its order, then writes again",
    .promise = "nothing: a planted bug",
    .breaks = "a lost reply: the write of the last unit arrives just after the look",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
