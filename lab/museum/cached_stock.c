/* Keeps the stock in Redis for 50 ms, to spare the database. */
#include "strategy.h"

#include <stdio.h>

static enum outcome read_cached(struct sale *sale, struct stock_row *seen) {
    char text[KV_TEXT];
    bool was_set;
    int cached;
    enum outcome outcome = store_kv_get(sale, "cache", text);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_read_stock(sale, 0, seen);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (sscanf(text, "%d", &cached) == 1) {
        seen->available = cached;
        seen->unit = seen->first_unit + seen->available - 1;
        return OUTCOME_OK;
    }
    (void)snprintf(text, sizeof text, "%d", (int)seen->available);
    return store_kv_set_absent(sale, "cache", text, 50, &was_set);
}

static enum outcome sell(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = read_cached(sale, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    return seen.available <= 0 ? OUTCOME_SOLD_OUT : store_write_stock(sale, &seen, GUARD_ANY, NULL);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "reads the count from a cache that lives 50 ms",
    .promise = "nothing: a planted bug",
    .breaks = "any sale within 50 ms of another",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
