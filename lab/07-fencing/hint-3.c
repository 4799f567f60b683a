/* Chapter 7, first step: look at the key just before the write. A holder that stops after this look
 * still writes. */
#include "key_lock.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome is_mine(struct sale *sale, const char *token) {
    struct kv_call mine = {KV_IS, .key = KEY_LOCK, .value = token};
    enum outcome outcome = store_kv(sale, &mine);

    return outcome == OUTCOME_OK && !mine.is_yes ? OUTCOME_BUSY : outcome;
}

static enum outcome sell_one(struct sale *sale, const char *token) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = is_mine(sale, token);
    /* To do: the look is here, but the write happens at the row. What could the row compare? */
    return outcome == OUTCOME_OK ? store_write_stock(sale, &seen, GUARD_ANY, NULL) : outcome;
}

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = sell_one(sale, token);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX with an owner, looked at before the write; compare-and-delete",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
