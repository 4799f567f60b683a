/* What a sale does beside its strategy, whatever that is. */
#include "strategy.h"

#include <assert.h>

/* Nothing sold now. But a repeat may have its unit already, and a unit may have come back. */
static enum outcome look_further(struct sale *sale, enum outcome outcome, bool may_be_repeat) {
    bool is_found = false;

    if (may_be_repeat && outcome != OUTCOME_REPEATED) {
        enum outcome looked = store_find_sale(sale, &is_found);

        if (is_found)
            return OUTCOME_REPEATED;
        if (looked != OUTCOME_OK)
            return OUTCOME_UNKNOWN; /* it may have its unit */
    }
    return outcome == OUTCOME_SOLD_OUT ? store_take_returned(sale) : outcome;
}

enum outcome strategy_sell(const struct strategy *strategy, struct sale *sale, bool may_be_repeat) {
    enum outcome outcome = strategy->sell(sale);

    assert(outcome != OUTCOME_OK);
    return outcome == OUTCOME_SOLD ? outcome : look_further(sale, outcome, may_be_repeat);
}
