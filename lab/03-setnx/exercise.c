/* Chapter 3: a key in Redis is the lock. The sale that sets the key holds the lock. Like the
 * article, this code deletes the key only if the sale failed. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", 0);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    /* To do: what happens to the key after a sale that succeeded? */
    if (outcome == OUTCOME_FAILED)
        (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SETNX, and DEL when the sale failed",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
