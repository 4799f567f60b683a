/* One statement on each row, the own one first. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_from(struct sale *sale, int shard) {
    return store_take_stock(sale, shard);
}

static enum outcome sell(struct sale *sale) {
    const int shards = sale->options->shards, first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    for (int i = 0; i < shards && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = sell_from(sale, (first + shards - i) % shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one statement on each row, the own one first",
    .promise = "right",
    .breaks = "nothing that its chapter asks for",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 4,
    .sell = sell,
};
