/* Tells what contradicts what. */
#include "example_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- one anomaly each, which was found: false when no request shows it */

/* Whether a sale between the two may have set the row's count back to what both read: then B need
 * not have read it before A wrote. Only a sale writes the count, while it holds the row, and then
 * it writes what it left; but one that was given back is in the ledger no more. */
static bool is_set_back(const struct judge *judge, const struct ledger_sale *a,
                        const struct ledger_sale *b) {
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];

        if (sale->unit == a->unit + 1 && sale->shard == a->shard && strcmp(sale->at, a->at) >= 0 &&
            strcmp(sale->at, b->at) <= 0)
            return true;
    }
    return judge->may_have_returned;
}

static bool is_counted(const struct judge *judge, const struct ledger_sale *sale) {
    return judge_sale_kind(judge, sale) == SALE_COUNTED;
}

/* What is known of the reads of two sales from the count of one row; `a` wrote first. */
static void tell_reads(struct counterexample *example, const struct judge *judge,
                       const struct ledger_sale *a, const struct ledger_sale *b) {
    const char one = example_name(example, a->order_id), other = example_name(example, b->order_id);

    if (judge_buyer(judge, a)->answered_ns < judge_buyer(judge, b)->sent_ns)
        example_say(example,
                    "%c was sent after %c had been answered, and read %" PRId64
                    ", where %c had left %" PRId64 ", so both sold unit %" PRId64 ".",
                    other, one, b->remaining + 1, one, a->remaining, a->unit);
    else if (is_set_back(judge, a, b))
        example_say(example,
                    "%c read %" PRId64 " before %c wrote %" PRId64
                    ", or after another sale had written %" PRId64
                    " over that, so both sold unit %" PRId64 ".",
                    other, b->remaining + 1, one, a->remaining, b->remaining + 1, a->unit);
    else
        example_say(example,
                    "%c read %" PRId64 " before %c wrote %" PRId64 ", so both sold unit %" PRId64
                    ".",
                    other, b->remaining + 1, one, a->remaining, a->unit);
}

/* The one that wrote first is A, unless it was sent after the other one had been answered. */
static void tell_twins(struct counterexample *example, const struct judge *judge,
                       const struct pair *pair) {
    bool is_turned = judge_buyer(judge, pair->sales[1])->answered_ns <
                     judge_buyer(judge, pair->sales[0])->sent_ns;
    const struct ledger_sale *a = pair->sales[is_turned], *b = pair->sales[!is_turned];
    const struct overlap *overlap = judge_find_overlap(judge, pair);

    *example = example_begin(judge, ANOMALY_TWIN, a);
    if (overlap != NULL) {
        example_tell_chain(example, judge, overlap);
    } else {
        example_tell_sale(example, judge, a);
        example_tell_sale(example, judge, b);
    }
    if (!is_counted(judge, a) || !is_counted(judge, b) || a->shard != b->shard)
        example_say(example, "Both sold unit %" PRId64 ", and the ledger has both.", a->unit);
    else
        tell_reads(example, judge, a, b);
    example_say(example, "There was one unit %" PRId64 ", and two orders have it: a contradiction.",
                a->unit);
}

/* More sales than units, all of units that there were, are twins. */
static bool tell_oversell(struct counterexample *example, const struct judge *judge) {
    const struct ledger_sale *sale =
        judge->outside != NULL ? judge->outside : judge->range.sales[0];
    const struct ledger_row *row = sale != NULL ? judge_row(judge, sale->shard) : NULL;
    const int64_t initial = judge->ledger->initial;
    /* Not the tightest, which is told as a TWIN. */
    const struct pair *twins = &judge->twins[judge->twin_count > 0 ? judge->twin_count - 1 : 0];

    *example = example_begin(judge, ANOMALY_OVERSELL, sale);
    if (sale != NULL) {
        example_tell_sale(example, judge, sale);
        example_say(example,
                    "A sold unit %" PRId64 ", and %s had units %" PRId64 " to %" PRId64
                    ": a contradiction.",
                    sale->unit, row != NULL ? "its stock row" : "the stock",
                    row != NULL ? row->first_unit : 1,
                    row != NULL ? row->first_unit + row->initial - 1 : initial);
    } else {
        assert(judge->twin_count > 0);
        example_tell_pair(example, judge, twins);
        example_say(example,
                    "%zu were sold of a stock of %" PRId64
                    ", so units were sold twice; A and B both sold unit %" PRId64
                    ": a contradiction.",
                    judge->ledger->sale_count, initial, twins->sales[0]->unit);
    }
    return true;
}

