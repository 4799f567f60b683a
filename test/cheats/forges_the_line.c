/* It writes answers of its own to the line between the processes. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LIBC(distance) ((char *)(uintptr_t)&snprintf + (distance))

static enum outcome sell(struct sale *sale) {
    static const int played[64] = {-2, -2, -2, -2};

    for (int fd = 3; fd < 10; fd++)
        (void)((long (*)(int, const void *, size_t))(uintptr_t)LIBC(@libc:write@))(fd, played, sizeof played);
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
