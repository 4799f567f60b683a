/* The rules for single sales: alone, beside another sale, and beside the answers to the customer.
 * They find units sold twice, units that never existed, promises without a sale, and sales without
 * a promise. For two sales of one unit they find out whether both held one raw lock. */
#include "judge.h"
#include "number.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SALE_TEXT 320

/* ---- the ledger alone */

/* How far apart in time two sales are. Sales of one instance count as a millisecond further apart,
 * because sales of two instances show more: no lock inside a process can prevent them. */
static int64_t apart_us(const struct pair *pair) {
    int64_t apart = pair->sales[1]->at_us - pair->sales[0]->at_us;

    if (strcmp(ledger_instance(pair->sales[0]), ledger_instance(pair->sales[1])) == 0)
        apart += 1000;
    return apart;
}

/* Insert the pair into the tightest pairs, in order, and drop the last one. */
static void keep_twin(struct judge *judge, const struct ledger_sale *a,
                      const struct ledger_sale *b) {
    struct pair pair = {.sales = {a, b}};
    size_t place = judge->twin_count;

    while (place > 0 && apart_us(&judge->twins[place - 1]) > apart_us(&pair))
        place--;
    assert(a->unit <= b->unit);
    assert(judge->twin_count <= VERDICT_COUNTEREXAMPLES);
    if (place == VERDICT_COUNTEREXAMPLES)
        return;
    if (judge->twin_count < VERDICT_COUNTEREXAMPLES)
        judge->twin_count++;
    memmove(&judge->twins[place + 1], &judge->twins[place],
            (judge->twin_count - place - 1) * sizeof pair);
    judge->twins[place] = pair;
}

/* "order o-7 by inventory-1 at 05:43:35.878", or less if the ledger does not tell it. */
static const char *tell_sale(const struct ledger_sale *sale, char text[SALE_TEXT]) {
    char clock[LEDGER_TIME];

    snprintf(text, SALE_TEXT, "order %s%s%s%s%.12s", sale->order_id,
             sale->instance != NULL ? " by " : "", ledger_instance(sale),
             sale->at_us != 0 ? " at " : "", ledger_clock(clock, sale->at_us));
    return text;
}

static void found_twin(struct judge *judge, const struct ledger_sale *a,
                       const struct ledger_sale *b, int64_t units) {
    char one[SALE_TEXT], other[SALE_TEXT];

    judge_found(judge, ANOMALY_TWIN, units, "unit %" PRId64 " sold twice: %s, %s", b->unit,
                tell_sale(a, one), tell_sale(b, other));
    keep_twin(judge, a, b);
}

/* A sale that tells what it left has the units from its `unit` on; of others one unit is known.
 * `last` is the sale that reaches furthest so far, or the latest of those. */
static void sales_find_twins(struct judge *judge) {
    const struct ledger_sale *last = NULL;
    int64_t end = 0;

    if (!judge_has_units(judge)) {
        judge->distinct = judge->sold;
        return;
    }
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = judge_by_unit(judge, i);
        const int64_t units = judge->ledger->is_unnumbered ? sale->quantity > 0 : sale->quantity;
        const int64_t first = judge_first_unit(sale), own_end = first + units;
        const int64_t twice = last != NULL ? (own_end < end ? own_end : end) - first : 0;

        if (units == 0)
            continue;
        if (twice > 0)
            found_twin(judge, last, sale, twice);
        judge->distinct += sale->quantity - number_max(twice, 0);
        if (last == NULL || own_end >= end) {
            end = own_end;
            last = sale;
        }
    }
}

/* The units of the sale that the stock never had. */
static int64_t count_outside(const struct judge *judge, const struct ledger_sale *sale) {
    const int64_t first = number_max(sale->unit, 1);
    const int64_t end = judge_first_unit(sale) + sale->quantity;
    const int64_t stock_end = judge->ledger->initial + 1;
    const int64_t inside = (end < stock_end ? end : stock_end) - first;

    return sale->quantity - number_max(inside, 0);
}

/* Sales beyond the stock, or sales of units outside it: the greater number, because some may be
 * both. */
