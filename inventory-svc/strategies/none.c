/* No guard at all: two sales that read the same stock sell the same unit. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    return read_then_write(sale, 0, NULL);
}

const struct strategy strategy_none = {
    .name = "none",
    .summary = "no guard: read the stock, work, write it back",
    .promise = "nothing: any two sales at a time can sell one unit twice",
    .default_shards = 1,
    .sell = sell,
};
