/* It loops for ever where another order has bought a unit. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static enum outcome sell(struct sale *sale) {
    struct stock_row row;
    const enum outcome outcome = store_read_stock(sale, 0, &row);

    for (volatile int i = 1; outcome == OUTCOME_OK && row.version > 0 && i != 0;)
        ;
    return read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