static void find_oversell(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    int64_t beyond = judge->sold - ledger->initial;
    int64_t outside = 0;
    const struct ledger_sale *first = NULL;
    char text[SALE_TEXT];

    for (size_t i = 0; i < ledger->sale_count && !ledger->is_unnumbered; i++) {
        const int64_t units = count_outside(judge, &ledger->sales[i]);

        outside += units;
        first = first == NULL && units > 0 ? &ledger->sales[i] : first;
    }
    judge->outside = first;
    if (beyond > 0 && beyond >= outside)
        judge_found(judge, ANOMALY_OVERSELL, beyond, "%" PRId64 " sold of a stock of %" PRId64,
                    judge->sold, ledger->initial);
    else if (outside > 0)
        judge_found(judge, ANOMALY_OVERSELL, outside,
                    "unit %" PRId64 " sold, but the stock is 1 to %" PRId64 ": %s", first->unit,
                    ledger->initial, tell_sale(first, text));
}

static void find_double_rows(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    for (size_t i = 1; i < ledger->sale_count; i++) {
        int order;

        if (i + IDS_AHEAD < ledger->sale_count)
            __builtin_prefetch(ledger->sales[i + IDS_AHEAD].order_id);
        order = strcmp(ledger->sales[i - 1].order_id, ledger->sales[i].order_id);
        assert(order <= 0);
        if (order != 0)
            continue;
        if (!judge_has_units(judge))
            judge_found(judge, ANOMALY_DUPLICATE, 1, "order %s has two ledger rows",
                        ledger->sales[i].order_id);
        else
            judge_found(judge, ANOMALY_DUPLICATE, 1,
                        "order %s has two ledger rows: units %" PRId64 " and %" PRId64,
                        ledger->sales[i].order_id, ledger->sales[i - 1].unit,
                        ledger->sales[i].unit);
    }
}

/* ---- keys and reservations of the ledger */

static const struct record *purchase_other_yes(const struct purchase *purchase);

/* Two orders of one key. Replies that differ tell it, too: then has_duplicate() counts it. */
static void find_double_keys(struct judge *judge) {
    for (size_t i = 1; i < judge->key_count; i++) {
        const struct ledger_sale *a = judge->by_key[i - 1].row, *b = judge->by_key[i].row;
        const char *key = judge->by_key[i].id;
        const struct purchase *purchase;

        if (strcmp(judge->by_key[i - 1].id, key) != 0 || strcmp(a->order_id, b->order_id) == 0)
            continue;
        purchase = judge_find(judge, key);
        if (purchase != NULL && purchase->yes > 0 && purchase_other_yes(purchase) != NULL)
            continue;
        judge_found(judge, ANOMALY_DUPLICATE, 1, "key %s bought twice: order %s and order %s", key,
                    a->order_id, b->order_id);
        if (judge->same_key[0] == NULL) {
            judge->same_key[0] = a;
            judge->same_key[1] = b;
        }
    }
}

static void find_unbacked(struct judge *judge) {
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        const int64_t reserved = ledger_extra(sale).reserved;

        judge->held += number_max(reserved, 0);
        if (reserved < 0 || reserved >= sale->quantity)
            continue;
        judge->unbacked_count++;
        judge->empty_count += reserved == 0;
        judge->unbacked = judge->unbacked != NULL ? judge->unbacked : sale;
        judge_found(judge, ANOMALY_UNBACKED, 1,
                    "order %s bought %" PRId32 " unit%s, and the shop holds %" PRId64 " for it",
                    sale->order_id, sale->quantity, sale->quantity == 1 ? "" : "s", reserved);
    }
}

/* ---- two orders that held one raw lock, by the results of their commands
 *
 * A grant is in force until its own order tries to free the key. Results may arrive in another
 * order than Redis ran the commands, because a reply may lie unread for a moment. So a command
 * counts as before a result if it was sent before that result arrived; results that arrive a
 * little later are searched, too. */

#define UNREAD_NS 100000000 /* for how long a reply may lie unread */
#define EARLY_NS  50000000  /* a TTL may end so long before the end that its result suggests */

/* The state of a key at some moment, as far as it is known. */
struct hold {
    const struct event *grant; /* not given back so far; or NULL */
    const struct event *freed; /* another order freed the key since the grant; or NULL */
};

