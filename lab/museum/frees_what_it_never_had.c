/* Deletes the key even if it never won it. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", sale->options->ttl_ms);

    if (outcome == OUTCOME_OK)
        outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "deletes the key even if it never won it",
    .promise = "nothing: a planted bug",
    .breaks = "a customer that gives up frees the lock of another",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
