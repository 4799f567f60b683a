/* What clients were refused: sold out while there were units. */
#include "judge.h"

#include <assert.h>
#include <inttypes.h>

/* The first refusal and the last to arrive; returns how many there are. */
static int64_t find_refusals(struct judge *judge) {
    int64_t count = 0;

    for (size_t i = 0; i < judge->request_count; i++) {
        const struct record *record = judge->requests[i];

        if (record->outcome != RECORD_SOLD_OUT)
            continue;
        count++;
        if (judge->refused_first == NULL || record->received_ns < judge->refused_first->received_ns)
            judge->refused_first = record;
        if (judge->refused_last == NULL || record->received_ns > judge->refused_last->received_ns)
            judge->refused_last = record;
    }
    return count;
}

/* The count in a stock row only falls, so what is left at the end was there at every refusal. A
 * returned unit may have come back after the last refusal and proves nothing. */
static void find_undersell(struct judge *judge, int64_t refusals) {
    if (refusals == 0 || judge->ledger->available <= 0)
        return;
    judge_found(judge, ANOMALY_UNDERSELL, judge->ledger->available,
                "%" PRId64 " customers were told sold out, and %" PRId64 " units are left",
                refusals, judge->ledger->available);
}

/* Buyers whose request was sent after a refusal had arrived: the count only falls, so their units
 * were there at the refusal. */
struct later_buyers {
    const struct purchase *next, *latest; /* the first to be sent, and the last; NULL: none */
};

static struct later_buyers find_later_buyers(const struct judge *judge) {
    struct later_buyers found = {NULL, NULL};

    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct purchase *buyer = &judge->purchases[i];

        if (buyer->sent_ns <= judge->refused_first->received_ns || buyer->sale == NULL ||
            !judge_is_counted(judge, buyer->sale))
            continue;
        if (found.next == NULL || buyer->sent_ns < found.next->sent_ns)
            found.next = buyer;
        if (found.latest == NULL || buyer->sent_ns > found.latest->sent_ns)
            found.latest = buyer;
    }
    return found;
}

/* Those refused before the latest such buyer are counted. The evidence is the next one, and the
 * last refusal before it: these two are the closest in time. */
static void find_early_sold_out(struct judge *judge) {
    const struct later_buyers buyers = find_later_buyers(judge);
    const struct record *before = NULL;
    int64_t early = 0;

    if (buyers.next == NULL)
        return;
    for (size_t i = 0; i < judge->request_count; i++) {
        const struct record *record = judge->requests[i];

        if (record->outcome != RECORD_SOLD_OUT)
            continue;
        early += record->received_ns < buyers.latest->sent_ns;
        if (record->received_ns < buyers.next->sent_ns &&
            (before == NULL || record->received_ns > before->received_ns))
            before = record;
    }
    assert(before != NULL && early > 0); /* refused_first is such a one */
    judge->refused_early = early;
    judge->early = (struct pair){.sales = {buyers.next->sale}, .refusal = before};
    judge_found(judge, ANOMALY_EARLY_SOLD_OUT, early,
                "request %s was told sold out at %.3f s, and order %s, sent at %.3f s, got a unit",
                judge->refused_first->key, (double)judge->refused_first->received_ns / 1e9,
                buyers.latest->id, (double)buyers.latest->sent_ns / 1e9);
}

void judge_refusals(struct judge *judge) {
    int64_t refusals = find_refusals(judge);

    find_undersell(judge, refusals);
    if (refusals > 0)
        find_early_sold_out(judge);
}