static bool is_grant(const struct event *event) {
    return event_takes_lock(event) && event->result == EVENT_YES;
}

static bool is_by(const struct event *event, const struct event *other) {
    return strcmp(event->order_id, other->order_id) == 0;
}

static int sales_by_key(const void *a, const void *b) {
    const struct event *x = *(const struct event *const *)a, *y = *(const struct event *const *)b;
    int order = strcmp(x->key, y->key);

    return order != 0 ? order : (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* The results of one key, by time. */
struct results {
    const struct event *const *events;
    size_t count;
};

/* When a grant's TTL ran out, by the grant or a later command of its order; or EVENT_OPEN. */
static int64_t expiry_of(const struct results *results, const struct event *grant) {
    int64_t until_ns = grant->until_ns > grant->at_ns ? grant->until_ns : EVENT_OPEN;

    for (size_t i = 0; i < results->count; i++) {
        const struct event *event = results->events[i];

        if (is_by(event, grant) && event_extends_lock(event) && event->result == EVENT_YES)
            until_ns = event->until_ns;
    }
    return until_ns;
}

/* The last known grant to the order of `freed` before it, or NULL. */
static const struct event *grant_to(const struct results *results, const struct event *freed) {
    const struct event *grant = NULL;

    for (size_t i = 0; i < results->count && results->events[i]->at_ns <= freed->at_ns; i++)
        if (is_grant(results->events[i]) && is_by(results->events[i], freed))
            grant = results->events[i];
    return grant;
}

static void note_free(struct hold *hold, const struct event *event) {
    if (hold->grant == NULL || !event_frees_lock(event))
        return;
    if (is_by(event, hold->grant))
        hold->grant = NULL;
    else if (event->result == EVENT_YES && event->at_ns >= hold->grant->began_ns)
        hold->freed = event;
}

/* The result at `i` is a grant: note the commands that were sent before it and answered after
 * it. */
static void look_ahead(const struct results *results, size_t i, struct hold *hold) {
    const int64_t at_ns = results->events[i]->at_ns;

    for (size_t j = i + 1; j < results->count; j++) {
        if (results->events[j]->at_ns > at_ns + UNREAD_NS)
            return;
        if (results->events[j]->began_ns <= at_ns)
            note_free(hold, results->events[j]);
    }
}

/* How much of the article's story the overlap has. */
static int rank(const struct overlap *overlap) {
    return 2 * (overlap->freed != NULL) + overlap->has_expired;
}

/* Keep an overlap that sold one unit twice. The best stories come first, then the earlier ones. */
static void keep_overlap(struct judge *judge, const struct overlap *overlap) {
    const struct ledger_sale *one = ledger_find_sale(judge->ledger, overlap->held->order_id);
    const struct ledger_sale *other = ledger_find_sale(judge->ledger, overlap->taken->order_id);
    size_t place = judge->overlap_count;

    if (one == NULL || other == NULL || one->unit != other->unit ||
        (overlap->freed != NULL &&
         ledger_find_sale(judge->ledger, overlap->freed->order_id) == NULL &&
         judge_find(judge, overlap->freed->order_id) == NULL))
        return;
    while (place > 0 && rank(overlap) > rank(&judge->overlaps[place - 1]))
        place--;
    if (place == VERDICT_COUNTEREXAMPLES)
        return;
    if (judge->overlap_count < VERDICT_COUNTEREXAMPLES)
        judge->overlap_count++;
    memmove(&judge->overlaps[place + 1], &judge->overlaps[place],
            (judge->overlap_count - place - 1) * sizeof *overlap);
    judge->overlaps[place] = *overlap;
    judge->overlaps[place].sales[0] = one->at_us <= other->at_us ? one : other;
    judge->overlaps[place].sales[1] = one->at_us <= other->at_us ? other : one;
}

static void sales_take_grant(struct judge *judge, const struct results *results, size_t i,
                             struct hold *hold) {
    const struct event *taken = results->events[i];
    struct overlap overlap = {.taken = taken};

    look_ahead(results, i, hold);
    if (hold->grant != NULL && !is_by(hold->grant, taken)) {
        overlap.held = hold->grant;
        overlap.freed = hold->freed;
        overlap.lost = hold->freed != NULL ? grant_to(results, hold->freed) : hold->grant;
        overlap.expired_ns = overlap.lost != NULL ? expiry_of(results, overlap.lost) : EVENT_OPEN;
        overlap.handed_ns = hold->freed != NULL ? overlap.held->at_ns : taken->at_ns;
        overlap.has_expired = overlap.expired_ns <= overlap.handed_ns + EARLY_NS;
        keep_overlap(judge, &overlap);
    }
    *hold = (struct hold){.grant = taken};
}

static void look_at_key(struct judge *judge, const struct results *results) {
    struct hold hold = {.grant = NULL};

    for (size_t i = 0; i < results->count; i++)
        if (is_grant(results->events[i]))
            sales_take_grant(judge, results, i, &hold);
        else
            note_free(&hold, results->events[i]);
}

/* The twins of the best overlap are the best evidence: move them to the front. */
static void put_first(struct judge *judge) {
    const struct overlap *best = &judge->overlaps[0];
    size_t place = 0;

    while (place < judge->twin_count && (judge->twins[place].sales[0] != best->sales[0] ||
                                         judge->twins[place].sales[1] != best->sales[1]))
        place++;
    if (place == judge->twin_count && place == VERDICT_COUNTEREXAMPLES)
        place--;
    else if (place == judge->twin_count)
        judge->twin_count++;
    memmove(&judge->twins[1], &judge->twins[0], place * sizeof judge->twins[0]);
    judge->twins[0] = (struct pair){.sales = {best->sales[0], best->sales[1]}};
}

static int find_overlaps(struct judge *judge) {
    const size_t room = judge->events != NULL ? judge->events->count : 0;
    const struct event **events = calloc(room + 1, sizeof *events);
    size_t count = 0, end;

    if (events == NULL)
        return -1;
    for (size_t i = 0; i < room; i++)
        if (judge->events->items[i].kind == EVENT_LOCK &&
            judge->events->items[i].item == judge->item)
            events[count++] = &judge->events->items[i];
    qsort(events, count, sizeof *events, sales_by_key);
    for (size_t first = 0; first < count; first = end) {
        end = first + 1;
        while (end < count && strcmp(events[end]->key, events[first]->key) == 0)
            end++;
        look_at_key(judge, &(struct results){&events[first], end - first});
    }
    free(events);
    if (judge->overlap_count > 0)
        put_first(judge);
    return 0;
}

/* ---- the answers to clients */

static void found_ghost(struct judge *judge, const struct purchase *purchase) {
    judge->ghost = judge->ghost != NULL ? judge->ghost : purchase;
}

/* A yes to the key that differs from its first yes, or NULL. */
static const struct record *purchase_other_yes(const struct purchase *purchase) {
    const struct record *yes = purchase_yes(purchase);

    assert(yes != NULL);
    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase_request(purchase, i);

        if (record->outcome == RECORD_SOLD &&
            (strcmp(record_order_id(record), record_order_id(yes)) != 0 ||
             record->unit != yes->unit))
            return record;
    }
    return NULL;
}

static bool has_duplicate(struct judge *judge, const struct purchase *purchase) {
    const char *key = purchase_key(purchase), *id = purchase_id(purchase);
    const struct record *other = purchase_other_yes(purchase);

    if (other != NULL && (!judge_has_units(judge) || judge->is_shop_named))
        judge_found(judge, ANOMALY_DUPLICATE, 1,
                    "key %s was answered with order %s, and with order %s", key, id,
                    record_order_id(other));
    else if (other != NULL)
        judge_found(judge, ANOMALY_DUPLICATE, 1,
                    "key %s was answered with order %s, unit %" PRId64 ", and with order %s, unit "
                    "%" PRId64,
                    key, id, purchase_yes(purchase)->unit, record_order_id(other), other->unit);
    else if (judge->are_keys_ids && strcmp(id, key) != 0 && purchase->has_sale &&
             judge_buyer(judge, purchase_sale(purchase)).purchase == purchase &&
             ledger_find_sale(judge->ledger, key) != NULL)
        judge_found(judge, ANOMALY_DUPLICATE, 1, "key %s bought twice: order %s and order %s", key,
                    key, id);
    else
        return false;
    if (judge->duplicate == NULL) {
        judge->duplicate = purchase;
        judge->other_yes = other;
    }
    return true;
}

/* A shop of other people promises no unit. */
static bool is_other_unit(const struct judge *judge, const struct ledger_sale *sale,
                          int64_t promised) {
    return (promised != -1 || !judge->is_shop_named) && sale->unit != promised;
}

/* The key becomes the order's id, so a promise under another id is worth nothing to the
 * customer. If the key has two orders, it was counted as a DUPLICATE before. */
static void check_yes(struct judge *judge, const struct purchase *purchase, bool is_duplicate) {
    const struct ledger_sale *sale = purchase_sale(purchase);
    const char *key = purchase_key(purchase);
    const int64_t unit = purchase_yes(purchase)->unit;
    const char *id = purchase_id(purchase);
    char promise[JUDGE_UNIT];

    (void)judge_unit(judge, unit, promise);
    if (sale == NULL)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised %s, and the ledger has no such sale", id, promise);
    else if (is_other_unit(judge, sale, unit))
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised unit %" PRId64 ", and the ledger says %" PRId64, id,
                    unit, sale->unit);
    else if (judge_order(judge, purchase) == NULL)
        judge_found(judge, ANOMALY_GHOST, 1, "order %s was promised %s, and no order was recorded",
                    id, promise);
    else if (!is_duplicate && judge->is_shop_named && judge_buyer(judge, sale).purchase != purchase)
        judge_found(judge, ANOMALY_GHOST, 1, "order %s was promised to the customers %s and %s", id,
                    purchase_key(judge_buyer(judge, sale).purchase), key);
    else if (!is_duplicate && !judge->is_shop_named && strcmp(id, key) != 0)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "key %s was promised unit %" PRId64
                    " as order %s, but an order's id is its key",
                    key, unit, id);
    else
        return;
    found_ghost(judge, purchase);
}

