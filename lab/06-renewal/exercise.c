/* Chapter 6: a key with an owner. No sale deletes another sale's key. But the key still expires
 * during long work. */
#include "key_lock.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome work_and_write(struct sale *sale, const struct stock_row *seen) {
    /* To do: when the TTL is over, how does Redis know that the holder still lives? */
    store_work(sale);
    return store_write_stock(sale, seen, GUARD_ANY, NULL);
}

static enum outcome sell_one(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    return seen.available > 0 ? work_and_write(sale, &seen) : OUTCOME_SOLD_OUT;
}

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = sell_one(sale);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX with an owner; compare-and-delete",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
