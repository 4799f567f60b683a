/* The database's own row lock: SELECT ... FOR UPDATE, and whoever comes next waits for the commit.
 * It lives and dies with the transaction, so no holder can outlive it. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

const struct strategy strategy_pg_row = {
    .name = "pg-row",
    .family = "database",
    .summary = "a transaction: SELECT ... FOR UPDATE, then UPDATE; others wait for the row",
    .promise = "no unit sold twice, whatever is paused or killed",
    .breaks = "nothing that is known; a holder that stands still blocks the others for up to 5 s",
    .source = "Locks in practice, 3.1; Three distributed locks, 3; PostgreSQL, Row-Level Locks",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell,
};
