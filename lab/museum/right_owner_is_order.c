/* Right. The order is the key's owner, and each way out compares and deletes. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, sale->order_id, sale->options->ttl_ms);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    if (outcome != OUTCOME_SOLD) {
        (void)store_kv_delete_if_equal(sale, KEY_LOCK, sale->order_id);
        return outcome;
    }
    store_work(sale);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, sale->order_id);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX PX with the order for an owner",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
