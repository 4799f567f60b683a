/* Chapter 3, an answer: one command, SET NX PX, sets the key and its TTL. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", sale->options->ttl_ms);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX, DEL",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
