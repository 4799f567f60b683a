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

/* Took a unit from the count of a stock row. A unit that was given back is sold again with nothing
 * remaining, and may have come back after the refusal; nor does the last of a count prove anything,
 * then, because it looks the same. */
static bool is_buyer(const struct judge *judge, const struct record *record) {
    const struct ledger_sale *sale = judge_find_sale(judge, judge_id(record));

    return sale != NULL && sale->remaining > 0 && record->sent_ns > 0;
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

/* The last buyer whose request was sent after the refusal had arrived. The count only falls, so
 * its unit was there at the refusal. */
static const struct record *last_buyer_after(const struct judge *judge,
                                             const struct record *refusal) {
    const struct record *last = NULL;

    for (size_t i = 0; i < judge->recorder->count; i++) {
        const struct record *record = &judge->recorder->records[i];

        if (record->sent_ns > refusal->received_ns && is_buyer(judge, record) &&
            (last == NULL || record->sent_ns > last->sent_ns))
            last = record;
    }
    return last;
}

static int64_t refusals_before(const struct recorder *recorder, int64_t sent_ns) {
    int64_t refusals = 0;

    for (size_t i = 0; i < recorder->count; i++)
        refusals += recorder->records[i].outcome == RECORD_SOLD_OUT &&
                    recorder->records[i].received_ns < sent_ns;
    return refusals;
}

static void find_early_sold_out(struct judge *judge) {
    const struct record *refusal = first_refusal(judge->recorder);
    const struct record *last = refusal ? last_buyer_after(judge, refusal) : NULL;

    if (last == NULL)
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
