/* It reads the kernel's page of clocks, without a system call. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LAB(distance) ((char *)(uintptr_t)&store_read_stock + (distance))

static enum outcome sell(struct sale *sale) {
    const char *page = *(const char **)(void *)LAB(@lab:clock_pages@);

    return *(const volatile char *)page != 0 ? store_take_stock(sale, 0)
                                             : read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
