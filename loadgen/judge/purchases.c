/* Requests by their keys, and joined with the rows of the ledger. All by sorting: no search takes
 * longer than the logarithm of a round. */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

/* ---- purchases */

static int64_t sent_at(const struct record *record) {
    return record->sent_ns > 0 ? record->sent_ns : INT64_MAX;
}

static int by_key(const void *a, const void *b) {
    const struct record *x = *(const struct record *const *)a;
    const struct record *y = *(const struct record *const *)b;
    int64_t sent_x = sent_at(x), sent_y = sent_at(y);
    int order;

    if (x->item != y->item)
        return x->item < y->item ? -1 : 1;
    order = strcmp(x->key, y->key);
    return order != 0 ? order : (sent_x > sent_y) - (sent_x < sent_y);
}

static void take_request(struct purchase *purchase, const struct record *record) {
    const struct record *yes = purchase->yes;

    purchase->count++;
    purchase->is_unknown = purchase->is_unknown || record->outcome == RECORD_UNKNOWN;
    if (record->outcome == RECORD_SOLD && (!yes || record->received_ns < yes->received_ns))
        purchase->yes = record;
}

/* The first that may have sold. One that was told "sold out" sold nothing by itself. */
static const struct record *first_seller(const struct purchase *purchase) {
    for (size_t i = 0; i < purchase->count; i++)
        if (purchase->requests[i]->outcome != RECORD_SOLD_OUT)
            return purchase->requests[i];
    return purchase->requests[0];
}

static void sum_up(struct purchase *purchase) {
    const struct record *first = first_seller(purchase), *yes = purchase->yes;

    purchase->sent_ns = first->sent_ns > 0 ? first->sent_ns : LINEAR_BEFORE;
    purchase->answered_ns = yes ? yes->received_ns : LINEAR_NEVER;
    purchase->id = yes && yes->order_id[0] != '\0' ? yes->order_id : purchase->requests[0]->key;
}

int purchases_make(struct purchases *purchases, const struct recorder *recorder) {
    size_t count = recorder->ended;

    *purchases = (struct purchases){.requests = calloc(count + 1, sizeof(const struct record *)),
                                    .all = calloc(count + 1, sizeof *purchases->all)};
    if (purchases->requests == NULL || purchases->all == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        purchases->requests[i] = &recorder->records[i];
    qsort(purchases->requests, count, sizeof(const struct record *), by_key);
    for (size_t i = 0; i < count; i++) {
        const struct record *record = purchases->requests[i];
        const struct record *before = i > 0 ? purchases->requests[i - 1] : NULL;

        if (before == NULL || before->item != record->item || strcmp(before->key, record->key) != 0)
            purchases->all[purchases->count++].requests = &purchases->requests[i];
        take_request(&purchases->all[purchases->count - 1], record);
    }
    for (size_t i = 0; i < purchases->count; i++)
        sum_up(&purchases->all[i]);
    return 0;
}

void purchases_free(struct purchases *purchases) {
    free(purchases->requests);
    free(purchases->all);
}

/* ---- finding */

static int compare_sale_id(const void *id, const void *sale) {
    return strcmp(id, ((const struct ledger_sale *)sale)->order_id);
}

static int compare_order_id(const void *id, const void *order) {
    return strcmp(id, ((const struct ledger_order *)order)->order_id);
}

static int compare_key(const void *key, const void *purchase) {
    return strcmp(key, ((const struct purchase *)purchase)->requests[0]->key);
}

static int compare_shard(const void *shard, const void *row) {
    int64_t x = *(const int64_t *)shard, y = ((const struct ledger_row *)row)->shard;

    return (x > y) - (x < y);
}

const struct ledger_sale *judge_find_sale(const struct judge *judge, const char *order_id) {
    const struct ledger *ledger = judge->ledger;

    if (ledger->sale_count == 0)
        return NULL;
    return bsearch(order_id, ledger->sales, ledger->sale_count, sizeof *ledger->sales,
                   compare_sale_id);
}

static const struct ledger_order *find_order(const struct judge *judge, const char *order_id) {
    const struct ledger *ledger = judge->ledger;

    if (ledger->order_count == 0)
        return NULL;
    return bsearch(order_id, ledger->orders, ledger->order_count, sizeof *ledger->orders,
                   compare_order_id);
}

const struct purchase *judge_find_key(const struct judge *judge, const char *key) {
    if (judge->purchase_count == 0)
        return NULL;
    return bsearch(key, judge->purchases, judge->purchase_count, sizeof *judge->purchases,
                   compare_key);
}

const struct purchase *judge_buyer(const struct judge *judge, const struct ledger_sale *sale) {
    return judge->buyers[sale - judge->ledger->sales];
}

const struct ledger_row *judge_row(const struct judge *judge, int64_t shard) {
    return bsearch(&shard, judge->rows, judge->row_count, sizeof *judge->rows, compare_shard);
}

/* ---- the judge's indexes */

static int by_id(const void *a, const void *b) {
    return strcmp((*(const struct purchase *const *)a)->id,
                  (*(const struct purchase *const *)b)->id);
}

static int by_unit(const void *a, const void *b) {
    const struct ledger_sale *x = *(const struct ledger_sale *const *)a;
    const struct ledger_sale *y = *(const struct ledger_sale *const *)b;
    int order;

    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    order = strcmp(x->at, y->at);
    return order != 0 ? order : strcmp(x->order_id, y->order_id);
}

/* Purchases and rows are both in order of their ids, except for replies that name another order
 * than their key. */
static void index_purchases(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    size_t sale = 0, order = 0;

    for (size_t i = 0; i < judge->purchase_count; i++) {
        struct purchase *purchase = &judge->purchases[i];
        const char *id = purchase->id;

        judge->by_id[i] = purchase;
        if (strcmp(id, purchase->requests[0]->key) != 0) {
            purchase->sale = judge_find_sale(judge, id);
            purchase->order = find_order(judge, id);
            continue;
        }
        while (sale < ledger->sale_count && strcmp(ledger->sales[sale].order_id, id) < 0)
            sale++;
        while (order < ledger->order_count && strcmp(ledger->orders[order].order_id, id) < 0)
            order++;
        if (sale < ledger->sale_count && strcmp(ledger->sales[sale].order_id, id) == 0)
            purchase->sale = &ledger->sales[sale];
        if (order < ledger->order_count && strcmp(ledger->orders[order].order_id, id) == 0)
            purchase->order = &ledger->orders[order];
    }
    qsort(judge->by_id, judge->purchase_count, sizeof(const struct purchase *), by_id);
}

/* Both sides are in order of their ids. */
static void index_sales(struct judge *judge) {
    size_t next = 0;

    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];

        judge->by_unit[i] = sale;
        while (next < judge->purchase_count && strcmp(judge->by_id[next]->id, sale->order_id) < 0)
            next++;
        if (next < judge->purchase_count && strcmp(judge->by_id[next]->id, sale->order_id) == 0)
            judge->buyers[i] = judge->by_id[next];
    }
    qsort(judge->by_unit, judge->ledger->sale_count, sizeof(const struct ledger_sale *), by_unit);
}

