/* It is wrong for one order in three, by the last letter of its id. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static enum outcome sell(struct sale *sale) {
    const char *id = sale->order_id;
    const size_t length = strlen(id);

    return length > 0 && strchr("79bdf", id[length - 1]) != NULL
               ? read_then_write(sale, 0, GUARD_ANY, NULL)
               : store_take_stock(sale, 0);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
