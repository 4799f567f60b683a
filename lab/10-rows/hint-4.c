/* Chapter 10, second step: after a conflict the sale begins again, after a pause that grows. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    /* To do: 3, then 2, then 3 again: the count is the same, but the row has changed. */
    enum outcome outcome = read_then_write(sale, 0, GUARD_VALUE, NULL);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, GUARD_VALUE, NULL);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "optimistic by the count, again after a conflict",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
