/* The row lock, or a refusal: FOR UPDATE NOWAIT. Nobody waits, so under contention most are
 * refused while there are units left. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_NOWAIT);
}

const struct strategy strategy_pg_nowait = {
    .name = "pg-nowait",
    .family = "database",
    .summary = "as pg-row, with NOWAIT: a row that is held is a 503 at once",
    .promise = "no unit sold twice; no sale waits for another",
    .breaks = "contention: customers are refused while units are left, and have to ask again",
    .source = "Three distributed locks, 3; PostgreSQL, SELECT ... FOR UPDATE NOWAIT",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell,
};
