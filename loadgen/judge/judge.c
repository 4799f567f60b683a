/* Requests by their keys, and joined with the rows of the ledger. All by sorting: no search takes
 * longer than the logarithm of a round. */
#include "judge.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
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

/* The yes replies to one key must all be the same one. */
const struct record *purchase_other_yes(const struct purchase *purchase) {
    assert(purchase->yes != NULL);
    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase->requests[i];

        if (record->outcome == RECORD_SOLD &&
            (strcmp(record->order_id, purchase->yes->order_id) != 0 ||
             record->unit != purchase->yes->unit))
            return record;
    }
    return NULL;
}

/* ---- finding */

static int compare_key(const void *key, const void *purchase) {
    return strcmp(key, ((const struct purchase *)purchase)->requests[0]->key);
}

static int compare_id(const void *id, const void *place) {
    return strcmp(id, (*(const struct purchase *const *)place)->id);
}

static int compare_shard(const void *shard, const void *row) {
    int64_t x = *(const int64_t *)shard, y = ((const struct ledger_row *)row)->shard;

    return (x > y) - (x < y);
}

const struct purchase *judge_find_key(const struct judge *judge, const char *key) {
    return judge->purchase_count > 0 ? bsearch(key, judge->purchases, judge->purchase_count,
                                               sizeof *judge->purchases, compare_key)
                                     : NULL;
}

const struct purchase *judge_find_id(const struct judge *judge, const char *id) {
    const struct purchase **found = bsearch(id, judge->by_id, judge->purchase_count,
                                            sizeof(const struct purchase *), compare_id);

    while (found != NULL && found > judge->by_id && compare_id(id, found - 1) == 0)
        found--;
    return found != NULL ? *found : NULL;
}

const struct purchase *judge_buyer(const struct judge *judge, const struct ledger_sale *sale) {
    size_t place = (size_t)(sale - judge->ledger->sales);

    assert(place < judge->ledger->sale_count);
    return judge->buyers[place];
}

const struct ledger_row *judge_row(const struct judge *judge, int64_t shard) {
    return bsearch(&shard, judge->rows, judge->row_count, sizeof *judge->rows, compare_shard);
}

/* ---- the judge's indexes */

static int by_id(const void *a, const void *b) {
    return compare_id((*(const struct purchase *const *)a)->id, b);
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

/* The purchases of a product are in one run, and so are their requests. */
static void index_purchases(struct judge *judge) {
    judge->requests = judge->purchase_count > 0 ? judge->purchases[0].requests : NULL;
    for (size_t i = 0; i < judge->purchase_count; i++) {
        struct purchase *purchase = &judge->purchases[i];

        assert(purchase->count > 0 && purchase->requests[0]->item == judge->item);
        assert(purchase->requests == judge->requests + judge->request_count);
        assert(i == 0 || compare_key(purchase[-1].requests[0]->key, purchase) < 0);
        judge->request_count += purchase->count;
        purchase->sale = ledger_find_sale(judge->ledger, purchase->id);
        purchase->order = ledger_find_order(judge->ledger, purchase->id);
        judge->by_id[i] = purchase;
    }
    qsort(judge->by_id, judge->purchase_count, sizeof(const struct purchase *), by_id);
}

static void index_sales(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    for (size_t i = 0; i < ledger->sale_count; i++) {
        assert(i == 0 || strcmp(ledger->sales[i - 1].order_id, ledger->sales[i].order_id) <= 0);
        judge->by_unit[i] = &ledger->sales[i];
    }
    qsort(judge->by_unit, ledger->sale_count, sizeof(const struct ledger_sale *), by_unit);
}

/* Backwards, so that of two purchases with one id the first one has the sale. An id with several
 * rows was asked for in each of them. */
static void index_buyers(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    for (size_t i = judge->purchase_count; i-- > 0;) {
        const struct purchase *purchase = judge->by_id[i];

        if (purchase->sale == NULL)
            continue;
        for (size_t place = (size_t)(purchase->sale - ledger->sales);
             place < ledger->sale_count && strcmp(ledger->sales[place].order_id, purchase->id) == 0;
             place++)
            judge->buyers[place] = purchase;
    }
}

/* ---- units that came back */

static bool is_of_count(const struct ledger_row *row, const struct ledger_sale *sale) {
    return row != NULL && sale->unit - row->first_unit == sale->remaining;
}

/* A unit comes back when order-svc cancels a reservation; its customer is then told anything but
 * yes. The only request of a key that has its sale has cancelled none. */
static bool may_have_cancelled(const struct purchase *purchase) {
    if (purchase->sale != NULL && purchase->count == 1)
        return false;
    for (size_t i = 0; i < purchase->count; i++)
        if (purchase->requests[i]->outcome == RECORD_UNKNOWN ||
            purchase->requests[i]->outcome == RECORD_BUSY ||
            purchase->requests[i]->outcome == RECORD_FAILED)
            return true;
    return false;
}

static bool may_have_returned(const struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    if (ledger->returned > 0 || ledger->returned_count > 0)
        return true;
    for (size_t i = 0; i < ledger->sale_count; i++)
        if (!is_of_count(judge_row(judge, ledger->sales[i].shard), &ledger->sales[i]))
            return true;
    for (size_t i = 0; i < judge->purchase_count; i++)
        if (may_have_cancelled(&judge->purchases[i]))
            return true;
    return false;
}

/* A unit that came back is sold with nothing remaining: its number gives it away, unless it is the
 * first of its row, which looks like the last of the count. */
bool judge_is_counted(const struct judge *judge, const struct ledger_sale *sale) {
    if (!is_of_count(judge_row(judge, sale->shard), sale))
        return false;
    return sale->remaining != 0 || !judge->may_have_returned;
}

/* ---- a judge */

int judge_open(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    assert(judge->found != NULL && judge->request_count == 0);
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
    index_buyers(judge);
    judge->may_have_returned = may_have_returned(judge);
    return 0;
}

void judge_close(struct judge *judge) {
    free(judge->by_id);
    free(judge->by_unit);
    free(judge->buyers);
}

void judge_found(struct judge *judge, enum anomaly anomaly, int64_t count, const char *format,
                 ...) {
    struct anomaly_found *found = &judge->found[anomaly];
    va_list arguments;

    assert(anomaly < ANOMALY_COUNT && count > 0);
    judge->has_found[anomaly] = true;
    found->count += count;
    if (found->examples == VERDICT_EXAMPLES)
        return;
    va_start(arguments, format);
    vsnprintf(found->example[found->examples++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}