static bool counterexample_tell_twin(struct counterexample *example, const struct judge *judge) {
    assert(judge->twin_count > 0);
    tell_twins(example, judge, &judge->twins[0]);
    return true;
}

static bool tell_undersell(struct counterexample *example, const struct judge *judge) {
    assert(judge->refused_last != NULL);
    *example = example_begin(judge, ANOMALY_UNDERSELL, NULL);
    example_tell_refusal(example, judge->refused_last);
    example_say(example, "At the end %" PRId64 " units are left in the stock.", judge->left);
    example_say(example, "They never were sold, so they were there when "
                         "A was refused: a contradiction.");
    return true;
}

static bool tell_early(struct counterexample *example, const struct judge *judge) {
    const struct ledger_sale *sale = judge->early.sales[0];

    assert(sale != NULL && judge->early.refusal != NULL);
    *example = example_begin(judge, ANOMALY_EARLY_SOLD_OUT, sale);
    example_tell_pair(example, judge, &judge->early);
    example_say(example, "B was sent after A had been answered, and got unit %" PRId64 ".",
                sale->unit);
    if (judge_sale_kind(judge, sale) == SALE_EITHER)
        example_say(example, "Fewer requests can have taken a unit before and given it back than "
                             "such sales need: a contradiction.");
    else
        example_say(example, "A count may only fall, so that unit was there when "
                             "A was refused: a contradiction.");
    return true;
}

static bool tell_stale(struct counterexample *example, const struct judge *judge) {
    const struct ledger_sale *a = judge->stale.sales[0], *b = judge->stale.sales[1];

    assert(a != NULL && b != NULL);
    *example = example_begin(judge, ANOMALY_STALE, a);
    example_tell_pair(example, judge, &judge->stale);
    if (is_counted(judge, a) && is_counted(judge, b))
        example_say(example,
                    "B was sent after A had been answered, and read %" PRId64
                    ", where A had left %" PRId64 ".",
                    b->remaining + 1, a->remaining);
    else
        example_say(example,
                    "B was sent after A had been answered, and by then unit %" PRId64 " was gone.",
                    b->unit);
    if (judge_sale_kind(judge, b) == SALE_EITHER)
        example_say(example, "Fewer requests can have given a unit back than "
                             "such sales need: a contradiction.");
    else
        example_say(example, "A count may only fall: a contradiction.");
    return true;
}

static bool tell_stuck(struct counterexample *example, const struct judge *judge) {
    const struct stuck *stuck = &judge->stuck;

    assert(stuck->attempt != NULL);
    *example = example_begin(judge, ANOMALY_STUCK, stuck->last);
    if (stuck->last != NULL)
        example_tell_sale(example, judge, stuck->last);
    example_tell_refusal(example, stuck->attempt);
    if (stuck->last != NULL)
        example_say(example,
                    "A was the last sale, and %" PRId64 " customers asked since. If it took a "
                    "lock, %s held it last, as far as the ledger tells.",
                    stuck->since, stuck->last->instance);
    else
        example_say(example, "Nothing was ever sold, and %" PRId64 " customers asked.",
                    stuck->since);
    example_tell_turned_away(example, stuck);
    example_say(example,
                "No server was known to be down then, and at the end %" PRId64
                " units are left in the stock: a contradiction.",
                judge->left);
    return true;
}

static void tell_yes(struct counterexample *example, const struct record *yes) {
    char promise[PART_TEXT];

    snprintf(promise, sizeof promise, "told: yours, unit %" PRId64 ",", yes->unit);
    example_tell_request(example, yes, yes->order_id[0] ? yes->order_id : yes->key, promise);
}

/* Whoever has the order that A was told, and is not its key. */
static void tell_other(struct counterexample *example, const struct judge *judge,
                       const struct purchase *purchase) {
    const struct purchase *owner = judge_find(judge, purchase->id);

    if (owner != NULL && owner != purchase)
        example_say(example,
                    "Another customer, with the key %s, has the same order: a contradiction.",
                    owner->requests[0]->key);
    else
        example_say(example,
                    "It was the answer to the key %s, which is to be the order: a contradiction.",
                    purchase->requests[0]->key);
}

