/* What clients were told against what the ledger says: promises without a sale, and sales without
 * a promise. */
#include "verdict_internal.h"

#include <inttypes.h>
#include <string.h>

static void check_duplicate(struct judge *judge, const struct record *record) {
    if (strcmp(record->order_id, record->key) == 0 ||
        judge_find_sale(judge, record->order_id) == NULL ||
        judge_find_sale(judge, record->key) == NULL)
        return;
    judge_found(judge, ANOMALY_DUPLICATE, 1, "key %s bought twice: order %s and order %s",
                record->key, record->key, record->order_id);
}

static void check_yes(struct judge *judge, const struct record *record) {
    const char *id = judge_id(record);
    const struct ledger_sale *sale = judge_find_sale(judge, id);
    const struct ledger_order *order = judge_find_order(judge, id);

    if (sale == NULL)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised unit %" PRId64 ", and the ledger has no such sale", id,
                    record->unit);
    else if (sale->unit != record->unit)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised unit %" PRId64 ", and the ledger says %" PRId64, id,
                    record->unit, sale->unit);
    else if (order == NULL)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s was promised unit %" PRId64 ", and no order was recorded", id,
                    record->unit);
    else if (order->unit != sale->unit)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s is recorded for unit %" PRId64 ", and the ledger says %" PRId64, id,
                    order->unit, sale->unit);
    check_duplicate(judge, record);
}

static void check_no(struct judge *judge, const struct record *record) {
    const struct ledger_sale *sale = judge_find_sale(judge, record->key);
    const struct ledger_order *order = judge_find_order(judge, record->key);

    if (sale == NULL && order == NULL)
        return;
    judge_found(judge, ANOMALY_ORPHAN, 1,
                "order %s took unit %" PRId64 " (%s), and its customer was %s", record->key,
                sale ? sale->unit : order->unit, sale ? sale->instance : "an order alone",
                record_outcome_text(record->outcome));
}

static void check_record(struct judge *judge, const struct record *record) {
    switch (record->outcome) {
    case RECORD_SOLD:
        check_yes(judge, record);
        return;
    case RECORD_UNKNOWN:
        judge->verdict->unknown_sold += judge_find_sale(judge, record->key) != NULL;
        return;
    case RECORD_SOLD_OUT:
    case RECORD_BUSY:
    case RECORD_REFUSED:
    case RECORD_FAILED:
    case RECORD_UNREACHED:
    case RECORD_UNSENT:
    case RECORD_OUTCOME_COUNT:
        check_no(judge, record);
    }
}

/* Two customers hold one order, or one was told the id of the other's: one of them has nothing. */
static void find_shared_orders(struct judge *judge) {
    for (size_t i = 1; i < judge->recorder->count; i++) {
        const struct record *a = judge->by_id[i - 1], *b = judge->by_id[i];

        if (strcmp(judge_id(a), judge_id(b)) == 0)
            judge_found(judge, ANOMALY_GHOST, 1, "order %s was promised to two customers",
                        judge_id(a));
    }
}

static void check_sale(struct judge *judge, const struct ledger_sale *sale) {
    const struct record *record = judge_find_record(judge, sale->order_id);

    if (record == NULL)
        judge_found(judge, ANOMALY_ORPHAN, 1,
                    "order %s took unit %" PRId64 " (%s), and no request of this run asked for it",
                    sale->order_id, sale->unit, sale->instance);
    else if (record->outcome == RECORD_UNKNOWN && judge_find_order(judge, sale->order_id) == NULL)
        judge->verdict->unsettled++;
}

/* Orders whose request was answered with yes or no have been looked at already. */
static void check_order(struct judge *judge, const struct ledger_order *order) {
    const struct record *record = judge_find_record(judge, order->order_id);

    if (record != NULL && record->outcome != RECORD_UNKNOWN)
        return;
    if (judge_find_sale(judge, order->order_id) == NULL)
        judge_found(judge, ANOMALY_GHOST, 1,
                    "order %s is recorded for unit %" PRId64 ", and the ledger has no such sale",
                    order->order_id, order->unit);
}

void judge_promises(struct judge *judge) {
    for (size_t i = 0; i < judge->recorder->count; i++)
        check_record(judge, &judge->recorder->records[i]);
    find_shared_orders(judge);
    for (size_t i = 0; i < judge->ledger->sale_count; i++)
        check_sale(judge, &judge->ledger->sales[i]);
    for (size_t i = 0; i < judge->ledger->order_count; i++)
        check_order(judge, &judge->ledger->orders[i]);
}
