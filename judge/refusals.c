/* What clients were refused while there were units: they were told sold out, or at the end nobody
 * was sold anything any more.
 *
 * STUCK: a lock that nobody will ever give back. The demand for a product lasts from the first of
 * its requests that was sent to the last, or until the last of those who were told busy or an error
 * was told so: he waited until then. Nothing was sold in the last --stuck-after of it, nor later,
 * while
 * - 30 attempts at least were made in that span: keys without a unit whose request was told busy,
 *   an error or that the outcome is unknown, or not answered. When none of them was answered at
 *   all, the target does not answer, and that is no lock. A bad request wanted nothing;
 * - nobody was told yes or sold out from the span's beginning on: who was told so had his turn.
 *   A sale that was not answered counts by the ledger's clock, and without one as if it were late;
 * - the lock is not known to have changed hands in that span (is_turn_taken);
 * - units were left that had never been sold: there they had been all the time;
 * - the demand lasted twice as long at least, since the last moment, too, at which a server was
 *   known to be down: a new start takes some time;
 * - the round was not stopped. Then the answers are cut off that would have shown another sale.
 * It is said of a product, not of a stock row: where another row still sells, the product does. */
#include "judge.h"
#include "verdict.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* A unit that is left at the end and never was sold was there at every refusal. A unit that came
 * back may have done so after the last refusal, and is not counted. So many of the refused
 * customers could have bought. */
static void find_undersell(struct judge *judge, int64_t refusals) {
    int64_t left = 0;

    for (size_t i = 0; i < judge->row_count; i++)
        if (judge->rows[i].available > 0)
            left += judge->rows[i].available;
    judge->has_ended = left == 0 || refusals > 0;
    judge->left = left;
    if (refusals > 0 && left > 0)
        judge_found(judge, ANOMALY_UNDERSELL, refusals < left ? refusals : left,
                    "%" PRId64 " requests were told sold out, and %" PRId64 " units are left",
                    refusals, left);
}

/* Sales whose request was sent after a refusal had arrived, and whose units never came back: they
 * were there at the refusal. Of those that may have come back, rows.c says how many cannot. */
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

/* Those refused before the latest buyer are counted. The evidence is the next one, and the last
 * refusal before it: these two are the closest in time. */
void judge_early(struct judge *judge, const struct ledger_sale *next,
                 const struct ledger_sale *latest) {
    const int64_t next_ns = judge_buyer(judge, next)->sent_ns;
    const int64_t latest_ns = judge_buyer(judge, latest)->sent_ns;
    const struct record *before = NULL;
    int64_t early = 0;

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
    judge->early = (struct pair){.sales = {next}, .refusal = before};
    judge_found(judge, ANOMALY_EARLY_SOLD_OUT, early,
                "request %s was told sold out at %.3f s, and order %s, sent at %.3f s, got a unit",
                judge->refused_first->key, (double)judge->refused_first->received_ns / 1e9,
                latest->order_id, (double)latest_ns / 1e9);
}

static void find_early_sold_out(struct judge *judge) {
    const struct later_sales later = find_later_sales(judge);

    if (later.next != NULL)
        judge_early(judge, later.next, later.latest);
}

/* ---- STUCK */

static bool is_sold_since(const struct judge *judge, const struct ledger_sale *sale,
                          int64_t from_ns) {
    const struct buyer *buyer = judge_buyer(judge, sale);
    const int64_t at_us = ledger_time_us(sale->at);

    if (buyer->answered_ns != LINEAR_NEVER || at_us < 0 || judge->ledger_start_us == 0)
        return buyer->answered_ns >= from_ns;
    return at_us >= judge->ledger_start_us + from_ns / 1000;
}

/* Somebody had his turn. */
static bool is_any_served_since(const struct judge *judge, int64_t from_ns) {
    for (size_t i = 0; i < judge->ledger->sale_count; i++)
        if (is_sold_since(judge, &judge->ledger->sales[i], from_ns))
            return true;
    for (size_t i = 0; i < judge->purchase_count; i++)
        if (judge->purchases[i].yes != NULL && judge->purchases[i].answered_ns >= from_ns)
            return true;
    return judge->refused_last != NULL && judge->refused_last->received_ns >= from_ns;
}

/* A change this soon after the beginning of the span is not told from the time that the first
 * refusal takes. */
#define KEPT_SLACK_PART 10

/* The customer was turned away in the span, and knows that others did not keep the lock all the
 * time: he had it himself and gave it back, or it was kept for less than he waited in the span.
 * Where he had the lock of one shard, and was refused that of the next, the latter counts. */
static bool tells_of_turn(const struct record *record, const struct stuck *stuck) {
    const struct record_cost *cost = &record->cost;
    const int64_t begun_ns = record->received_ns - (int64_t)cost->wait_us * 1000;
    const int64_t kept_ns = record->received_ns - (int64_t)cost->kept_us * 1000;
    const int64_t slack_ns = (stuck->to_ns - stuck->from_ns) / KEPT_SLACK_PART;

    if (record->received_ns < stuck->from_ns ||
        (record->outcome != RECORD_BUSY && record->outcome != RECORD_FAILED))
        return false;
    if (cost->kept_us < 0)
        return cost->hold_us >= 0;
    return cost->wait_us >= 0 && begun_ns <= stuck->from_ns && kept_ns > stuck->from_ns + slack_ns;
}

