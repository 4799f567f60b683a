/* Works first, and then sells in a batch. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    store_work(sale);
    return store_take_in_batch(sale, 0);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "works first, and then sells in a batch",
    .promise = "right",
    .breaks = "nothing that its chapter asks for",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
