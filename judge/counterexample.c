/* Tells each contradiction in prose: its operations A, B and C, and the failures that hit them. */
#include "counterexample_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PART_TEXT 80

void counterexample_say(struct counterexample *example, const char *format, ...) {
    va_list arguments;

    if (example->lines == COUNTEREXAMPLE_LINES)
        return;
    va_start(arguments, format);
    vsnprintf(example->line[example->lines++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}

static double example_in_seconds(int64_t ns) {
    return (double)ns / 1e9;
}

/* ---- operations */

/* The name of this order's operation: 'A'; '\0': the order has none. */
static char example_name(const struct counterexample *example, const char *order_id) {
    for (size_t i = 0; i < example->ops; i++)
        if (order_id[0] != '\0' && strcmp(example->order_id[i], order_id) == 0)
            return (char)('A' + i);
    return '\0';
}

static void example_widen(struct counterexample *example, int64_t ns) {
    if (ns <= 0)
        return;
    if (example->from_ns == 0 || ns < example->from_ns)
        example->from_ns = ns;
    if (ns > example->to_ns)
        example->to_ns = ns;
}

static struct counterexample_op *example_add_op(struct counterexample *example, const char *id,
                                                int64_t sent_ns, int64_t answered_ns) {
    struct counterexample_op *op = &example->op[example->ops];

    assert(example->ops < COUNTEREXAMPLE_OPS);
    snprintf(example->order_id[example->ops++], LEDGER_ID, "%s", id);
    op->sent_ns = sent_ns == LINEAR_BEFORE ? 0 : sent_ns;
    op->answered_ns = answered_ns == LINEAR_NEVER ? 0 : answered_ns;
    example_widen(example, op->sent_ns);
    example_widen(example, op->answered_ns);
    return op;
}

/* "sent 0.417213 s", or the reason why the time is not known. */
static void write_sent(char text[PART_TEXT], const struct buyer *buyer) {
    if (buyer->purchase == NULL)
        snprintf(text, PART_TEXT, "no request for this product");
    else if (buyer->purchase->is_seated)
        snprintf(text, PART_TEXT, "sent without a key at an unknown time");
    else if (buyer->sent_ns == LINEAR_BEFORE)
        snprintf(text, PART_TEXT, "never sent");
    else
        snprintf(text, PART_TEXT, "sent %.6f s", example_in_seconds(buyer->sent_ns));
}

static const struct record *example_told(const struct purchase *purchase) {
    for (size_t i = 0; i < purchase->count && purchase->yes == 0; i++)
        if (purchase_request(purchase, i)->outcome == RECORD_UNKNOWN)
            return purchase_request(purchase, i);
    return purchase->yes > 0 ? purchase_yes(purchase) : purchase_request(purchase, 0);
}

/* When the reply that counts arrived; LINEAR_NEVER: there was none. */
static int64_t answered_ns(const struct buyer *buyer) {
    const struct record *told = buyer->purchase != NULL ? example_told(buyer->purchase) : NULL;

    return told != NULL && told->outcome != RECORD_UNKNOWN ? told->received_ns : LINEAR_NEVER;
}

/* ", answered 0.420011 s" or ", not told". */
static void write_answered(char text[PART_TEXT], const struct buyer *buyer,
                           const struct ledger_sale *sale) {
    const struct purchase *purchase = buyer->purchase;

    if (purchase == NULL)
        text[0] = '\0';
    else if (purchase->yes == 0)
        snprintf(text, PART_TEXT, ", %s", record_outcome_text(example_told(purchase)->outcome));
    else if (strcmp(purchase_id(purchase), sale->order_id) != 0 &&
             buyer->answered_ns == LINEAR_NEVER)
        snprintf(text, PART_TEXT, ", answered with order %s", purchase_id(purchase));
    else
        snprintf(text, PART_TEXT, ", answered %.6f s",
                 example_in_seconds(purchase_answered_ns(purchase)));
}

void counterexample_tell_sale(struct counterexample *example, const struct judge *judge,
                              const struct ledger_sale *sale) {
    const struct buyer buyer = judge_buyer(judge, sale);
    const char name = (char)('A' + example->ops);
    char sent[PART_TEXT], answered[PART_TEXT], row[40] = "", did[2 * PART_TEXT], unit[JUDGE_UNIT];
    char clock[LEDGER_TIME];
    struct counterexample_op *op =
        example_add_op(example, sale->order_id, buyer.sent_ns, answered_ns(&buyer));

    snprintf(op->instance, sizeof op->instance, "%s", ledger_instance(sale));
    op->ledger_us = sale->at_us;
    write_sent(sent, &buyer);
    write_answered(answered, &buyer, sale);
    if (judge->row_count > 1)
        snprintf(row, sizeof row, " in shard %" PRId32, sale->shard);
    if (!judge->ledger->is_unnumbered && judge_sale_kind(judge, sale) == SALE_COUNTED)
        snprintf(did, sizeof did, "read %" PRId64 "%s, wrote %" PRId64,
                 sale->remaining + sale->quantity, row, sale->remaining);
    else
        snprintf(did, sizeof did, "took %s%s", judge_units(judge, sale, unit), row);
    counterexample_say(example, "%c = order %s%s%s: %s, %s%s%.15s%s", name, sale->order_id,
                       sale->instance != NULL ? " via " : "", ledger_instance(sale), sent, did,
                       sale->at_us != 0 ? " at " : "", ledger_clock(clock, sale->at_us), answered);
}

static void example_tell_request(struct counterexample *example, const struct record *record,
                                 const char *id, const char *told) {
    const char name = (char)('A' + example->ops);

    (void)example_add_op(example, id, record->sent_ns, record->received_ns);
    if (record->sent_ns <= 0)
        counterexample_say(example, "%c = request %s: %s", name, id, told);
    else
        counterexample_say(example, "%c = request %s: sent %.6f s, %s at %.6f s", name, id,
                           example_in_seconds(record->sent_ns), told,
                           example_in_seconds(record->received_ns));
}

static void example_tell_outcome(struct counterexample *example, const struct record *record,
                                 const char *id) {
    example_tell_request(example, record, id, record_outcome_text(record->outcome));
}

void counterexample_tell_pair(struct counterexample *example, const struct judge *judge,
                              const struct pair *pair) {
    if (pair->refusal != NULL)
        example_tell_outcome(example, pair->refusal, record_key(pair->refusal));
    for (size_t i = 0; i < 2; i++)
        if (pair->sales[i] != NULL)
            counterexample_tell_sale(example, judge, pair->sales[i]);
}

/* How many customers were told what in the span. */
static void example_tell_turned_away(struct counterexample *example, const struct stuck *stuck) {
    char told[PART_TEXT];
    size_t used = 0;

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        if (stuck->told[i] > 0)
            used +=
                (size_t)snprintf(told + used, sizeof told - used, "%s%zu %s", used > 0 ? ", " : "",
                                 stuck->told[i], record_outcome_name((enum record_outcome)i));
    assert(used > 0 && used < sizeof told);
    counterexample_say(example,
                       "From %.3f s to the end of the demand at %.3f s no customer got a unit: %s.",
                       example_in_seconds(stuck->from_ns), example_in_seconds(stuck->to_ns), told);
}

/* ---- locks: A's expired, B took it, A freed it, C took it while B was still at work */

/* Tell the order that freed another's lock: it may have sold nothing. */
static void tell_freer(struct counterexample *example, const struct judge *judge,
                       const char *order_id) {
    const struct ledger_sale *sale = ledger_find_sale(judge->ledger, order_id);
    const struct purchase *purchase = judge_find(judge, order_id);

    if (sale != NULL)
        counterexample_tell_sale(example, judge, sale);
    else
        example_tell_outcome(example, example_told(purchase), order_id);
}

/* Tell how B came to hold the lock of A. */
static void example_tell_taken(struct counterexample *example, const struct overlap *overlap) {
    if (overlap->has_expired)
        counterexample_say(
            example, "A's lock expired by %.6f s. B took it at %.6f s, before A had given it back.",
            example_in_seconds(overlap->expired_ns), example_in_seconds(overlap->handed_ns));
    else
        counterexample_say(example, "B took the lock at %.6f s before A had given it back.",
                           example_in_seconds(overlap->handed_ns));
}

static void tell_freed(struct counterexample *example, const struct overlap *overlap) {
    const char held = example_name(example, overlap->held->order_id);

    counterexample_say(example, "A freed the lock at %.6f s (%s), but by then %c held it.",
                       example_in_seconds(overlap->freed->at_ns), overlap->freed->name, held);
    counterexample_say(example, "%c took it at %.6f s while %c was still at work.",
                       example_name(example, overlap->taken->order_id),
                       example_in_seconds(overlap->taken->at_ns), held);
}

static void example_tell_chain(struct counterexample *example, const struct judge *judge,
                               const struct overlap *overlap) {
    const bool is_turned = /* the holder wrote later */
        strcmp(overlap->sales[0]->order_id, overlap->held->order_id) != 0;

    if (overlap->freed != NULL)
        tell_freer(example, judge, overlap->freed->order_id);
    counterexample_tell_sale(example, judge, overlap->sales[is_turned]);
    counterexample_tell_sale(example, judge, overlap->sales[!is_turned]);
    example->has_chain = true;
    example_tell_taken(example, overlap);
    if (overlap->freed != NULL)
        tell_freed(example, overlap);
}

/* ---- failures that hit them */

static bool is_at_hand(const struct counterexample *example, const struct event *event) {
    if (event->at_ns > example->to_ns || event->until_ns < example->from_ns)
        return false;
    for (size_t i = 0; i < example->ops; i++)
        if (strcmp(example->op[i].instance, event->who) == 0)
            return true;
    return event->kind == EVENT_SERVER;
}

/* Refused attempts to take a lock are left out: they come again and again. */
static bool is_telling(const struct counterexample *example, const struct event *event) {
    switch (event->kind) {
    case EVENT_SERVER:
        return is_at_hand(example, event);
    case EVENT_FAILPOINT:
        return event->item == example->item &&
               (example_name(example, event->order_id) != '\0' ||
                (event_is_standstill(event) && is_at_hand(example, event)));
    case EVENT_LOCK:
        return event->item == example->item && example_name(example, event->order_id) != '\0' &&
               !(event_takes_lock(event) && event->result == EVENT_NO);
    }
    return false;
}

/* "B at inventory-1: SET NX ttl 200 ms: yes" */
static void example_add(struct counterexample *example, const struct event *event) {
    struct counterexample_event *added = &example->event[example->events++];
    const char letter = example_name(example, event->order_id);
    const char *result = event_result_name(event->result);

    added->at_ns = event->at_ns;
    added->until_ns = event->until_ns;
    added->letter = letter;
    snprintf(added->who, sizeof added->who, "%s", event->who);
    snprintf(added->text, sizeof added->text, "%s%s%s%s%s", event->name,
             event->detail[0] != '\0' ? " " : "", event->detail, result[0] != '\0' ? ": " : "",
             result);
}

static void example_weave(struct counterexample *example, const struct judge *judge) {
    for (size_t i = 0; judge->events != NULL && i < judge->events->count; i++)
        if (example->events < COUNTEREXAMPLE_EVENTS &&
            is_telling(example, &judge->events->items[i]))
            example_add(example, &judge->events->items[i]);
}

/* ---- a function for each anomaly, called if it was found; no line if no request shows it */

/* Whether a sale between the two may have set the row's count back to the value that both read:
 * then B need not have read before A wrote. Only a sale writes the count, and it holds the row
 * while it does; but a sale that was given back is no longer in the ledger. */
static bool is_set_back(const struct judge *judge, const struct ledger_sale *a,
                        const struct ledger_sale *b) {
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];

        if (sale->unit == a->unit + 1 && sale->shard == a->shard && sale->at_us >= a->at_us &&
            sale->at_us <= b->at_us)
            return true;
    }
    return judge->may_have_returned;
}

