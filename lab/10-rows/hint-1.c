/* Chapter 10, first step: optimistic. Nobody is kept out, and the write asks whether the count is
 * still the one that was read. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    /* To do: who was overtaken is sent away. And is the same count the same row? */
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