static bool is_of_count(const struct ledger_row *row, const struct ledger_sale *sale) {
    return row != NULL && sale->unit - row->first_unit == sale->remaining;
}

/* A unit comes back when order-svc cancels a reservation; its customer is then told anything but
 * yes. */
static bool may_have_returned(const struct judge *judge) {
    if (judge->ledger->returned > 0 || judge->ledger->returned_count > 0)
        return true;
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];

        if (!is_of_count(judge_row(judge, sale->shard), sale))
            return true;
    }
    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct purchase *purchase = &judge->purchases[i];

        for (size_t r = 0; r < purchase->count && (purchase->sale == NULL || purchase->count > 1);
             r++)
            if (purchase->requests[r]->outcome == RECORD_UNKNOWN ||
                purchase->requests[r]->outcome == RECORD_BUSY ||
                purchase->requests[r]->outcome == RECORD_FAILED)
                return true;
    }
    return false;
}

/* A unit that came back is sold with nothing remaining: its number gives it away, unless it is the
 * first of its row, which looks like the last of the count. */
bool judge_is_counted(const struct judge *judge, const struct ledger_sale *sale) {
    if (!is_of_count(judge_row(judge, sale->shard), sale))
        return false;
    return sale->remaining != 0 || !judge->may_have_returned;
}

int judge_open(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    judge->whole = (struct ledger_row){
        .first_unit = 1, .initial = ledger->initial, .available = ledger->available};
    judge->rows = ledger->row_count > 0 ? ledger->rows : &judge->whole;
    judge->row_count = ledger->row_count > 0 ? ledger->row_count : 1;
    judge->by_id = calloc(judge->purchase_count + 1, sizeof(const struct purchase *));
    judge->by_unit = calloc(ledger->sale_count + 1, sizeof(const struct ledger_sale *));
    judge->buyers = calloc(ledger->sale_count + 1, sizeof(const struct purchase *));
    if (judge->by_id == NULL || judge->by_unit == NULL || judge->buyers == NULL)
        return -1;
    index_purchases(judge);
    index_sales(judge);
    judge->may_have_returned = may_have_returned(judge);
    return 0;
}

void judge_close(struct judge *judge) {
    free(judge->by_id);
    free(judge->by_unit);
    free(judge->buyers);
}