static bool is_counted(const struct judge *judge, const struct ledger_sale *sale) {
    return judge_sale_kind(judge, sale) == SALE_COUNTED;
}

/* Tell the reads of two sales from the count of one row, as far as they are known. `a` wrote
 * first. */
static void tell_reads(struct counterexample *example, const struct judge *judge,
                       const struct ledger_sale *a, const struct ledger_sale *b) {
    const char one = example_name(example, a->order_id), other = example_name(example, b->order_id);

    if (judge_buyer(judge, a).answered_ns < judge_buyer(judge, b).sent_ns)
        counterexample_say(example,
                           "%c was sent after %c had been answered. %c had left %" PRId64
                           ", and %c read %" PRId64 ", so both sold unit %" PRId64 ".",
                           other, one, one, a->remaining, other, b->remaining + b->quantity,
                           a->unit);
    else if (is_set_back(judge, a, b))
        counterexample_say(example,
                           "%c read %" PRId64 " before %c wrote %" PRId64
                           ", or after another sale had written %" PRId64
                           " again, so both sold unit %" PRId64 ".",
                           other, b->remaining + b->quantity, one, a->remaining,
                           b->remaining + b->quantity, a->unit);
    else
        counterexample_say(example,
                           "%c read %" PRId64 " before %c wrote %" PRId64
                           ", so both sold unit %" PRId64 ".",
                           other, b->remaining + b->quantity, one, a->remaining, a->unit);
}

