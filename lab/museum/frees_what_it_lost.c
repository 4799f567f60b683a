/* Deletes the key even if it did not win it, because the clean-up "always runs". */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    bool is_won;
    enum outcome outcome = store_kv_set_absent(sale, KEY_LOCK, "held", 0, &is_won);

    if (outcome == OUTCOME_OK)
        outcome = is_won ? read_then_write(sale, 0, GUARD_ANY, NULL) : OUTCOME_BUSY;
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX, and DEL in any case",
    .promise = "nothing: a planted bug",
    .breaks = "any sale that finds the key taken, and frees it",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