/* The lock changed hands: by what customers were told, or by the results of raw commands. */
static bool is_turn_taken(const struct judge *judge, const struct stuck *stuck) {
    for (size_t i = 0; i < judge->request_count; i++)
        if (tells_of_turn(judge->requests[i], stuck))
            return true;
    for (size_t i = 0; judge->events != NULL && i < judge->events->count; i++) {
        const struct event *event = &judge->events->items[i];

        if (event->item == judge->item && event->at_ns >= stuck->from_ns &&
            event->result == EVENT_YES && (event_takes_lock(event) || event_frees_lock(event)))
            return true;
    }
    return false;
}

/* Until when its customer wanted a unit, as far as is known: a reply that is missing may have been
 * lost at any time. */
static int64_t wanted_until(const struct record *record) {
    return record->outcome == RECORD_BUSY || record->outcome == RECORD_FAILED ? record->received_ns
                                                                              : record->sent_ns;
}

/* The last request of this customer in the span, when he was turned away; else NULL. */
static const struct record *find_attempt(const struct purchase *purchase, int64_t from_ns) {
    for (size_t i = purchase->count; i-- > 0 && purchase->sale == NULL && purchase->yes == NULL;) {
        const struct record *record = purchase->requests[i];

        if (wanted_until(record) >= from_ns &&
            (record->outcome == RECORD_BUSY || record->outcome == RECORD_FAILED ||
             record->outcome == RECORD_UNKNOWN))
            return record;
    }
    return NULL;
}

/* How many attempts were made in the span; 0 when none of them was answered. */
static int64_t count_attempts(const struct judge *judge, struct stuck *stuck) {
    bool is_any_answered = false;
    int64_t count = 0;

    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct record *record = find_attempt(&judge->purchases[i], stuck->from_ns);

        if (record == NULL)
            continue;
        count++;
        stuck->told[record->outcome]++;
        is_any_answered =
            is_any_answered || record->outcome != RECORD_UNKNOWN || record->status != 0;
        if (stuck->attempt == NULL || record->sent_ns > stuck->attempt->sent_ns)
            stuck->attempt = record;
    }
    return is_any_answered ? count : 0;
}

/* The end of the demand: false when it was too short to show anything. */
static bool find_span(const struct judge *judge, struct stuck *stuck) {
    int64_t first_ns = INT64_MAX, last_ns = 0;

    for (size_t i = 0; i < judge->request_count; i++) {
        const struct record *record = judge->requests[i];

        if (record->sent_ns > 0 && record->sent_ns < first_ns)
            first_ns = record->sent_ns;
        if (wanted_until(record) > last_ns)
            last_ns = wanted_until(record);
    }
    if (judge->down_until_ns > first_ns)
        first_ns = judge->down_until_ns;
    stuck->from_ns = last_ns - judge->stuck_ns;
    stuck->to_ns = last_ns;
    return stuck->from_ns - judge->stuck_ns >= first_ns;
}

static const struct ledger_sale *find_last_sale(const struct judge *judge) {
    const struct ledger_sale *last = NULL;

    for (size_t i = 0; i < judge->ledger->sale_count; i++)
        if (last == NULL || strcmp(judge->ledger->sales[i].at, last->at) > 0)
            last = &judge->ledger->sales[i];
    return last;
}

static int64_t count_since(const struct judge *judge, const struct ledger_sale *last) {
    int64_t count = 0;

    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct record *record = find_attempt(&judge->purchases[i], 0);

        count += record != NULL && (last == NULL || !is_sold_since(judge, last, record->sent_ns));
    }
    return count;
}

static void find_stuck(struct judge *judge) {
    struct stuck *stuck = &judge->stuck;
    int64_t attempts;

    if (judge->is_stopped || judge->left == 0 ||
        judge->ledger->counted != (int64_t)judge->ledger->sale_count || !find_span(judge, stuck) ||
        is_any_served_since(judge, stuck->from_ns) || is_turn_taken(judge, stuck))
        return;
    attempts = count_attempts(judge, stuck);
    if (attempts < VERDICT_STUCK)
        return;
    stuck->last = find_last_sale(judge);
    stuck->since = count_since(judge, stuck->last);
    judge_found(judge, ANOMALY_STUCK, attempts,
                "from %.3f s to %.3f s, the end of the demand, %" PRId64
                " customers wanted a unit and nothing was sold, with %" PRId64 " units left",
                (double)stuck->from_ns / 1e9, (double)stuck->to_ns / 1e9, attempts, judge->left);
}

void judge_refusals(struct judge *judge) {
    int64_t refusals = find_refusals(judge);

    find_undersell(judge, refusals);
    if (refusals > 0)
        find_early_sold_out(judge);
    find_stuck(judge);
}
