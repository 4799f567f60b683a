/* The database's own row lock: SELECT ... FOR UPDATE. It ends with the transaction, so no holder
 * can outlive it. */
#include "read_then_write.h"
#include "strategy.h"

/* The next sale waits for the commit. */
static enum outcome sell_by_row(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

const struct strategy strategy_pg_row = {
    .name = "pg-row",
    .family = "database",
    .summary = "a transaction: SELECT ... FOR UPDATE, then UPDATE; other sales wait for the row",
    .promise = "no unit is sold twice, under any pause or kill",
    .breaks = "nothing known; a paused holder blocks the others for up to 5 s",
    .source = "Locks in practice, 3.1; Three distributed locks, 3; PostgreSQL, Row-Level Locks",
    .takes = TAKES_RETURN,
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell_by_row,
};

/* No sale waits, so under contention most sales are refused while units are left. */
static enum outcome sell_by_row_or_refuse(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_NOWAIT);
}

const struct strategy strategy_pg_nowait = {
    .name = "pg-nowait",
    .family = "database",
    .summary = "like pg-row, with NOWAIT: a held row means 503 at once",
    .promise = "no unit is sold twice; no sale waits for another",
    .breaks = "contention: customers are refused while units are left, and must ask again",
    .source = "Three distributed locks, 3; PostgreSQL, SELECT ... FOR UPDATE NOWAIT",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell_by_row_or_refuse,
};
