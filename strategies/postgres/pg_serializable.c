/* The code of `none` in a SERIALIZABLE transaction. The database detects two sales that cannot have
 * run one after the other. It refuses one of them, which starts again. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome pg_serializable_attempt(struct sale *sale) {
    enum outcome outcome = store_begin(sale, SERIALIZABLE);

    if (outcome != OUTCOME_OK)
        return outcome;
    return store_end(sale, read_then_write(sale, 0, GUARD_ANY, NULL));
}

static enum outcome pg_serializable_sell(struct sale *sale) {
    enum outcome outcome = pg_serializable_attempt(sale);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = pg_serializable_attempt(sale);
    }
    return outcome;
}

const struct strategy strategy_pg_serializable = {
    .name = "pg-serializable",
    .family = "database",
    .summary =
        "read, work and write in a SERIALIZABLE transaction; retry if the database refuses it",
    .promise = "no unit is sold twice, under any pause or kill",
    .breaks = "contention: most attempts are refused, and each holds a connection",
    .source = "PostgreSQL, Serializable Isolation Level; Ports and Grittner, 2012",
    .takes = TAKES_RETURN,
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = pg_serializable_sell,
};
