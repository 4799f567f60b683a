/* Chapter 6, first step: work in pieces of a third of the TTL. After each piece the key gets its
 * whole TTL again. */
#include "key_lock.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome renew(struct sale *sale) {
    /* To do: this renews any key, also another sale's. */
    return store_kv_expire(sale, KEY_LOCK, sale->options->ttl_ms);
}

static enum outcome work_and_write(struct sale *sale, const struct stock_row *seen) {
    enum outcome outcome = OUTCOME_OK;
    bool is_left = true;

    while (is_left && outcome == OUTCOME_OK) {
        is_left = store_work_for(sale, sale->options->ttl_ms / 3);
        outcome = renew(sale);
    }
    return outcome == OUTCOME_OK ? store_write_stock(sale, seen, GUARD_ANY, NULL) : outcome;
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
    .summary = "SET NX PX with an owner; PEXPIRE while it works; compare-and-delete",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
