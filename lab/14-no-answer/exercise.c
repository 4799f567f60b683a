/* Chapter 14: a version guards the row, so no unit is sold twice. But a write may get no answer. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome;

    do
        outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    while (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK);
    /* To do: no answer is not a no. This customer may have a unit, and will order again. */
    return outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a version; takes no answer for a no",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
