/* The key's name has the instance in it, so each instance has a lock of its own. */
#include "read_then_write.h"
#include "strategy.h"

#include <stdio.h>

static enum outcome win(struct sale *sale, const char *key) {
    bool is_won = false;
    enum outcome outcome = store_kv_set_absent(sale, key, "held", 0, &is_won);

    while (outcome == OUTCOME_OK && !is_won) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = store_kv_set_absent(sale, key, "held", 0, &is_won);
    }
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    char key[KV_TEXT];
    enum outcome outcome;

    (void)snprintf(key, sizeof key, "lock-%s", sale->instance);
    outcome = win(sale, key);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, key);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX of a key per instance",
    .promise = "nothing: a planted bug",
    .breaks = "a second instance",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
