/* One conditional UPDATE: the database's own row lock guards read and write at once, so no other
 * lock is needed. */
#include "strategy.h"

static enum outcome atomic_sell(struct sale *sale) {
    store_work(sale);
    return store_take_stock(sale, 0);
}

const struct strategy strategy_atomic = {
    .name = "atomic",
    .family = "database",
    .summary = "one statement: UPDATE ... WHERE available > 0",
    .promise = "no unit is sold twice, under any pause or kill",
    .breaks = "nothing known",
    .source = "PostgreSQL, Read Committed Isolation Level",
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = atomic_sell,
};
