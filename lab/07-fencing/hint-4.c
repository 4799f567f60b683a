/* Chapter 7, second step: each lease has a number, from a counter. The row keeps the highest number
 * that wrote, and refuses a lower one. */
#include "key_lock.h"
#include "strategy.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

static int64_t number_of(const char *text) {
    int64_t number = 0;

    (void)sscanf(text, "%" SCNd64, &number);
    return number;
}

static enum outcome next_number(struct sale *sale, int64_t *number) {
    struct kv_call count = {KV_COUNT, .key = "number"};
    enum outcome outcome = store_kv(sale, &count);

    *number = number_of(count.reply);
    return outcome;
}

static enum outcome sell_one(struct sale *sale, int64_t number) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    seen.token = number;
    return store_write_stock(sale, &seen, GUARD_FENCE, NULL);
}

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;
    int64_t number;

    store_random_token(sale, token);
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    /* To do: between the key and its number another sale can win, and get the lower number. */
    outcome = next_number(sale, &number);
    if (outcome == OUTCOME_OK)
        outcome = sell_one(sale, number);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX with an owner, then INCR; a row that refuses older numbers",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
