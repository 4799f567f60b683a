/* It asks for so much that is new that the grader might give up early. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static enum outcome sell(struct sale *sale) {
    char value[KV_TEXT];
    unsigned at = 1;

    for (int i = 0; i < 12; i++) {
        bool was_set;

        (void)snprintf(value, sizeof value, "%u", at);
        (void)store_kv_set_absent(sale, value, value, 0, &was_set);
        at = 2 * at + was_set;
    }
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
