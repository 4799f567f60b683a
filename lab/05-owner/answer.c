/* Chapter 5, an answer: a script compares and deletes. Redis runs a script as one command. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

/* After the sale it packs, under the lock. Packing takes as long as the work. */
static void tell_warehouse(struct sale *sale) {
    store_work(sale);
}

static void give_back(struct sale *sale, const char *token) {
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
}

static enum outcome sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    if (outcome == OUTCOME_SOLD)
        tell_warehouse(sale);
    give_back(sale, token);
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
