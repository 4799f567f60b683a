/* Optimistic: no sale is kept out. The write happens only if the row is still as it was read.
 * Otherwise the sale pauses and starts again. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell_unchanged(struct sale *sale, enum guard guard) {
    enum outcome outcome = read_then_write(sale, 0, guard, NULL);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, guard, NULL);
    }
    return outcome;
}

static enum outcome sell_by_version(struct sale *sale) {
    return sell_unchanged(sale, GUARD_VERSION);
}

const struct strategy strategy_pg_version = {
    .name = "pg-version",
    .family = "database",
    .summary = "optimistic: UPDATE ... WHERE version is still the one it read; else retry",
    .promise = "no unit is sold twice, under any pause or kill",
    .breaks =
        "contention: of the sales that read the same version one sells, and the others worked in "
        "vain",
    .source = "An overview of locks, optimistic locks; Kung and Robinson, 1981",
    .takes = TAKES_RETURN,
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell_by_version,
};

/* An unchanged count proves that nothing happened only while the count cannot return to an old
 * value. */
static enum outcome sell_by_value(struct sale *sale) {
    return sell_unchanged(sale, GUARD_VALUE);
}

const struct strategy strategy_pg_value = {
    .name = "pg-value",
    .family = "database",
    .summary = "optimistic: UPDATE ... WHERE available is still the one it read; else retry",
    .promise = "no unit is sold twice while the count only falls",
    .breaks = "ABA: a count that rises again (return=count); contention, like pg-version",
    .source = "Locks in practice, 3.1; An overview of locks, ABA",
    .takes = TAKES_RETURN,
    .is_right = true,
    .survives = SURVIVES_ALL,
    .default_shards = 1,
    .sell = sell_by_value,
};
