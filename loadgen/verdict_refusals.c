/* What clients were refused: sold out while there were units. */
#include "verdict_internal.h"

#include <inttypes.h>

/* The count in a stock row only falls, so what is left at the end was there at every refusal. A
 * returned unit may have come back after the last refusal and proves nothing. */
static void find_undersell(struct judge *judge) {
    size_t refused = judge->recorder->by_outcome[RECORD_SOLD_OUT];

    if (refused > 0 && judge->ledger->available > 0)
        judge_found(judge, ANOMALY_UNDERSELL, judge->ledger->available,
                    "%zu customers were told sold out, and %" PRId64 " units are left", refused,
                    judge->ledger->available);
}

static bool is_buyer(const struct judge *judge, const struct record *record) {
    return record->outcome == RECORD_SOLD ||
           (record->outcome == RECORD_UNKNOWN && judge_find_sale(judge, record->key) != NULL);
}

static const struct record *first_refusal(const struct recorder *recorder) {
    const struct record *first = NULL;

    for (size_t i = 0; i < recorder->count; i++) {
        const struct record *record = &recorder->records[i];

        if (record->outcome == RECORD_SOLD_OUT &&
            (first == NULL || record->received_ns < first->received_ns))
            first = record;
    }
    return first;
}

/* Buyers whose request was sent after the refusal had arrived; *last becomes the last of them. */
static int64_t buyers_after(const struct judge *judge, const struct record *refusal,
                            const struct record **last) {
    int64_t buyers = 0;

    for (size_t i = 0; i < judge->recorder->count; i++) {
        const struct record *record = &judge->recorder->records[i];

        if (record->sent_ns <= refusal->received_ns || !is_buyer(judge, record))
            continue;
        buyers++;
        if (*last == NULL || record->sent_ns > (*last)->sent_ns)
            *last = record;
    }
    return buyers;
}

/* The most sales that may have been cancelled, and their units sold again later: order-svc answers
 * "busy" when it could not record the order and has given the unit back. */
static int64_t possible_returns(const struct judge *judge) {
    const size_t *by_outcome = judge->recorder->by_outcome;

    return judge->ledger->returned + (int64_t)by_outcome[RECORD_FAILED] +
           (int64_t)by_outcome[RECORD_BUSY] + (int64_t)by_outcome[RECORD_UNKNOWN] -
           judge->verdict->unknown_sold;
}

static int64_t refusals_before(const struct recorder *recorder, int64_t sent_ns) {
    int64_t refusals = 0;

    for (size_t i = 0; i < recorder->count; i++)
        refusals += recorder->records[i].outcome == RECORD_SOLD_OUT &&
                    recorder->records[i].received_ns < sent_ns;
    return refusals;
}

static void find_early_sold_out(struct judge *judge) {
    const struct record *refusal = first_refusal(judge->recorder), *last = NULL;

    if (refusal == NULL || buyers_after(judge, refusal, &last) <= possible_returns(judge))
        return;
    judge->verdict->refused_early = refusals_before(judge->recorder, last->sent_ns);
    judge_found(judge, ANOMALY_EARLY_SOLD_OUT, judge->verdict->refused_early,
                "request %s was told sold out at %.3f s, and order %s, sent at %.3f s, got a unit",
                refusal->key, (double)refusal->received_ns / 1e9, judge_id(last),
                (double)last->sent_ns / 1e9);
}

void judge_refusals(struct judge *judge) {
    find_undersell(judge);
    find_early_sold_out(judge);
}
