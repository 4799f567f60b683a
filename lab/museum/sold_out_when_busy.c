/* Answers sold out if it does not win the lock at once. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    bool is_won;
    enum outcome outcome = store_kv_set_absent(sale, KEY_LOCK, "held", 0, &is_won);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (!is_won)
        return OUTCOME_SOLD_OUT;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX; if the key is taken, it answers sold out",
    .promise = "nothing: a planted bug",
    .breaks = "any two sales at the same time",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