static void found_orphan(struct judge *judge, const struct purchase *purchase,
                         const struct ledger_sale *sale) {
    if (judge->orphan != NULL || judge->orphan_row != NULL)
        return;
    judge->orphan = purchase;
    judge->orphan_row = sale;
}

static void check_no(struct judge *judge, const struct purchase *purchase) {
    const struct ledger_sale *sale = purchase_sale(purchase);
    const struct ledger_order *order = judge_order(judge, purchase);
    char took[JUDGE_UNIT], place[JUDGE_PLACE];

    if (sale == NULL && order == NULL)
        return;
    judge_found(judge, ANOMALY_ORPHAN, 1, "order %s took %s%s, and its customer was %s",
                purchase_id(purchase),
                sale != NULL ? judge_units(judge, sale, took)
                             : judge_unit(judge, order->unit, took),
                sale != NULL ? judge_place(sale, place) : " (an order without a sale)",
                record_outcome_text(purchase_request(purchase, 0)->outcome));
    found_orphan(judge, purchase, sale);
}

/* A customer that was told yes and repeats the key must be told yes again. A 503 or 500 is no
 * contradiction: it says only that the order could not be looked up. */
static void check_repeats(struct judge *judge, const struct purchase *purchase) {
    const struct ledger_sale *sale = purchase_sale(purchase);
    const int64_t told_ns = purchase_answered_ns(purchase);
    char has[JUDGE_UNIT];

    for (size_t i = 0; i < purchase->count && sale != NULL; i++) {
        const struct record *record = purchase_request(purchase, i);

        if (record->sent_ns <= told_ns ||
            (record->outcome != RECORD_SOLD_OUT && record->outcome != RECORD_REFUSED))
            continue;
        judge_found(judge, ANOMALY_ORPHAN, 1,
                    "order %s has %s, its customer was told so at %.3f s, asked again at %.3f s "
                    "and was %s",
                    sale->order_id, judge_units(judge, sale, has), (double)told_ns / 1e9,
                    (double)record->sent_ns / 1e9, record_outcome_text(record->outcome));
        if (judge->orphan == NULL && judge->orphan_row == NULL)
            judge->denial = record;
        found_orphan(judge, purchase, sale);
        return;
    }
}

