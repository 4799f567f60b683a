/* Chapter 5, first step: the key's value names its holder, and the sale reads it before it deletes
 * the key. Like the article, it needs two commands. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>
#include <string.h>

/* After the sale it packs, under the lock. Packing takes as long as the work. */
static void tell_warehouse(struct sale *sale) {
    store_work(sale);
}

static void give_back(struct sale *sale, const char *token) {
    char holder[KV_TEXT];

    /* To do: the key was ours when we read it. Is it still ours when we delete it? */
    if (store_kv_get(sale, KEY_LOCK, holder) == OUTCOME_OK && strcmp(holder, token) == 0)
        (void)store_kv_delete(sale, KEY_LOCK);
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
    .summary = "SET NX PX with an owner; GET, and DEL if it is ours",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
