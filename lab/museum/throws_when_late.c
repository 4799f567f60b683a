/* A token for each sale. If the key is not the sale's own at the end, it answers FAILED, like an
 * exception. But the unit is sold. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome give_back(struct sale *sale, const char *token, enum outcome outcome) {
    struct kv_call delete = {KV_DELETE_IF_EQUAL, .key = KEY_LOCK, .value = token};

    if (store_kv(sale, &delete) == OUTCOME_OK && !delete.is_yes)
        return OUTCOME_FAILED;
    return outcome;
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
        store_work(sale); /* it packs */
    return give_back(sale, token, outcome);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX PX with an owner; FAILED if the key is not its own at the end",
    .promise = "nothing: a planted bug",
    .breaks = "a lease that ends before the release: a customer with a unit is told no",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
