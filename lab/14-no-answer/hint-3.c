/* Chapter 14, first step: be honest. The customer hears that nobody knows. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome;

    do
        outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    while (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK);
    /* To do: the database answers again. How can you learn the fate of this order? */
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a version; says that nobody knows",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
