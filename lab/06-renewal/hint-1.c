/* Chapter 6, first step: a TTL that outlasts the work, as in chapter 4. The customers behind a dead
 * holder wait just as long. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    /* To do: the waiters need a short TTL, the worker needs a long one. How can you have both? */
    outcome = key_lock_win(sale, token, 2 * sale->options->work_ms + 1000);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX longer than the work; compare-and-delete",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
