/* What clients were told against what the ledger says: promises without a sale, and sales without
 * a promise. */
#include "judge.h"

#include <inttypes.h>
#include <string.h>

static void check_duplicate(struct judge *judge, const struct purchase *purchase) {
    const char *key = purchase->requests[0]->key;
    const struct record *other = purchase_other_yes(purchase);

    if (other != NULL)
        judge_found(judge, ANOMALY_DUPLICATE, 1,
                    "key %s was answered with order %s, unit %" PRId64 ", and with order %s, unit "
                    "%" PRId64,
                    key, purchase->id, purchase->yes->unit, other->order_id, other->unit);
    else if (strcmp(purchase->id, key) != 0 && purchase->sale != NULL &&
             ledger_find_sale(judge->ledger, key) != NULL)
        judge_found(judge, ANOMALY_DUPLICATE, 1, "key %s bought twice: order %s and order %s", key,
                    key, purchase->id);
    else
        return;
    judge->duplicate = judge->duplicate ? judge->duplicate : purchase;
}

static void check_yes(struct judge *judge, const struct purchase *purchase) {
    const struct ledger_sale *sale = purchase->sale;
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
    else
        return;
    judge->ghost = judge->ghost ? judge->ghost : purchase;
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
                sale ? sale->unit : order->unit, sale ? sale->instance : "an order alone",
                record_outcome_text(purchase->requests[0]->outcome));
    found_orphan(judge, purchase, sale);
}

static void check_purchase(struct judge *judge, const struct purchase *purchase) {
    if (purchase->yes != NULL) {
        check_yes(judge, purchase);
        check_duplicate(judge, purchase);
    } else if (purchase->is_unknown) {
        judge->unknown_sold += purchase->sale != NULL;
    } else {
        check_no(judge, purchase);
    }
}

/* Two customers hold one order, or one was told the id of the other's: one of them has nothing. */
static void find_shared_orders(struct judge *judge) {
    for (size_t i = 1; i < judge->purchase_count; i++) {
        const struct purchase *a = judge->by_id[i - 1], *b = judge->by_id[i];

        if (strcmp(a->id, b->id) != 0)
            continue;
        judge_found(judge, ANOMALY_GHOST, 1, "order %s was promised to two customers", a->id);
        judge->ghost = judge->ghost ? judge->ghost : b->yes ? b : a;
    }
}

/* A row under a key that was answered with another order is its DUPLICATE, or as good as asked for.
 */
static bool is_asked_for(const struct judge *judge, const struct ledger_sale *sale) {
    return judge_buyer(judge, sale) != NULL || judge_find_key(judge, sale->order_id) != NULL;
}

static void check_sale(struct judge *judge, const struct ledger_sale *sale) {
    const struct purchase *buyer = judge_buyer(judge, sale);

    if (!is_asked_for(judge, sale)) {
        judge_found(judge, ANOMALY_ORPHAN, 1,
                    "order %s took unit %" PRId64 " (%s), and no request of this run asked for it",
                    sale->order_id, sale->unit, sale->instance);
        found_orphan(judge, NULL, sale);
    } else if (buyer && buyer->yes == NULL && buyer->is_unknown && buyer->order == NULL) {
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
    purchase = judge_find_id(judge, order->order_id);
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
    judge->ghost = judge->ghost ? judge->ghost : purchase;
}

void judge_promises(struct judge *judge) {
    for (size_t i = 0; i < judge->purchase_count; i++)
        check_purchase(judge, &judge->purchases[i]);
    find_shared_orders(judge);
    for (size_t i = 0; i < judge->ledger->sale_count; i++)
        check_sale(judge, &judge->ledger->sales[i]);
    for (size_t i = 0; i < judge->ledger->order_count; i++)
        check_order(judge, &judge->ledger->orders[i]);
}
