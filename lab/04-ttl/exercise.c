/* Chapter 4: a key that expires. But when? Its author measured once, and chose half a second. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

#define TTL_MS 500

static enum outcome sell(struct sale *sale) {
    /* To do: the work may take longer than that. Does this sale still hold the lock then? */
    enum outcome outcome = key_lock_win(sale, "held", TTL_MS);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX 500, DEL",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
