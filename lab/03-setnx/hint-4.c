/* Chapter 3, second step: the holder lets the key expire. Like the article, it needs two commands.
 */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", 0);

    /* To do: what if the holder dies between these two lines? */
    if (outcome == OUTCOME_OK)
        outcome = store_kv_expire(sale, KEY_LOCK, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SETNX, then EXPIRE, DEL",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
