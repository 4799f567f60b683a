/* Chapter 8: a key at one Redis with replicas. A replica hears of the key later. If the server fails
 * first, no replica ever does. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    /* To do: which server knows this key after the first server is gone? */
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX at one Redis; compare-and-delete",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .needs = NEEDS_REDLOCK,
    .default_shards = 1,
    .sell = sell,
};
