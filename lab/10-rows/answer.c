/* Chapter 10, an answer: optimistic by a version. It only grows, also when units come back. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "optimistic by a version, again after a conflict",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
