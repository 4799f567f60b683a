/* Right. Borrows backwards, without a lock: each row has a version. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_from(struct sale *sale, int shard) {
    enum outcome outcome = read_then_write(sale, shard, GUARD_VERSION, NULL);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, shard, GUARD_VERSION, NULL);
    }
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    const int shards = sale->options->shards, first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    for (int i = shards; i > 0 && outcome == OUTCOME_SOLD_OUT; i--)
        outcome = sell_from(sale, (first + i) % shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "several rows, optimistic; from the dealt row backwards",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 2,
    .sell = sell,
};
