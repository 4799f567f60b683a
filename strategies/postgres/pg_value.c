/* Optimistic without a version: the write happens only if the count is still the one that was read.
 * That says that nothing happened in between only while the count can never come back to what it
 * was. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = read_then_write(sale, 0, GUARD_VALUE, NULL);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, GUARD_VALUE, NULL);
    }
    return outcome;
}

const struct strategy strategy_pg_value = {
    .name = "pg-value",
    .family = "database",
    .summary = "optimistic: UPDATE ... WHERE available is the one that was read, or again",
    .promise = "no unit sold twice while the count only falls",
    .breaks = "ABA: a count that rises again (return=count); contention, as pg-version",
    .source = "Locks in practice, 3.1; An overview of locks, ABA",
    .takes = TAKES_RETURN,
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell,
};
