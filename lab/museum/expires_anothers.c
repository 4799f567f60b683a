/* Like the article, it sends EXPIRE also if it did not win the key. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome win(struct sale *sale) {
    bool is_won = false;
    enum outcome outcome = store_kv_set_absent(sale, KEY_LOCK, "held", 0, &is_won);

    while (outcome == OUTCOME_OK) {
        outcome = store_kv_expire(sale, KEY_LOCK, sale->options->ttl_ms);
        if (is_won || outcome != OUTCOME_OK)
            return outcome;
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = store_kv_set_absent(sale, KEY_LOCK, "held", 0, &is_won);
    }
    return outcome;
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = win(sale);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SETNX, then EXPIRE, also without the key",
    .promise = "nothing: a planted bug",
    .breaks = "a crash of the holder: each waiting sale gives its key more time",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
