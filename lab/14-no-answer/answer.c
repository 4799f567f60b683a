/* Chapter 14, an answer: after a write without an answer it writes again under the same key. Before
 * it says no, it looks for the key in the ledger. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

/* A write got no answer. Does the ledger have this order? Sold out is certain: no unit is left for a
 * late write. Any other no is not. */
static enum outcome look(struct sale *sale, enum outcome outcome) {
    bool is_found = false;

    if (outcome == OUTCOME_SOLD || outcome == OUTCOME_REPEATED)
        return outcome;
    if (store_find_sale(sale, &is_found) != OUTCOME_OK)
        return OUTCOME_UNKNOWN;
    if (is_found)
        return OUTCOME_REPEATED;
    return outcome == OUTCOME_SOLD_OUT ? OUTCOME_SOLD_OUT : OUTCOME_UNKNOWN;
}

static enum outcome sell(struct sale *sale) {
    bool is_in_doubt = false;
    enum outcome outcome;

    do {
        outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
        is_in_doubt = is_in_doubt || outcome == OUTCOME_UNKNOWN;
    } while (outcome == OUTCOME_UNKNOWN ||
             (outcome == OUTCOME_CONFLICT && store_pause(sale) == OUTCOME_OK));
    return is_in_doubt ? look(sale, outcome) : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "a version; asks the ledger before it says no",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
