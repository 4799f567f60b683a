/* The key and the owner have texts that could be the name of an instance or the end of an id. */
#include "store.h"
#include "strategy.h"

#include <stdio.h>

#define KEY "inventory-1 inventory-4 inventory-6"

static enum outcome win(struct sale *sale, const char *owner) {
    bool was_set = false;
    enum outcome outcome = store_kv_set_absent(sale, KEY, owner, sale->options->ttl_ms, &was_set);

    while (outcome == OUTCOME_OK && !was_set) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = store_kv_set_absent(sale, KEY, owner, sale->options->ttl_ms, &was_set);
    }
    return outcome;
}

static enum outcome sell_one(struct sale *sale) {
    struct stock_row row;
    enum outcome outcome = store_read_stock(sale, 0, &row);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (row.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    return store_write_stock(sale, &row, GUARD_ANY, NULL);
}

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT], owner[KV_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    (void)snprintf(owner, sizeof owner, "%012d:%s", 1, token);
    outcome = win(sale, owner);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = sell_one(sale);
    if (outcome == OUTCOME_SOLD)
        store_work(sale);
    (void)store_kv_delete_if_equal(sale, KEY, owner);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX PX with an owner; both have texts like names",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
