/* It calls the C library's clock by its distance from a function that it may call. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LIBC(distance) ((char *)(uintptr_t)&snprintf + (distance))

static enum outcome sell(struct sale *sale) {
    int64_t now[2] = {0, 0};

    (void)((int (*)(int, void *))(uintptr_t)LIBC(@libc:clock_gettime@))(1, now);
    return now[1] % 2 == 0 ? store_take_stock(sale, 0) : read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {.name = "exercise",
                                           .family = "lab",
                                           .summary = "a cheat",
                                           .promise = "none",
                                           .breaks = "see above",
                                           .source = "test/cheats",
                                           .default_shards = 1,
                                           .sell = sell};