static bool tell_ghost(struct counterexample *example, const struct judge *judge) {
    const struct purchase *purchase = judge->ghost;
    const struct record *told = purchase != NULL ? example_told(purchase) : NULL;

    if (purchase == NULL)
        return false;
    *example = example_begin(judge, ANOMALY_GHOST, purchase->sale);
    if (purchase->yes != NULL)
        tell_yes(example, told);
    else
        example_tell_request(example, told, purchase->id, record_outcome_text(told->outcome));
    if (purchase->sale == NULL)
        example_say(example, "The ledger has no sale of that order%s: a contradiction.",
                    purchase->order != NULL ? ", though the order is recorded" : "");
    else if (purchase->yes != NULL && purchase->sale->unit != told->unit)
        example_say(example, "The ledger says that A has unit %" PRId64 ": a contradiction.",
                    purchase->sale->unit);
    else if (purchase->order == NULL)
        example_say(example, "The unit was taken, and no order was recorded: a contradiction.");
    else if (purchase->order->unit != purchase->sale->unit)
        example_say(example,
                    "The order is recorded for unit %" PRId64 ", and the ledger says %" PRId64
                    ": a contradiction.",
                    purchase->order->unit, purchase->sale->unit);
    else
        tell_other(example, judge, purchase);
    return true;
}

static bool tell_orphan(struct counterexample *example, const struct judge *judge) {
    const bool is_unasked = judge->orphan_row == NULL && judge->orphan == NULL;
    const struct ledger_sale *sale = is_unasked ? judge->unasked : judge->orphan_row;

    assert(sale != NULL || judge->orphan != NULL);
    *example = example_begin(judge, ANOMALY_ORPHAN, sale);
    if (sale != NULL)
        example_tell_sale(example, judge, sale);
    else
        example_tell_request(example, judge->orphan->requests[0], judge->orphan->id,
                             record_outcome_text(judge->orphan->requests[0]->outcome));
    if (judge->denial != NULL)
        example_tell_request(example, judge->denial, judge->orphan->requests[0]->key,
                             record_outcome_text(judge->denial->outcome));
    if (is_unasked)
        example_say(example, "Each request without an answer was sent after that unit was gone, or "
                             "has another order: a contradiction.");
    else if (judge->orphan == NULL)
        example_say(example, "The ledger has a sale that no request for this product asked for.");
    else if (judge->denial != NULL)
        example_say(example, "A's customer was told yes, asked again as B with the same key, and "
                             "was told no: a contradiction.");
    else if (sale != NULL)
        example_say(example,
                    "The ledger has a sale, and its customer was told no: a contradiction.");
    else
        example_say(example,
                    "An order was recorded, and its customer was told no: a contradiction.");
    return true;
}

static bool tell_duplicate(struct counterexample *example, const struct judge *judge) {
    const struct purchase *purchase = judge->duplicate;
    const struct ledger_sale *own = NULL;
    const char *key;

    if (purchase == NULL)
        return false;
    key = purchase->requests[0]->key;
    own = ledger_find_sale(judge->ledger, key);
    *example = example_begin(judge, ANOMALY_DUPLICATE, purchase->sale);
    if (own != NULL && purchase->sale != NULL && own != purchase->sale) {
        example_tell_sale(example, judge, own);
        example_tell_sale(example, judge, purchase->sale);
        example_say(example,
                    "Both were sold for the key %s, which may buy one unit: a contradiction.", key);
        return true;
    }
    assert(purchase_other_yes(purchase) != NULL);
    tell_yes(example, purchase->yes);
    tell_yes(example, purchase_other_yes(purchase));
    example_say(example, "Both replies are to the key %s, which may buy one unit: a contradiction.",
                key);
    return true;
}

/* ---- choosing */

void counterexamples_add(struct counterexamples *all, const struct judge *judge) {
    static bool (*const tell[ANOMALY_COUNT])(struct counterexample *, const struct judge *) = {
        [ANOMALY_OVERSELL] = tell_oversell,   [ANOMALY_TWIN] = counterexample_tell_twin,
        [ANOMALY_UNDERSELL] = tell_undersell, [ANOMALY_EARLY_SOLD_OUT] = tell_early,
        [ANOMALY_GHOST] = tell_ghost,         [ANOMALY_ORPHAN] = tell_orphan,
        [ANOMALY_DUPLICATE] = tell_duplicate, [ANOMALY_LEAK] = example_tell_leak,
        [ANOMALY_STALE] = tell_stale,         [ANOMALY_STUCK] = tell_stuck};

    for (int i = 0; i < ANOMALY_COUNT; i++) {
        if (all->has[i] || !judge->has_found[i])
            continue;
        all->has[i] = tell[i](&all->first[i], judge);
        example_weave(&all->first[i], judge);
    }
    for (size_t i = 1; i < judge->twin_count && all->twins < VERDICT_COUNTEREXAMPLES; i++) {
        tell_twins(&all->twin[all->twins], judge, &judge->twins[i]);
        example_weave(&all->twin[all->twins++], judge);
    }
}
