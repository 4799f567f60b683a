/* The key's value is the instance, not the sale. Two sales of an instance look the same. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, sale->instance, sale->options->ttl_ms);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_VALUE, NULL);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, sale->instance);
    return outcome == OUTCOME_CONFLICT ? OUTCOME_SOLD_OUT : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "compare-and-delete with the instance as the owner",
    .promise = "nothing: a planted bug",
    .breaks = "a key that expires: the sale is told sold out while units are left",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
