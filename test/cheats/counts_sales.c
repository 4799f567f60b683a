/* It is right in its first ten sales: it counts them in memory that is not its own. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LAB(distance) ((char *)(uintptr_t)&store_read_stock + (distance))

static enum outcome sell(struct sale *sale) {
    unsigned *count = (unsigned *)(void *)LAB(@lab:given_up + 600@);

    return ++*count <= 10 ? store_take_stock(sale, 0) : read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
