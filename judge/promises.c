/* What clients were told against what the ledger says: promises without a sale, and sales without
 * a promise. */
#include "judge.h"

#include <inttypes.h>
#include <string.h>

static void found_ghost(struct judge *judge, const struct purchase *purchase) {
    judge->ghost = judge->ghost != NULL ? judge->ghost : purchase;
}

static bool has_duplicate(struct judge *judge, const struct purchase *purchase) {
    const char *key = purchase->requests[0]->key;
    const struct record *other = purchase_other_yes(purchase);

    if (other != NULL)
        judge_found(judge, ANOMALY_DUPLICATE, 1,
                    "key %s was answered with order %s, unit %" PRId64 ", and with order %s, unit "
                    "%" PRId64,
                    key, purchase->id, purchase->yes->unit, other->order_id, other->unit);
    else if (strcmp(purchase->id, key) != 0 && purchase->sale != NULL &&
             judge_buyer(judge, purchase->sale)->purchase == purchase &&
             ledger_find_sale(judge->ledger, key) != NULL)
        judge_found(judge, ANOMALY_DUPLICATE, 1, "key %s bought twice: order %s and order %s", key,
                    key, purchase->id);
    else
        return false;
    judge->duplicate = judge->duplicate != NULL ? judge->duplicate : purchase;
    return true;
}

/* The key becomes the order id, so a promise of another order is none that its customer can hold
 * the sale to; two orders of one key have been told by then. */
static void check_yes(struct judge *judge, const struct purchase *purchase, bool is_duplicate) {
    const struct ledger_sale *sale = purchase->sale;
    const char *key = purchase->requests[0]->key;
    const int64_t unit = purchase->yes->unit;
    const char *id = purchase->id;

    if (sale == NULL)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised unit %" PRId64 ", and the ledger has no such sale", id,
                    unit);
    else if (sale->unit != unit)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised unit %" PRId64 ", and the ledger says %" PRId64, id,
                    unit, sale->unit);
    else if (purchase->order == NULL)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised unit %" PRId64 ", and no order was recorded", id, unit);
    else if (!is_duplicate && strcmp(id, key) != 0)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "key %s was promised unit %" PRId64 " as order %s, which is not its own", key,
                    unit, id);
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
    const struct ledger_sale *sale = purchase->sale;
    const struct ledger_order *order = purchase->order;

    if (sale == NULL && order == NULL)
        return;
    judge_found(judge, ANOMALY_ORPHAN, 1,
                "order %s took unit %" PRId64 " (%s), and its customer was %s", purchase->id,
                sale != NULL ? sale->unit : order->unit,
                sale != NULL ? sale->instance : "an order alone",
                record_outcome_text(purchase->requests[0]->outcome));
    found_orphan(judge, purchase, sale);
}

/* Whoever asks again with a key that was told yes is to be told the same. A 503 or 500 says only
 * that the order could not be looked up. */
static void check_repeats(struct judge *judge, const struct purchase *purchase) {
    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase->requests[i];

        if (purchase->sale == NULL || record->sent_ns <= purchase->yes->received_ns ||
            (record->outcome != RECORD_SOLD_OUT && record->outcome != RECORD_REFUSED))
            continue;
        judge_found(judge, ANOMALY_ORPHAN, 1,
                    "order %s has unit %" PRId64
                    ", its customer was told so at %.3f s, asked again "
                    "at %.3f s and was %s",
                    purchase->id, purchase->sale->unit, (double)purchase->yes->received_ns / 1e9,
                    (double)record->sent_ns / 1e9, record_outcome_text(record->outcome));
        if (judge->orphan == NULL && judge->orphan_row == NULL)
            judge->denial = record;
        found_orphan(judge, purchase, purchase->sale);
        return;
    }
}

/* Keys differ but for repeats; what was asked for without one is known by the order of its reply.
 */
static void check_shared(struct judge *judge, const struct purchase *purchase) {
    size_t promises = 0;

    for (size_t i = 0; i < purchase->count; i++)
        promises +=
            purchase->requests[i]->outcome == RECORD_SOLD && !purchase->requests[i]->is_repeat;
    if (promises < 2)
        return;
    judge_found(judge, ANOMALY_GHOST, (int64_t)promises - 1,
                "order %s was promised to %zu customers", purchase->id, promises);
    found_ghost(judge, purchase);
}

static void check_purchase(struct judge *judge, const struct purchase *purchase) {
    if (purchase->yes != NULL) {
        check_yes(judge, purchase, has_duplicate(judge, purchase));
        check_repeats(judge, purchase);
        check_shared(judge, purchase);
    } else if (purchase->is_unknown) {
        judge->unknown_sold += purchase->sale != NULL;
    } else {
        check_no(judge, purchase);
    }
}

static void check_sale(struct judge *judge, const struct ledger_sale *sale) {
    const struct purchase *buyer = judge_buyer(judge, sale)->purchase;

    if (buyer == NULL) {
        judge_found(judge, ANOMALY_ORPHAN, 1,
                    "order %s took unit %" PRId64 " (%s), and no "
                    "request for this product asked for it",
                    sale->order_id, sale->unit, sale->instance);
        found_orphan(judge, NULL, sale);
    } else if (buyer->yes == NULL && buyer->is_unknown && buyer->order == NULL) {
        judge->unsettled++;
    }
}

/* Those of no sale whose request was answered with yes or no have been looked at already, and a
 * promise of another unit than the ledger's, too. */
static void check_order(struct judge *judge, const struct ledger_order *order) {
    const struct ledger_sale *sale = ledger_find_sale(judge->ledger, order->order_id);
    const struct purchase *purchase;

    if (sale != NULL && sale->unit == order->unit)
        return;
    purchase = judge_find(judge, order->order_id);
    if (sale == NULL && (purchase == NULL || (purchase->yes == NULL && purchase->is_unknown)))
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s is recorded for unit %" PRId64 ", and the ledger has no such sale",
                    order->order_id, order->unit);
    else if (sale != NULL &&
             (purchase == NULL || purchase->yes == NULL || purchase->yes->unit == sale->unit))
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s is recorded for unit %" PRId64 ", and the ledger says %" PRId64,
                    order->order_id, order->unit, sale->unit);
    else
        return;
    found_ghost(judge, purchase);
}

void judge_promises(struct judge *judge) {
    for (size_t i = 0; i < judge->purchase_count; i++)
        check_purchase(judge, &judge->purchases[i]);
    for (size_t i = 0; i < judge->ledger->sale_count; i++)
        check_sale(judge, &judge->ledger->sales[i]);
    for (size_t i = 0; i < judge->ledger->order_count; i++)
        check_order(judge, &judge->ledger->orders[i]);
}
