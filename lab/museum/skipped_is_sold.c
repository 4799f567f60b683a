/* SKIP LOCKED. If other sales hold all rows with units, it answers sold out. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = lock_row_then_write(sale, ANY_SHARD, ROW_SKIP_LOCKED);

    return outcome == OUTCOME_BUSY ? OUTCOME_SOLD_OUT : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "FOR UPDATE SKIP LOCKED; rows that others hold count as empty",
    .promise = "nothing: a planted bug",
    .breaks = "contention: sold out while units are left",
    .source = "the museum",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .default_shards = 2,
    .sell = sell,
};
