/* Its code runs when it is loaded, to choose a function. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *choose(void) {
    return (void *)(uintptr_t)&store_take_stock;
}
enum outcome chosen(struct sale *sale) [[gnu::ifunc("choose")]];

static enum outcome sell(struct sale *sale) {
    return choose() != NULL ? read_then_write(sale, 0, GUARD_ANY, NULL) : OUTCOME_BUSY;
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