/* Without keys, a request is known by the order of its reply: so one order may be promised to
 * several customers. With keys, only repeats share a key. */
static void check_shared(struct judge *judge, const struct purchase *purchase) {
    size_t promises = 0;

    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase_request(purchase, i);

        promises += record->outcome == RECORD_SOLD && !record->is_repeat;
    }
    if (promises < 2)
        return;
    judge_found(judge, ANOMALY_GHOST, (int64_t)promises - 1,
                "order %s was promised to %zu customers", purchase_id(purchase), promises);
    found_ghost(judge, purchase);
}

static void check_purchase(struct judge *judge, const struct purchase *purchase) {
    if (!purchase->is_named) { /* nothing says which order is its own */
        judge->unknown_sold += purchase->yes == 0 && purchase->has_sale;
    } else if (purchase->yes > 0) {
        check_yes(judge, purchase, has_duplicate(judge, purchase));
        check_repeats(judge, purchase);
        check_shared(judge, purchase);
    } else if (purchase->is_unknown) {
        judge->unknown_sold += purchase->has_sale;
    } else {
        check_no(judge, purchase);
    }
}

static void check_sale(struct judge *judge, const struct ledger_sale *sale) {
    const struct purchase *buyer = judge_buyer(judge, sale).purchase;
    char took[JUDGE_UNIT], place[JUDGE_PLACE];

    if (buyer == NULL) {
        judge_found(judge, ANOMALY_ORPHAN, 1,
                    judge->are_keys_ids
                        ? "order %s took %s%s, and no request for this product asked for it"
                        : "order %s took %s%s, and no customer was told yes or nothing for it",
                    sale->order_id, judge_units(judge, sale, took), judge_place(sale, place));
        found_orphan(judge, NULL, sale);
    } else if (buyer->yes == 0 && buyer->is_unknown && judge_order(judge, buyer) == NULL) {
        judge->unsettled++;
    }
}

