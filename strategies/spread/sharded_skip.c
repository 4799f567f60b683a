/* The stock is in several rows, and their row locks are the only locks. Each sale takes any row
 * that has units and that nobody holds (SKIP LOCKED). If all rows with units are held, it pauses
 * and looks again. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sharded_skip_sell(struct sale *sale) {
    enum outcome outcome = lock_row_then_write(sale, ANY_SHARD, ROW_SKIP_LOCKED);

    while (outcome == OUTCOME_BUSY && store_pause(sale) == OUTCOME_OK)
        outcome = lock_row_then_write(sale, ANY_SHARD, ROW_SKIP_LOCKED);
    return outcome;
}

const struct strategy strategy_sharded_skip = {
    .name = "sharded-skip",
    .family = "spread",
    .summary = "several stock rows: FOR UPDATE SKIP LOCKED takes any row that nobody holds",
    .promise = "no unit is sold twice; never says sold out while a row has a unit",
    .breaks = "nothing known; with one row it polls",
    .source = "PostgreSQL, SELECT ... FOR UPDATE SKIP LOCKED",
    .takes = TAKES_SHARDS | TAKES_DEAL,
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 10,
    .sell = sharded_skip_sell,
};
