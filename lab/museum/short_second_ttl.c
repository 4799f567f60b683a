/* Takes the time that it has waited off the TTL of its key. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

#define LATE_MS 1500

static enum outcome win(struct sale *sale) {
    const int64_t whole = sale->options->work_ms + LATE_MS;
    bool is_won = false;
    int64_t left = whole;
    enum outcome outcome = store_kv_set_absent(sale, KEY_LOCK, "held", whole, &is_won);

    while (outcome == OUTCOME_OK && !is_won) {
        outcome = store_pause(sale);
        left = left > whole / 2 ? whole / 3 : left;
        if (outcome == OUTCOME_OK)
            outcome = store_kv_set_absent(sale, KEY_LOCK, "held", left, &is_won);
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
    .summary = "SET NX PX; an order that waited gets a third of the TTL",
    .promise = "nothing: a planted bug",
    .breaks = "long work of the second order",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
