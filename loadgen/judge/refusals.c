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
 * returned unit may have come back after the last refusal and proves nothing. So many of those who
 * were refused could have been served. */
static void find_undersell(struct judge *judge, int64_t refusals) {
    int64_t left = 0;

    for (size_t i = 0; i < judge->row_count; i++)
        left += judge->rows[i].available > 0 ? judge->rows[i].available : 0;
    judge->left = left;
    judge->has_ended = refusals > 0 || left == 0;
    if (refusals > 0 && left > 0)
        judge_found(judge, ANOMALY_UNDERSELL, refusals < left ? refusals : left,
                    "%" PRId64 " requests were told sold out, and %" PRId64 " units are left",
                    refusals, left);
}

/* Sales whose request was sent after a refusal had arrived: the count only falls, so their units
 * were there at the refusal. */
struct later_sales {
    const struct ledger_sale *next, *latest; /* the first to be sent, and the last; NULL: none */
};

static struct later_sales find_later_sales(const struct judge *judge) {
    struct later_sales found = {NULL, NULL};

    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        const int64_t sent_ns = judge_buyer(judge, sale)->sent_ns;
        enum sale_kind kind = judge_sale_kind(judge, sale);

        if (sent_ns <= judge->refused_first->received_ns || kind == SALE_EITHER ||
            kind == SALE_AGAIN)
            continue;
        if (found.next == NULL || sent_ns < judge_buyer(judge, found.next)->sent_ns)
            found.next = sale;
        if (found.latest == NULL || sent_ns > judge_buyer(judge, found.latest)->sent_ns)
            found.latest = sale;
    }
    return found;
}

/* Those refused before the latest such buyer are counted. The evidence is the next one, and the
 * last refusal before it: these two are the closest in time. */
static void find_early_sold_out(struct judge *judge) {
    const struct later_sales later = find_later_sales(judge);
    const struct record *before = NULL;
    int64_t early = 0, next_ns, latest_ns;

    if (later.next == NULL)
        return;
    next_ns = judge_buyer(judge, later.next)->sent_ns;
    latest_ns = judge_buyer(judge, later.latest)->sent_ns;
    for (size_t i = 0; i < judge->request_count; i++) {
        const struct record *record = judge->requests[i];

        if (record->outcome != RECORD_SOLD_OUT)
            continue;
        early += record->received_ns < latest_ns;
        if (record->received_ns < next_ns &&
            (before == NULL || record->received_ns > before->received_ns))
            before = record;
    }
    assert(before != NULL && early > 0); /* refused_first is such a one */
    judge->refused_early = early;
    judge->early = (struct pair){.sales = {later.next}, .refusal = before};
    judge_found(judge, ANOMALY_EARLY_SOLD_OUT, early,
                "request %s was told sold out at %.3f s, and order %s, sent at %.3f s, got a unit",
                judge->refused_first->key, (double)judge->refused_first->received_ns / 1e9,
                later.latest->order_id, (double)latest_ns / 1e9);
}

void judge_refusals(struct judge *judge) {
    int64_t refusals = find_refusals(judge);

    find_undersell(judge, refusals);
    if (refusals > 0)
        find_early_sold_out(judge);
}
