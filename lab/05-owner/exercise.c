/* Chapter 5: a key that expires, and that the sale deletes at its end. Which sale holds the key by
 * then? */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

/* After the sale it packs, under the lock. Packing takes as long as the work. */
static void tell_warehouse(struct sale *sale) {
    store_work(sale);
}

static void give_back(struct sale *sale) {
    /* To do: if this sale is late, it deletes the next holder's key. */
    (void)store_kv_delete(sale, KEY_LOCK);
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", sale->options->ttl_ms);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    if (outcome == OUTCOME_SOLD)
        tell_warehouse(sale);
    give_back(sale);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX, DEL without a check",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
