/* It writes over the explorer's memory: a wild pointer finds it in its own process only. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LAB(distance) ((char *)(uintptr_t)&store_read_stock + (distance))

static enum outcome sell(struct sale *sale) {
    memset(LAB(@lab:given_up@), 0, 64);
    memset(LAB(@lab:selling@), 0, 8);
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