static const struct overlap *find_overlap(const struct judge *judge, const struct pair *pair) {
    for (size_t i = 0; i < judge->overlap_count; i++)
        if (judge->overlaps[i].sales[0] == pair->sales[0] &&
            judge->overlaps[i].sales[1] == pair->sales[1])
            return &judge->overlaps[i];
    return NULL;
}

/* A is the sale that wrote first, unless it was sent after the other one had been answered. */
static void tell_twins(struct counterexample *example, const struct judge *judge,
                       const struct pair *pair) {
    bool is_turned =
        judge_buyer(judge, pair->sales[1]).answered_ns < judge_buyer(judge, pair->sales[0]).sent_ns;
    const struct ledger_sale *a = pair->sales[is_turned], *b = pair->sales[!is_turned];
    const struct overlap *overlap = find_overlap(judge, pair);
    const int64_t unit = a->unit > b->unit ? a->unit : b->unit; /* the first that both have */

    example->shard = a->shard;
    if (overlap != NULL) {
        example_tell_chain(example, judge, overlap);
    } else {
        counterexample_tell_sale(example, judge, a);
        counterexample_tell_sale(example, judge, b);
    }
    if (judge->ledger->is_unnumbered || a->unit != b->unit || !is_counted(judge, a) ||
        !is_counted(judge, b) || a->shard != b->shard)
        counterexample_say(example, "Both sold unit %" PRId64 ", and the ledger has both sales.",
                           unit);
    else
        tell_reads(example, judge, a, b);
    counterexample_say(
        example, "There was one unit %" PRId64 ", and two orders have it: a contradiction.", unit);
}

