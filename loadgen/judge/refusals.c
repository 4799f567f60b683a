/* What clients were refused: sold out while there were units. */
#include "judge.h"

#include <inttypes.h>

typedef void (*on_refusal)(struct judge *judge, const struct record *record, void *data);

static void each_refusal(struct judge *judge, on_refusal visit, void *data) {
    for (size_t i = 0; i < judge->purchase_count; i++)
        for (size_t r = 0; r < judge->purchases[i].count; r++)
            if (judge->purchases[i].requests[r]->outcome == RECORD_SOLD_OUT)
                visit(judge, judge->purchases[i].requests[r], data);
}

struct refusals {
    int64_t count, early;          /* all; those received before `last_sent_ns` */
    const struct record *before;   /* the last to arrive before `next` was sent */
    const struct purchase *next;   /* the first buyer sent after the first refusal had arrived */
    const struct purchase *latest; /* the last such buyer */
};

static void find_ends(struct judge *judge, const struct record *record, void *data) {
    struct refusals *refusals = data;

    refusals->count++;
    if (judge->refused_first == NULL || record->received_ns < judge->refused_first->received_ns)
        judge->refused_first = record;
    if (judge->refused_last == NULL || record->received_ns > judge->refused_last->received_ns)
        judge->refused_last = record;
}

/* The count in a stock row only falls, so what is left at the end was there at every refusal. A
 * returned unit may have come back after the last refusal and proves nothing. */
static void find_undersell(struct judge *judge, const struct refusals *refusals) {
    if (refusals->count == 0 || judge->ledger->available <= 0)
        return;
    judge_found(judge, ANOMALY_UNDERSELL, judge->ledger->available,
                "%" PRId64 " customers were told sold out, and %" PRId64 " units are left",
                refusals->count, judge->ledger->available);
}

/* A buyer whose request was sent after a refusal had arrived: the count only falls, so its unit
 * was there at the refusal. */
static void find_later_buyers(struct judge *judge, struct refusals *refusals) {
    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct purchase *buyer = &judge->purchases[i];

        if (buyer->sent_ns <= judge->refused_first->received_ns || buyer->sale == NULL ||
            !judge_is_counted(judge, buyer->sale))
            continue;
        if (refusals->next == NULL || buyer->sent_ns < refusals->next->sent_ns)
            refusals->next = buyer;
        if (refusals->latest == NULL || buyer->sent_ns > refusals->latest->sent_ns)
            refusals->latest = buyer;
    }
}

static void count_early(struct judge *judge, const struct record *record, void *data) {
    struct refusals *refusals = data;

    (void)judge;
    refusals->early += record->received_ns < refusals->latest->sent_ns;
    if (record->received_ns < refusals->next->sent_ns &&
        (refusals->before == NULL || record->received_ns > refusals->before->received_ns))
        refusals->before = record;
}

static void find_early_sold_out(struct judge *judge, struct refusals *refusals) {
    if (judge->refused_first == NULL)
        return;
    find_later_buyers(judge, refusals);
    if (refusals->next == NULL)
        return;
    each_refusal(judge, count_early, refusals);
    judge->verdict->refused_early += refusals->early;
    judge->early = (struct pair){.sales = {refusals->next->sale}, .refusal = refusals->before};
    judge_found(judge, ANOMALY_EARLY_SOLD_OUT, refusals->early,
                "request %s was told sold out at %.3f s, and order %s, sent at %.3f s, got a unit",
                judge->refused_first->key, (double)judge->refused_first->received_ns / 1e9,
                refusals->latest->id, (double)refusals->latest->sent_ns / 1e9);
}

void judge_refusals(struct judge *judge) {
    struct refusals refusals = {0};

    each_refusal(judge, find_ends, &refusals);
    find_undersell(judge, &refusals);
    find_early_sold_out(judge, &refusals);
}
