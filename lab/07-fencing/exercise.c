/* Chapter 7: a lease that is renewed. But the sale does not check it before the write. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    struct store_lock *lock;
    enum outcome outcome = store_lock(sale, LOCK_REDIS, 0, &lock);

    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: nothing connects the lease with the row. */
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    store_unlock(sale, lock, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a lease that is renewed",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
