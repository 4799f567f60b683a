/* No guard at all: two sales that read the same stock sell the same unit. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome none_sell(struct sale *sale) {
    return read_then_write(sale, 0, GUARD_ANY, NULL);
}

const struct strategy strategy_none = {
    .name = "none",
    .family = "no guard",
    .summary = "no guard: read the stock, work, write it back",
    .promise = "nothing",
    .breaks = "any two sales at once: both read the same count and sell the same unit",
    .source = "How a distributed lock is made, 1",
    .default_shards = 1,
    .sell = none_sell,
};
