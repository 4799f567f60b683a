/* Optimistic: nobody is kept out, and the write happens only if the row's version is still the one
 * that was read; else pause, and all over again. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    }
    return outcome;
}

const struct strategy strategy_pg_version = {
    .name = "pg-version",
    .family = "database",
    .summary = "optimistic: UPDATE ... WHERE version is the one that was read, or again",
    .promise = "no unit sold twice, whatever is paused or killed",
    .breaks =
        "contention: of those that read one version one sells, and the others work for nothing",
    .source = "An overview of locks, optimistic locks; Kung and Robinson, 1981",
    .takes = TAKES_RETURN,
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell,
};
