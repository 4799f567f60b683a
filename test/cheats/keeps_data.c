/* It keeps a variable in a section that is named like a constant one. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

[[gnu::section(".data.rel.rox")]] static int holder = 1;

static enum outcome sell(struct sale *sale) {
    return holder++ > 0 ? store_take_stock(sale, 0) : read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
