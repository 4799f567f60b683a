/* An advisory lock of Postgres. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_PG_ADVISORY, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, lock);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "an advisory lock of Postgres",
    .promise = "right",
    .breaks = "nothing that its chapter asks for",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
