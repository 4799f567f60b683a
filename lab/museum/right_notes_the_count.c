/* It gives its key back and notes the number of units that it saw, in one script. So its calls have a
 * number of the row in a text. */
#include "key_lock.h"
#include "store.h"
#include "strategy.h"

#include <inttypes.h>
#include <stdio.h>

static void give_back(struct sale *sale, const char *token, int64_t count) {
    char text[KV_TEXT];
    struct kv_call note = {KV_SET_ABSENT, .key = "seen", .value = text,
                           .ttl_ms = sale->options->ttl_ms};
    struct kv_call drop = {KV_DELETE_IF_EQUAL, .key = KEY_LOCK, .value = token, .then = &note};

    (void)snprintf(text, sizeof text, "%" PRId64, count);
    (void)store_kv(sale, &drop);
}

static enum outcome sell_one(struct sale *sale, int64_t *count) {
    struct stock_row row;
    enum outcome outcome = store_read_stock(sale, 0, &row);

    if (outcome != OUTCOME_OK)
        return outcome;
    *count = row.available;
    if (row.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, &row, GUARD_ANY, NULL);
}

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    int64_t count = 0;
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = sell_one(sale, &count);
    if (outcome == OUTCOME_SOLD)
        store_work(sale);
    give_back(sale, token, count);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX PX with an owner; a script that gives it back and notes the count",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