/* If all sales are of units that existed, more sales than units are twins. */
static void tell_oversell(struct counterexample *example, const struct judge *judge) {
    const struct ledger_sale *sale =
        judge->outside != NULL ? judge->outside : judge->range.sales[0];
    const struct ledger_row *row = sale != NULL ? judge_row(judge, sale->shard) : NULL;
    const int64_t initial = judge->ledger->initial;
    /* Not the tightest pair: that is told as a TWIN. */
    const struct pair *twins = &judge->twins[judge->twin_count > 0 ? judge->twin_count - 1 : 0];

    if (judge->ledger->is_unnumbered) {
        counterexample_say(
            example, "%" PRId64 " units were sold of a stock of %" PRId64 ": a contradiction.",
            judge->sold, initial);
    } else if (sale != NULL) {
        example->shard = sale->shard;
        counterexample_tell_sale(example, judge, sale);
        counterexample_say(example,
                           "A sold unit %" PRId64 ", but %s had units %" PRId64 " to %" PRId64
                           ": a contradiction.",
                           sale->unit, row != NULL ? "its stock row" : "the stock",
                           row != NULL ? row->first_unit : 1,
                           row != NULL ? row->first_unit + row->initial - 1 : initial);
    } else {
        assert(judge->twin_count > 0);
        counterexample_tell_pair(example, judge, twins);
        counterexample_say(example,
                           "%" PRId64 " units were sold of a stock of %" PRId64
                           ", so some were sold twice. A and B both sold unit %" PRId64
                           ": a contradiction.",
                           judge->sold, initial, twins->sales[1]->unit);
    }
}

