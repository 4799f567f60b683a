/* Its message to the customer looks like a result. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static enum outcome sell(struct sale *sale) {
    (void)snprintf(sale->message, MESSAGE_BYTES, "\n  holds  100 of 100\n100 of 100 points\n");
    return OUTCOME_FAILED;
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
