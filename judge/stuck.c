/* The rule for the end of the demand.
 *
 * STUCK is a lock that nobody will ever give back. The demand for a product lasts from its first
 * request to its last, or until the last busy or error answer if that is later: that customer
 * waited until then. The product is STUCK if nothing was sold in the last --stuck-after of the
 * demand (the span), nor later, and
 * - at least 30 attempts were made in the span: keys without a unit with a request that was told
 *   busy or an error, or has an unknown outcome. At least one of them was answered: if none was,
 *   the target hangs, and that is no lock. A bad request wants nothing, and status 429 is a limit
 *   of the rate;
 * - nobody was told yes or sold out from the span's beginning on: such a customer had a turn. A
 *   sale without an answer counts by the ledger's clock; if that is not known, it counts as late;
 * - the lock is not known to have changed hands in the span (is_turn_taken);
 * - units are left that were never sold: these were in the stock all the time;
 * - the demand lasted at least twice as long as the span, and so long since the last moment at
 *   which a server was known to be down: a new start takes some time;
 * - the round was not stopped: that cuts off the answers that might have shown another sale.
 * If moments are intervals (record.h), nobody may have had a turn in the longest span that they
 * allow, and the attempts are those in the shortest one.
 * It is a rule for products, not for stock rows: while another row sells, the product sells. */
#include "judge.h"
#include "verdict.h"

#include <inttypes.h>
#include <string.h>

static bool is_sold_since(const struct judge *judge, const struct ledger_sale *sale,
                          int64_t from_ns) {
    const int64_t answered_ns = judge_buyer(judge, sale).answered_ns, at_us = sale->at_us;

    if (answered_ns != LINEAR_NEVER || at_us == 0 || judge->ledger_start_us == 0)
        return answered_ns >= from_ns;
    return at_us >= judge->ledger_start_us + from_ns / 1000;
}

/* Whether a customer had a turn: a sale, a yes or a "sold out". */
static bool is_any_served_since(const struct judge *judge, int64_t from_ns) {
    for (size_t i = 0; i < judge->ledger->sale_count; i++)
        if (is_sold_since(judge, &judge->ledger->sales[i], from_ns))
            return true;
    for (size_t i = 0; i < judge->purchase_count; i++)
        if (judge->purchases[i].yes > 0 && purchase_answered_ns(&judge->purchases[i]) >= from_ns)
            return true;
    return judge->refused_last != NULL && judge->refused_last->received_ns >= from_ns;
}

/* A change in this part of the span, at its beginning, may be no more than the time that the first
 * refused attempt took. */
#define KEPT_SLACK_PART 10

/* Whether a customer was turned away in the span and the answer shows that the lock changed hands:
 * the customer held the lock and gave it back, or others kept it for less than the customer waited
 * in the span. If the customer held one shard's lock and was refused the next one's, the next one
 * counts. */
static bool tells_of_turn(const struct record *record, const struct stuck *stuck) {
    const struct record_cost *cost = &record->cost;
    const int64_t begun_ns =
        record->received_ns - 2 * record_slack_ns(record) - (int64_t)cost->wait_us * 1000;
    const int64_t kept_ns = record->received_ns - (int64_t)cost->kept_us * 1000;
    const int64_t slack_ns = (stuck->to_ns - stuck->sure_ns) / KEPT_SLACK_PART;

    if (record->received_ns < stuck->from_ns ||
        (record->outcome != RECORD_BUSY && record->outcome != RECORD_FAILED))
        return false;
    if (cost->kept_us < 0)
        return cost->hold_us >= 0;
    return cost->wait_us >= 0 && begun_ns <= stuck->sure_ns && kept_ns > stuck->from_ns + slack_ns;
}

