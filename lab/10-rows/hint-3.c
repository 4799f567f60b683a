/* Chapter 10, first step: optimistic. No sale waits for another. The write checks that the count is
 * still the one that the sale read. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    /* To do: a slower sale turns its customer away. And is an equal count an unchanged row? */
    return read_then_write(sale, 0, GUARD_VALUE, NULL);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "optimistic by the count",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
