/* One empty row ends the sale for all that come later. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_from(struct sale *sale, int shard) {
    enum outcome outcome = store_take_stock(sale, shard);

    if (outcome == OUTCOME_SOLD_OUT) {
        bool is_new;

        (void)store_kv_set_absent(sale, "sold-out", "1", 0, &is_new);
    }
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    const int shards = sale->options->shards, own = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;
    char gone[KV_TEXT];

    store_work(sale);
    if (store_kv_get(sale, "sold-out", gone) == OUTCOME_OK && gone[0] != '\0')
        return OUTCOME_SOLD_OUT;
    for (int i = 0; i < shards && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = sell_from(sale, (own + i) % shards);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "one empty row ends the sale for all that come later",
    .promise = "nothing: a planted bug",
    .breaks = "an empty row beside one with units",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 4,
    .sell = sell,
};
