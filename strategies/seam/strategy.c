/* The part of a sale outside its strategy, the same for all strategies. */
#include "strategy.h"

#include "read_then_write.h"

#include <assert.h>
#include <stdio.h>

const char *sale_fault_name(enum sale_fault fault) {
    static const char *const names[] = {
#define X(name, text, meaning) text,
        SALE_FAULTS(X)
#undef X
    };

    assert(fault < FAULT_COUNT);
    return names[fault];
}

/* The strategy may have sold the repeat a unit that the ledger does not have yet. */
static bool is_in_doubt(const struct strategy *strategy, enum outcome outcome) {
    return strategy->prepare != NULL && (outcome == OUTCOME_BUSY || outcome == OUTCOME_FAILED);
}

/* This sale sold nothing. But a repeat may have its unit already, and a unit may have come back. */
static enum outcome look_further(const struct strategy *strategy, struct sale *sale,
                                 enum outcome outcome) {
    bool is_found = false;

    assert(outcome != OUTCOME_SOLD && !sale->is_in_transaction);
    if (sale->may_be_repeat && outcome != OUTCOME_REPEATED) {
        enum outcome looked = store_find_sale(sale, &is_found);

        if (is_found)
            return OUTCOME_REPEATED;
        if (looked != OUTCOME_OK || is_in_doubt(strategy, outcome))
            return OUTCOME_UNKNOWN; /* it may have its unit */
    }
    return outcome == OUTCOME_SOLD_OUT && !sale->options->is_cart ? store_take_returned(sale)
                                                                  : outcome;
}

enum outcome strategy_sell(const struct strategy *strategy, struct sale *sale) {
    enum outcome outcome =
        strategy->sell != NULL ? strategy->sell(sale) : lock_then_write(sale, strategy->lock);

    outcome = outcome_of_sale(sale, outcome, "answered");

    if (sale->is_in_transaction) {
        (void)store_end(sale, OUTCOME_FAILED);
        (void)snprintf(sale->message, MESSAGE_BYTES, "the strategy left its transaction open");
        outcome = OUTCOME_FAILED;
    }
    return outcome == OUTCOME_SOLD ? outcome : look_further(strategy, sale, outcome);
}