static void tell_tightest_twins(struct counterexample *example, const struct judge *judge) {
    assert(judge->twin_count > 0);
    tell_twins(example, judge, &judge->twins[0]);
}

static void tell_undersell(struct counterexample *example, const struct judge *judge) {
    assert(judge->refused_last != NULL);
    example_tell_outcome(example, judge->refused_last, record_key(judge->refused_last));
    counterexample_say(example, "At the end %" PRId64 " unit%s left in the stock.", judge->left,
                       judge->left == 1 ? " is" : "s are");
    counterexample_say(example, "They were never sold, so they were in the stock when "
                                "A was told sold out: a contradiction.");
}

static void tell_early(struct counterexample *example, const struct judge *judge) {
    const struct ledger_sale *sale = judge->early.sales[0];
    char got[JUDGE_UNIT];

    assert(judge->early.refusal != NULL);
    if (judge->early_yes != NULL) {
        example_tell_outcome(example, judge->early.refusal, record_key(judge->early.refusal));
        example_tell_outcome(example, judge->early_yes, record_key(judge->early_yes));
        counterexample_say(example, "B was sent after A had been answered, and was told yes: the "
                                    "units were not sold out: a contradiction.");
        return;
    }
    assert(sale != NULL);
    example->shard = sale->shard;
    counterexample_tell_pair(example, judge, &judge->early);
    counterexample_say(example, "B was sent after A had been answered, and got %s.",
                       judge_units(judge, sale, got));
    if (judge_sale_kind(judge, sale) == SALE_EITHER)
        counterexample_say(example,
                           "B is right only if its unit had been taken before and had come back; "
                           "too few requests can have given a unit back: a contradiction.");
    else
        counterexample_say(example,
                           "The count of a stock only falls, so that unit was in the stock when "
                           "A was told sold out: a contradiction.");
}

static void tell_stale(struct counterexample *example, const struct judge *judge) {
    const struct ledger_sale *a = judge->stale.sales[0], *b = judge->stale.sales[1];

    assert(a != NULL && b != NULL);
    example->shard = a->shard;
    counterexample_tell_pair(example, judge, &judge->stale);
    if (is_counted(judge, a) && is_counted(judge, b))
        counterexample_say(example,
                           "B was sent after A had been answered. A had left %" PRId64
                           ", and B read %" PRId64 ".",
                           a->remaining, b->remaining + b->quantity);
    else
        counterexample_say(
            example, "B was sent after A had been answered, and by then unit %" PRId64 " was gone.",
            b->unit);
    if (judge_sale_kind(judge, b) == SALE_EITHER)
        counterexample_say(example,
                           "B is right only if its unit had come back; too few requests can have "
                           "given a unit back: a contradiction.");
    else
        counterexample_say(example, "The count of a stock only falls: a contradiction.");
}