/* An order without a sale was counted before if its request was told yes or no; and so was a
 * promise of another unit than the ledger's. */
static void check_order(struct judge *judge, const struct ledger_order *order) {
    const struct ledger *ledger = judge->ledger;
    const struct ledger_sale *sale = judge->is_mirrored ? &ledger->sales[order - ledger->orders]
                                                        : ledger_find_sale(ledger, order->order_id);
    const struct purchase *purchase;
    char of[JUDGE_UNIT];

    if (sale != NULL && sale->unit == order->unit)
        return;
    purchase = judge_find(judge, order->order_id);
    if (sale == NULL && (purchase == NULL || (purchase->yes == 0 && purchase->is_unknown)))
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s is recorded for %s, and the ledger has no such sale", order->order_id,
                    judge_unit(judge, order->unit, of));
    else if (sale != NULL &&
             (purchase == NULL || purchase->yes == 0 || purchase_yes(purchase)->unit == sale->unit))
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s is recorded for unit %" PRId64 ", and the ledger says %" PRId64,
                    order->order_id, order->unit, sale->unit);
    else
        return;
    found_ghost(judge, purchase);
}

/* No promise is known to be empty, but some must be: there are too few orders. */
static void check_empty(struct judge *judge) {
    if (judge->empty_promises > 0)
        judge_found(judge, ANOMALY_GHOST, judge->empty_promises,
                    "%" PRId64 " more customers were told yes than the ledger has orders for",
                    judge->empty_promises);
}

static void check_promises(struct judge *judge) {
    check_empty(judge);
    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct purchase *ahead = &judge->purchases[i + IDS_AHEAD];

        if (i + IDS_AHEAD < judge->purchase_count && ahead->has_sale)
            __builtin_prefetch(ahead->bought.sale);
        check_purchase(judge, &judge->purchases[i]);
    }
    for (size_t i = 0; i < judge->ledger->sale_count && judge->has_matches; i++)
        check_sale(judge, &judge->ledger->sales[i]);
    for (size_t i = 0; i < judge->ledger->order_count; i++)
        check_order(judge, &judge->ledger->orders[i]);
}

int judge_sales(struct judge *judge) {
    sales_find_twins(judge);
    find_oversell(judge);
    find_double_rows(judge);
    find_double_keys(judge);
    find_unbacked(judge);
    if (find_overlaps(judge) != 0)
        return -1;
    check_promises(judge);
    return 0;
}
