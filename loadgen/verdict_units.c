/* What the ledger alone shows: units sold twice, units that never were, units that went missing. */
#include "verdict_internal.h"

#include <inttypes.h>
#include <string.h>

/* HH:MM:SS.mmm within an ISO time. */
static const char *clock_part(const char *at) {
    return strlen(at) >= 23 ? at + 11 : at;
}

static void tell_twin(struct judge *judge, const struct ledger_sale *a,
                      const struct ledger_sale *b) {
    judge_found(judge, ANOMALY_TWIN, 1,
                "unit %" PRId64 " sold twice: order %s by %s at %.12s, order %s by %s at %.12s",
                a->unit, a->order_id, a->instance, clock_part(a->at), b->order_id, b->instance,
                clock_part(b->at));
}

static void find_twins(struct judge *judge) {
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        if (i == 0 || judge->by_unit[i]->unit != judge->by_unit[i - 1]->unit)
            judge->verdict->distinct++;
        else
            tell_twin(judge, judge->by_unit[i - 1], judge->by_unit[i]);
    }
}

/* Sales beyond the stock, or of units beyond it, whichever are more: they may be the same sales. */
static void find_oversell(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    int64_t beyond = (int64_t)ledger->sale_count - ledger->initial;
    int64_t outside = 0;
    const struct ledger_sale *first = NULL;

    for (size_t i = 0; i < ledger->sale_count; i++) {
        if (ledger->sales[i].unit >= 1 && ledger->sales[i].unit <= ledger->initial)
            continue;
        outside++;
        first = first ? first : &ledger->sales[i];
    }
    if (beyond > 0 && beyond >= outside)
        judge_found(judge, ANOMALY_OVERSELL, beyond, "%zu sold of a stock of %" PRId64,
                    ledger->sale_count, ledger->initial);
    else if (outside > 0)
        judge_found(
            judge, ANOMALY_OVERSELL, outside,
            "unit %" PRId64 " sold, and the stock is 1 to %" PRId64 ": order %s by %s at %.12s",
            first->unit, ledger->initial, first->order_id, first->instance, clock_part(first->at));
}

/* A unit sold twice counts once here: that is a TWIN, and a leak only when more is missing. */
static void find_leak(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    int64_t sum = ledger->available + ledger->returned + ledger->units;

    if (sum == ledger->initial)
        return;
    judge_found(judge, ANOMALY_LEAK,
                sum > ledger->initial ? sum - ledger->initial : ledger->initial - sum,
                "%" PRId64 " left + %" PRId64 " returned + %" PRId64 " units sold is %" PRId64
                ", not %" PRId64,
                ledger->available, ledger->returned, ledger->units, sum, ledger->initial);
}

static void find_double_rows(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    for (size_t i = 1; i < ledger->sale_count; i++) {
        if (strcmp(ledger->sales[i - 1].order_id, ledger->sales[i].order_id) == 0)
            judge_found(judge, ANOMALY_DUPLICATE, 1,
                        "order %s has two ledger rows: units %" PRId64 " and %" PRId64,
                        ledger->sales[i].order_id, ledger->sales[i - 1].unit,
                        ledger->sales[i].unit);
    }
}

void judge_units(struct judge *judge) {
    find_twins(judge);
    find_oversell(judge);
    find_leak(judge);
    find_double_rows(judge);
}
