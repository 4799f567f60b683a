/* Wrong: two sales of one instance have one owner token, so the late one frees the other's key. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, sale->instance, sale->options->ttl_ms);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    if (outcome == OUTCOME_SOLD)
        store_work(sale);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, sale->instance);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "a key with the instance's name as its owner",
    .promise = "each unit once",
    .breaks = "a sale that outlives its key, at an instance with two sales",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
