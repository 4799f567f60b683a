/* Right. After it has seen each row empty it looks at all rows once more. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_from(struct sale *sale, int shard) {
    return lock_shard_then_write(sale, LOCK_REDIS, shard, GUARD_VERSION);
}

static enum outcome sell(struct sale *sale) {
    const int shards = sale->options->shards, first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    for (int i = 0; i < 2 * shards && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = sell_from(sale, (first + i) % shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "several rows; two rounds before sold out",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 2,
    .sell = sell,
};