static void tell_stuck(struct counterexample *example, const struct judge *judge) {
    const struct stuck *stuck = &judge->stuck;

    assert(stuck->attempt != NULL);
    if (stuck->last != NULL) {
        example->shard = stuck->last->shard;
        counterexample_tell_sale(example, judge, stuck->last);
    }
    example_tell_outcome(example, stuck->attempt, record_key(stuck->attempt));
    if (stuck->last != NULL)
        counterexample_say(
            example,
            "A was the last sale, and %" PRId64 " customers asked after it. If A took a "
            "lock, the last holder that the ledger knows is %s.",
            stuck->since, stuck->last->instance != NULL ? stuck->last->instance : "not named");
    else
        counterexample_say(example, "%" PRId64 " customers asked, and nothing was ever sold.",
                           stuck->since);
    example_tell_turned_away(example, stuck);
    counterexample_say(example,
                       "No server was known to be down then, and at the end %" PRId64
                       " unit%s left in the stock: a contradiction.",
                       judge->left, judge->left == 1 ? " is" : "s are");
}

static void tell_yes(struct counterexample *example, const struct judge *judge,
                     const struct record *yes) {
    char promise[PART_TEXT], unit[JUDGE_UNIT];

    snprintf(promise, sizeof promise, "told: yours, %s,", judge_unit(judge, yes->unit, unit));
    example_tell_request(example, yes, record_order(yes), promise);
}

/* Another customer has the order that A was told, or the order is not that of A's key. */
static void tell_other(struct counterexample *example, const struct judge *judge,
                       const struct purchase *purchase) {
    const struct purchase *owner = judge_find(judge, purchase_id(purchase));

    if (owner != NULL && owner != purchase)
        counterexample_say(
            example, "Another customer, with the key %s, has the same order: a contradiction.",
            purchase_key(owner));
    else
        counterexample_say(
            example,
            "A was the answer to the key %s, but an order's id is its key: a contradiction.",
            purchase_key(purchase));
}

static void tell_ghost(struct counterexample *example, const struct judge *judge) {
    const struct purchase *purchase = judge->ghost;
    const struct record *told = purchase != NULL ? example_told(purchase) : NULL;
    const struct ledger_sale *sale = purchase != NULL ? purchase_sale(purchase) : NULL;
    const struct ledger_order *order = purchase != NULL ? judge_order(judge, purchase) : NULL;

    if (purchase == NULL && judge->empty_promises > 0)
        counterexample_say(example,
                           "%" PRId64 " more customers were told yes than the ledger has orders "
                           "for: a contradiction.",
                           judge->empty_promises);
    if (purchase == NULL)
        return;
    example->shard = sale != NULL ? sale->shard : 0;
    if (purchase->yes > 0)
        tell_yes(example, judge, told);
    else
        example_tell_outcome(example, told, purchase_id(purchase));
    if (sale == NULL)
        counterexample_say(example, "The ledger has no sale of that order%s: a contradiction.",
                           order != NULL ? ", though the order is recorded" : "");
    else if (purchase->yes > 0 && sale->unit != told->unit &&
             (told->unit != -1 || !judge->is_shop_named))
        counterexample_say(example, "The ledger says that A has unit %" PRId64 ": a contradiction.",
                           sale->unit);
    else if (order == NULL)
        counterexample_say(example,
                           "The unit was taken, and no order was recorded: a contradiction.");
    else if (order->unit != sale->unit)
        counterexample_say(example,
                           "The order is recorded for unit %" PRId64
                           ", and the ledger says %" PRId64 ": a contradiction.",
                           order->unit, sale->unit);
    else
        tell_other(example, judge, purchase);
}

