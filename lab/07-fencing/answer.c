/* Chapter 7, an answer: one script sets the key and counts, so the numbers have the order of the
 * leases. The row refuses a write with an older number than it has seen. */
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

/* OK, and then `*number`, which is 0 while another sale holds the key. */
static enum outcome try_to_win(struct sale *sale, const char *token, int64_t *number) {
    struct kv_call count = {KV_COUNT, .key = "number"};
    struct kv_call set = {KV_SET_ABSENT, .key = KEY_LOCK, .value = token,
                          .ttl_ms = sale->options->ttl_ms, .then = &count};
    enum outcome outcome = store_kv(sale, &set);

    *number = number_of(count.reply);
    return outcome;
}

static enum outcome win(struct sale *sale, const char *token, int64_t *number) {
    enum outcome outcome = try_to_win(sale, token, number);

    while (outcome == OUTCOME_OK && *number == 0) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_to_win(sale, token, number);
    }
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
    outcome = win(sale, token, &number);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = sell_one(sale, number);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX and INCR in one script; a row that refuses older numbers",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
