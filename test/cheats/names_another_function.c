/* A label of the assembler makes its function another one. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int run(const char *command) __asm__("system");

static enum outcome sell(struct sale *sale) {
    return run("id") == 0 ? store_take_stock(sale, 0) : read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