static void tell_orphan(struct counterexample *example, const struct judge *judge) {
    const bool is_unasked = judge->orphan_row == NULL && judge->orphan == NULL;
    const struct ledger_sale *sale = is_unasked ? judge->unasked : judge->orphan_row;

    assert(sale != NULL || judge->orphan != NULL);
    if (sale != NULL) {
        example->shard = sale->shard;
        counterexample_tell_sale(example, judge, sale);
    } else {
        example_tell_outcome(example, purchase_request(judge->orphan, 0),
                             purchase_id(judge->orphan));
    }
    if (judge->denial != NULL)
        example_tell_outcome(example, judge->denial, purchase_key(judge->orphan));
    if (is_unasked)
        counterexample_say(example,
                           "Each request without an answer was sent after that unit was gone, or "
                           "has another order: a contradiction.");
    else if (judge->orphan == NULL)
        counterexample_say(
            example,
            judge->are_keys_ids
                ? "The ledger has a sale that no request for this product asked for."
                : "The ledger has a sale, and no customer was told yes or nothing for it.");
    else if (judge->denial != NULL)
        counterexample_say(example,
                           "A's customer was told yes, asked again as B with the same key, and "
                           "was told no: a contradiction.");
    else if (sale != NULL)
        counterexample_say(example,
                           "The ledger has a sale, and its customer was told no: a contradiction.");
    else
        counterexample_say(example,
                           "An order was recorded, and its customer was told no: a contradiction.");
}

static void tell_pair_of_key(struct counterexample *example, const struct judge *judge,
                             const struct ledger_sale *a, const struct ledger_sale *b,
                             const char *key) {
    example->shard = a->shard;
    counterexample_tell_sale(example, judge, a);
    counterexample_tell_sale(example, judge, b);
    counterexample_say(
        example, "Both were sold for the key %s, but one key buys one unit: a contradiction.", key);
}

static void tell_duplicate(struct counterexample *example, const struct judge *judge) {
    const struct purchase *purchase = judge->duplicate;
    const struct ledger_sale *own, *sale;
    const char *key;

    if (judge->same_key[0] != NULL)
        tell_pair_of_key(example, judge, judge->same_key[0], judge->same_key[1],
                         ledger_extra(judge->same_key[0]).key);
    if (purchase == NULL || judge->same_key[0] != NULL)
        return;
    key = purchase_key(purchase);
    own = ledger_find_sale(judge->ledger, key);
    sale = purchase_sale(purchase);
    example->shard = sale != NULL ? sale->shard : 0;
    if (own != NULL && sale != NULL && own != sale) {
        tell_pair_of_key(example, judge, own, sale, key);
        return;
    }
    assert(judge->other_yes != NULL);
    tell_yes(example, judge, purchase_yes(purchase));
    tell_yes(example, judge, judge->other_yes);
    counterexample_say(
        example, "Both replies are to the key %s, but one key buys one unit: a contradiction.",
        key);
}

/* ---- choosing */

void counterexamples_add(struct counterexamples *all, const struct judge *judge) {
    static void (*const tell[ANOMALY_COUNT])(struct counterexample *, const struct judge *) = {
        [ANOMALY_OVERSELL] = tell_oversell,
        [ANOMALY_TWIN] = tell_tightest_twins,
        [ANOMALY_UNDERSELL] = tell_undersell,
        [ANOMALY_EARLY_SOLD_OUT] = tell_early,
        [ANOMALY_GHOST] = tell_ghost,
        [ANOMALY_ORPHAN] = tell_orphan,
        [ANOMALY_DUPLICATE] = tell_duplicate,
        [ANOMALY_LEAK] = counterexample_tell_leak,
        [ANOMALY_STALE] = tell_stale,
        [ANOMALY_STUCK] = tell_stuck,
        [ANOMALY_UNBACKED] = counterexample_tell_unbacked};

    for (int i = 0; i < ANOMALY_COUNT; i++) {
        if (all->has[i] || !judge->has_found[i])
            continue;
        all->first[i] = (struct counterexample){.anomaly = (enum anomaly)i, .item = judge->item};
        if (!writes_tell(judge, &all->first[i]))
            tell[i](&all->first[i], judge);
        example_weave(&all->first[i], judge);
        all->has[i] = all->first[i].lines > 0;
    }
    for (size_t i = 1; i < judge->twin_count && all->twins < VERDICT_COUNTEREXAMPLES; i++) {
        struct counterexample *twin = &all->twin[all->twins++];

        *twin = (struct counterexample){.anomaly = ANOMALY_TWIN, .item = judge->item};
        tell_twins(twin, judge, &judge->twins[i]);
        example_weave(twin, judge);
    }
}