/* Whether the lock changed hands, by the answers to customers or by the results of raw commands. */
static bool is_turn_taken(const struct judge *judge, const struct stuck *stuck) {
    struct judge_walk walk = {.purchase = 0};
    const struct record *record;

    while ((record = judge_next(judge, &walk)) != NULL)
        if (tells_of_turn(record, stuck))
            return true;
    for (size_t i = 0; judge->events != NULL && i < judge->events->count; i++) {
        const struct event *event = &judge->events->items[i];

        if (event->item == judge->item && event->at_ns >= stuck->from_ns &&
            event->result == EVENT_YES && (event_takes_lock(event) || event_frees_lock(event)))
            return true;
    }
    return false;
}

/* Until when its customer certainly wanted a unit. A missing reply may have been lost at any
 * time, so such a request counts only when it was sent. */
static int64_t wanted_until(const struct record *record) {
    return record->outcome == RECORD_BUSY || record->outcome == RECORD_FAILED
               ? record->received_ns - 2 * record_slack_ns(record)
               : record->sent_ns;
}

#define STATUS_RATE 429 /* Too Many Requests: a limit of the rate, and no lock */

/* The last request of this customer in the span if the customer was turned away, else NULL. */
static const struct record *find_attempt(const struct purchase *purchase, int64_t from_ns) {
    for (size_t i = purchase->count; i-- > 0 && !purchase->has_sale && purchase->yes == 0;) {
        const struct record *record = purchase_request(purchase, i);

        if (wanted_until(record) >= from_ns && record->status != STATUS_RATE &&
            (record->outcome == RECORD_BUSY || record->outcome == RECORD_FAILED ||
             record->outcome == RECORD_UNKNOWN))
            return record;
    }
    return NULL;
}

/* The number of attempts in the span; 0 if none of them was answered. */
static int64_t count_attempts(const struct judge *judge, struct stuck *stuck) {
    bool is_any_answered = false;
    int64_t count = 0;

    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct record *record = find_attempt(&judge->purchases[i], stuck->sure_ns);

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

/* Find the span. False: the demand was too short to show anything. */
static bool find_span(const struct judge *judge, struct stuck *stuck) {
    struct judge_walk walk = {.purchase = 0};
    int64_t first_ns = INT64_MAX, last_ns = 0;
    const struct record *record;

    stuck->to_ns = 0;
    while ((record = judge_next(judge, &walk)) != NULL) {
        const int64_t slack_ns = 2 * record_slack_ns(record);

        if (record->sent_ns > 0 && record->sent_ns + slack_ns < first_ns)
            first_ns = record->sent_ns + slack_ns;
        if (wanted_until(record) > last_ns)
            last_ns = wanted_until(record);
        if (record->sent_ns > 0 && wanted_until(record) + slack_ns > stuck->to_ns)
            stuck->to_ns = wanted_until(record) + slack_ns;
    }
    if (judge->down_until_ns > first_ns)
        first_ns = judge->down_until_ns;
    stuck->from_ns = last_ns - judge->stuck_ns;
    stuck->sure_ns = stuck->to_ns - judge->stuck_ns;
    return stuck->from_ns - judge->stuck_ns >= first_ns;
}

static const struct ledger_sale *find_last_sale(const struct judge *judge) {
    const struct ledger_sale *last = NULL;

    for (size_t i = 0; i < judge->ledger->sale_count; i++)
        if (last == NULL || judge->ledger->sales[i].at_us > last->at_us)
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

void judge_stuck(struct judge *judge) {
    struct stuck *stuck = &judge->stuck;
    int64_t attempts;

    if (judge->is_stopped || judge->left < judge->most || judge->ledger->counted != judge->sold ||
        !find_span(judge, stuck) || is_any_served_since(judge, stuck->from_ns) ||
        is_turn_taken(judge, stuck))
        return;
    attempts = count_attempts(judge, stuck);
    if (attempts < VERDICT_STUCK)
        return;
    stuck->last = find_last_sale(judge);
    stuck->since = count_since(judge, stuck->last);
    judge_found(judge, ANOMALY_STUCK, attempts,
                "from %.3f s to the end of the demand at %.3f s %" PRId64
                " customers wanted a unit, %" PRId64 " units were left, and nothing was sold",
                (double)stuck->from_ns / 1e9, (double)stuck->to_ns / 1e9, attempts, judge->left);
}
