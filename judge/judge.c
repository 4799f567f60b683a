/* Joins requests, by their keys, with the rows of the ledger. All is sorted, so that a search takes
 * O(log n). */
#include "judge.h"

#include "number.h"
#include "sorted.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a purchase */

const struct record *purchase_seller(const struct purchase *purchase) {
    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase_request(purchase, i);

        if (record->outcome == RECORD_SOLD || record->outcome == RECORD_UNKNOWN)
            return record;
    }
    return purchase_request(purchase, 0);
}

int64_t purchase_sent_ns(const struct purchase *purchase) {
    const int64_t sent_ns = purchase_seller(purchase)->sent_ns;

    return sent_ns > 0 ? sent_ns : LINEAR_BEFORE;
}

/* ---- finding */

const struct record *judge_next(const struct judge *judge, struct judge_walk *walk) {
    const struct purchase *purchase = &judge->purchases[walk->purchase];

    if (walk->purchase == judge->purchase_count)
        return NULL;
    if (walk->request + 1 < purchase->count)
        return purchase_request(purchase, walk->request++);
    walk->purchase++;
    walk->request = 0;
    return purchase_request(purchase, purchase->count - 1);
}

static int compare_key(const void *key, const void *purchase) {
    return strcmp(key, purchase_key(purchase));
}

static int compare_shard(const void *shard, const void *row) {
    int64_t x = *(const int64_t *)shard, y = ((const struct ledger_row *)row)->shard;

    return (x > y) - (x < y);
}

static const struct purchase *find_key(const struct judge *judge, const char *key) {
    return judge->purchase_count > 0 ? bsearch(key, judge->purchases, judge->purchase_count,
                                               sizeof *judge->purchases, compare_key)
                                     : NULL;
}

/* The place in `named` of the first order that is not before this one. */
static size_t find_named(const struct judge *judge, const char *id) {
    size_t low = 0;

    for (size_t count = judge->named_count; count > 0;) {
        size_t half = count / 2;

        if (strcmp(judge->named[low + half].id, id) < 0) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

static bool judge_is_named(const struct judge *judge, size_t place, const char *id) {
    return place < judge->named_count && strcmp(judge->named[place].id, id) == 0;
}

const struct purchase *judge_find(const struct judge *judge, const char *id) {
    const struct purchase *purchase = find_key(judge, id);
    size_t place = find_named(judge, id);

    return purchase == NULL && judge_is_named(judge, place, id) ? judge->named[place].row
                                                                : purchase;
}

const struct ledger_row *judge_row(const struct judge *judge, int64_t shard) {
    return bsearch(&shard, judge->rows, judge->row_count, sizeof *judge->rows, compare_shard);
}

/* ---- the judge's indexes */

static int by_time(const void *a, const void *b, void *sales) {
    const struct ledger_sale *x = (const struct ledger_sale *)sales + *(const uint32_t *)a;
    const struct ledger_sale *y = (const struct ledger_sale *)sales + *(const uint32_t *)b;

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return strcmp(x->order_id, y->order_id);
}

struct sale_of_unit {
    int64_t unit; /* the first member: sorted_sort() sorts by it */
    uint32_t sale;
};

/* By unit, then time, then id. */
static int sort_by_unit(struct judge *judge) {
    const size_t count = judge->ledger->sale_count;
    struct ledger_sale *sales = judge->ledger->sales;
    struct sale_of_unit *entries = malloc((count + 1) * sizeof *entries);

    if (entries == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct sale_of_unit){sales[i].unit, (uint32_t)i};
    sorted_sort(entries, count, sizeof *entries);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && entries[end].unit == entries[i].unit; end++)
            judge->by_unit[end] = entries[end].sale;
        if (end > i + 1)
            qsort_r(&judge->by_unit[i], end - i, sizeof *judge->by_unit, by_time, sales);
    }
    free(entries);
    return 0;
}

static int index_keys(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    judge->by_key = calloc(ledger->sale_count + 1, sizeof *judge->by_key);
    for (size_t i = 0; i < ledger->sale_count && judge->by_key != NULL; i++)
        if (ledger_extra(&ledger->sales[i]).key != NULL)
            judge->by_key[judge->key_count++] = (struct ids_entry){
                .id = ledger_extra(&ledger->sales[i]).key, .row = &ledger->sales[i]};
    return judge->by_key != NULL ? ids_sort(judge->by_key, judge->key_count) : -1;
}

const struct ledger_order *judge_order(const struct judge *judge, const struct purchase *purchase) {
    if (!purchase->has_order)
        return NULL;
    if (!judge->is_mirrored)
        return ledger_find_order(judge->ledger, purchase_id(purchase));
    return purchase->has_sale ? &judge->ledger->orders[purchase->bought.sale - judge->ledger->sales]
                              : NULL;
}

static void give_sale(struct purchase *purchase, const struct ledger_sale *sale) {
    purchase->bought.sale = sale;
    purchase->has_sale = true;
}

/* The orders that replies name: names and sales are in the same order. */
static void join_names(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    size_t next = 0;

    for (size_t i = 0; i < judge->named_count; i++) {
        struct purchase *purchase = (struct purchase *)(uintptr_t)judge->named[i].row;
        const char *id = judge->named[i].id;

        if (i + IDS_AHEAD < judge->named_count) {
            __builtin_prefetch(judge->named[i + IDS_AHEAD].id);
            __builtin_prefetch(judge->named[i + IDS_AHEAD].row);
        }
        if (next + IDS_AHEAD < ledger->sale_count)
            __builtin_prefetch(ledger->sales[next + IDS_AHEAD].order_id);
        while (next < ledger->sale_count && strcmp(ledger->sales[next].order_id, id) < 0)
            next++;
        if (next < ledger->sale_count && strcmp(ledger->sales[next].order_id, id) == 0 &&
            strcmp(purchase_id(purchase), id) == 0)
            give_sale(purchase, &ledger->sales[next]);
    }
}

/* A yes that names an order promises that order; any other reply may be of the order that has its
 * key. Purchases, sales and keys are in the same order. */
static void join_keys(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    size_t next = 0, next_key = 0;

    for (size_t i = 0; i < judge->purchase_count; i++) {
        struct purchase *purchase = &judge->purchases[i];
        const char *key = purchase_key(purchase);

        while (next < ledger->sale_count && strcmp(ledger->sales[next].order_id, key) < 0)
            next++;
        if (!purchase->has_sale && judge->are_keys_ids && next < ledger->sale_count &&
            strcmp(purchase->bought.id, ledger->sales[next].order_id) == 0)
            give_sale(purchase, &ledger->sales[next]);
        while (next_key < judge->key_count && strcmp(judge->by_key[next_key].id, key) < 0)
            next_key++;
        if (!purchase->has_sale && judge->key_count > 0 &&
            (purchase->yes == 0 || record_order_id(purchase_yes(purchase))[0] == '\0')) {
            purchase->is_named = true;
            if (next_key < judge->key_count && strcmp(judge->by_key[next_key].id, key) == 0)
                give_sale(purchase, judge->by_key[next_key].row);
        }
        purchase->has_order = purchase->is_named;
    }
}

static bool is_mirrored(const struct ledger *ledger) {
    for (size_t i = 0; i < ledger->sale_count && i < ledger->order_count; i++)
        if (ledger->sales[i].order_id != ledger->orders[i].order_id)
            return false;
    return ledger->sale_count == ledger->order_count;
}

/* The purchases of a product stand together. */
static void index_purchases(struct judge *judge) {
    for (size_t i = 0; i < judge->purchase_count; i++) {
        struct purchase *purchase = &judge->purchases[i];

        assert(purchase->count > 0 && purchase_request(purchase, 0)->item == judge->item);
        assert(i == 0 || compare_key(purchase_key(&purchase[-1]), purchase) < 0);
        judge->request_count += purchase->count;
        judge->has_matches = judge->has_matches || purchase->is_named;
    }
}

static bool names_another(const struct judge *judge, const struct record *record) {
    return (record->outcome == RECORD_SOLD || judge->is_shop_named) &&
           record_order_id(record)[0] != '\0' &&
           (!judge->are_keys_ids || strcmp(record_order_id(record), record_key(record)) != 0);
}

static size_t list_named(struct judge *judge, struct ids_entry *entries) {
    size_t count = 0;

    for (size_t i = 0; i < judge->purchase_count; i++)
        for (size_t k = 0; k < judge->purchases[i].count; k++) {
            const struct record *record = purchase_request(&judge->purchases[i], k);

            if (!names_another(judge, record))
                continue;
            if (entries != NULL)
                entries[count] =
                    (struct ids_entry){.id = record_order_id(record), .row = &judge->purchases[i]};
            count++;
        }
    return count;
}

/* If an order's id must be its key, there are none without a fault. */
static int index_named(struct judge *judge) {
    judge->named_count = list_named(judge, NULL);
    judge->named = calloc(judge->named_count + 1, sizeof *judge->named);
    if (judge->named == NULL)
        return -1;
    (void)list_named(judge, judge->named);
    return ids_sort(judge->named, judge->named_count);
}

static int index_sales(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    judge->most = 1;
    for (size_t i = 0; i < ledger->sale_count; i++) {
        const struct ledger_sale *sale = &ledger->sales[i];

        assert(sale->quantity >= 0);
        judge->by_unit[i] = (uint32_t)i;
        judge->sold += sale->quantity;
        judge->most = number_max(judge->most, sale->quantity);
        judge->is_mixed = judge->is_mixed || sale->quantity != ledger->sales[0].quantity;
    }
    return judge_has_units(judge) ? sort_by_unit(judge) : 0;
}

static bool is_answered_with(const struct purchase *purchase, const char *id) {
    return purchase->yes == 0 || strcmp(purchase_id(purchase), id) == 0;
}

static struct buyer buyer_of(const struct purchase *purchase, const char *id) {
    struct buyer buyer = {purchase, purchase_sent_ns(purchase), LINEAR_NEVER};

    if (is_answered_with(purchase, id))
        buyer.answered_ns = purchase_answered_ns(purchase);
    return buyer;
}

/* When the customer of this purchase was told yes with this order; LINEAR_NEVER: never. */
static int64_t told_at(const struct purchase *purchase, const char *id) {
    int64_t last_ns = LINEAR_NEVER;

    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase_request(purchase, i);

        if (record->outcome == RECORD_SOLD && strcmp(record_order_id(record), id) == 0 &&
            (last_ns == LINEAR_NEVER || record->received_ns > last_ns))
            last_ns = record->received_ns;
    }
    return last_ns;
}

/* How much a purchase that names an order says about its buyer: a yes more than no reply. */
static int claim_of(const struct purchase *purchase, int64_t told_ns) {
    return told_ns != LINEAR_NEVER ? 2 : purchase->yes == 0 && purchase->is_unknown;
}

/* The buyer of an order that is no request's key: the first of the customers with the best claim to
 * it. The order was sold after the first request that names it. `place` is that of its id in
 * `named`. */
static struct buyer told_of(const struct judge *judge, size_t place, const char *id) {
    struct buyer buyer = {NULL, LINEAR_BEFORE, LINEAR_NEVER};
    int best = -1;

    for (; judge_is_named(judge, place, id); place++) {
        const struct purchase *purchase = judge->named[place].row;
        const int64_t told_ns = told_at(purchase, id), sent_ns = purchase_sent_ns(purchase);
        const int claim = claim_of(purchase, told_ns);

        if (claim > best || (claim == best && sent_ns < purchase_sent_ns(buyer.purchase)))
            buyer.purchase = purchase;
        if (best < 0 || sent_ns < buyer.sent_ns)
            buyer.sent_ns = sent_ns;
        best = claim > best ? claim : best;
        if (told_ns != LINEAR_NEVER &&
            (buyer.answered_ns == LINEAR_NEVER || told_ns > buyer.answered_ns))
            buyer.answered_ns = told_ns;
    }
    return buyer;
}

/* `buyers` has a place and its kind, or 0: no request asked for the sale. The times of most buyers
 * follow from their own requests, so they need no memory. */
#define BUYER_ASKED  (UINT32_C(1) << 30) /* the place of a purchase: its key is that of the sale */
#define BUYER_NAMED  (UINT32_C(2) << 30) /* in `told`: any number of replies name the order */
#define BUYER_SEATED (UINT32_C(3) << 30) /* of a purchase: it may have bought the sale */
#define BUYER_PLACE  (BUYER_ASKED - 1)

struct buyer judge_buyer(const struct judge *judge, const struct ledger_sale *sale) {
    const uint32_t told = judge->buyers[sale - judge->ledger->sales], place = told & BUYER_PLACE;
    struct buyer buyer = {NULL, LINEAR_BEFORE, LINEAR_NEVER};

    if (told - place == BUYER_ASKED)
        buyer = buyer_of(&judge->purchases[place], sale->order_id);
    else if (told - place == BUYER_NAMED)
        buyer = judge->told[place];
    else if (told - place == BUYER_SEATED)
        buyer.purchase = &judge->purchases[place];
    if (buyer.answered_ns < buyer.sent_ns) /* of another sale */
        buyer.answered_ns = LINEAR_NEVER;
    return buyer;
}

/* The buyers of sales that tell their key: keys and purchases are in the same order. */
static void index_key_buyers(struct judge *judge) {
    size_t next = 0;

    for (size_t i = 0; i < judge->key_count; i++) {
        const struct ledger_sale *sale = judge->by_key[i].row;
        const char *key = judge->by_key[i].id;

        if (i + IDS_AHEAD < judge->key_count)
            __builtin_prefetch(judge->by_key[i + IDS_AHEAD].row);
        while (next < judge->purchase_count && compare_key(key, &judge->purchases[next]) > 0)
            next++;
        if (next < judge->purchase_count && compare_key(key, &judge->purchases[next]) == 0)
            judge->buyers[sale - judge->ledger->sales] = BUYER_ASKED + (uint32_t)next;
    }
}

/* Sales, purchases and names are in the same order. All rows of one id have the same buyer. */
static int index_buyers(struct judge *judge) {
    size_t next = 0, name = 0, last_told = SIZE_MAX;
    uint32_t told = 0;

    judge->told = calloc(
        1 + (size_t)number_min((int64_t)judge->named_count, (int64_t)judge->ledger->sale_count),
        sizeof *judge->told);
    if (judge->told == NULL)
        return -1;
    index_key_buyers(judge);
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const char *id = judge->ledger->sales[i].order_id;
        uint32_t *buyer = &judge->buyers[i];

        if (i + IDS_AHEAD < judge->ledger->sale_count)
            __builtin_prefetch(judge->ledger->sales[i + IDS_AHEAD].order_id);
        if (name + IDS_AHEAD < judge->named_count)
            __builtin_prefetch(judge->named[name + IDS_AHEAD].id);
        while (next < judge->purchase_count && compare_key(id, &judge->purchases[next]) > 0)
            next++;
        while (name < judge->named_count && strcmp(judge->named[name].id, id) < 0)
            name++;
        if (judge->are_keys_ids && next < judge->purchase_count &&
            compare_key(id, &judge->purchases[next]) == 0)
            *buyer = BUYER_ASKED + (uint32_t)next;
        else if (*buyer == 0 && judge_is_named(judge, name, id)) {
            if (name != last_told)
                judge->told[told++] = told_of(judge, name, id);
            last_told = name;
            *buyer = BUYER_NAMED + told - 1;
        }
    }
    return 0;
}

/* A shop may give the id of an order that it gave up to the next customer. So a customer that was
 * told no has no part in the order of another one; a customer that was told nothing may have
 * another order. */
static void drop_names(struct judge *judge) {
    for (size_t i = 0; i < judge->purchase_count; i++) {
        struct purchase *purchase = &judge->purchases[i];
        const struct ledger_sale *sale = purchase_sale(purchase);

        if (!judge->is_shop_named || purchase->yes > 0 || sale == NULL ||
            judge_buyer(judge, sale).purchase == purchase)
            continue;
        purchase->is_named = !purchase->is_unknown;
        purchase->bought.id = sale->order_id;
        purchase->has_sale = purchase->has_order = false;
    }
}

/* A request that was told yes comes after all that were told nothing: it surely has an order. */
static int by_claim(const void *a, const void *b) {
    const struct purchase *x = *(struct purchase *const *)a, *y = *(struct purchase *const *)b;

    const int64_t sent_x = purchase_sent_ns(x), sent_y = purchase_sent_ns(y);

    if ((x->yes > 0) != (y->yes > 0))
        return x->yes > 0 ? 1 : -1;
    return (sent_x > sent_y) - (sent_x < sent_y);
}

static bool is_nobodys(const struct purchase *purchase) {
    if (!purchase->is_named)
        return purchase->is_unknown || purchase->yes > 0;
    return purchase->is_unknown && record_is_nameless(purchase_request(purchase, 0));
}

/* A request without a key and without a name in its reply may own any order that no other request asked
 * for. It is not known which one, so the sale does not get its times; stock.c checks whether
 * enough of these requests were sent in time. For the prose, and to count overlaps, the last
 * sent request gets the first order, those with a yes before the others. */
static int seat_nameless(struct judge *judge) {
    struct purchase **nameless = calloc(judge->purchase_count + 1, sizeof(struct purchase *));
    size_t count = 0, promises = 0;

    if (nameless == NULL)
        return -1;
    for (size_t i = 0; i < judge->purchase_count; i++)
        if (is_nobodys(&judge->purchases[i])) {
            promises += judge->purchases[i].yes > 0;
            nameless[count++] = &judge->purchases[i];
        }
    if (count > 1)
        qsort(nameless, count, sizeof(struct purchase *), by_claim);
    judge->empty_promises = (int64_t)promises;
    for (size_t i = 0; i < judge->ledger->sale_count && (count > 0 || promises > 0); i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        struct purchase *purchase;

        if (judge->buyers[i] != 0)
            continue;
        judge->empty_promises--;
        if (count == 0)
            continue;
        purchase = nameless[--count];
        purchase->is_seated = purchase->has_order = true;
        give_sale(purchase, sale);
        judge->buyers[i] = BUYER_SEATED + (uint32_t)(purchase - judge->purchases);
    }
    free(nameless);
    return 0;
}

/* ---- units that came back */

bool judge_may_undo(const struct judge *judge, const struct record *record) {
    return judge->is_keyless &&
           (record->outcome == RECORD_UNKNOWN || record->outcome == RECORD_BUSY ||
            record->outcome == RECORD_FAILED);
}

bool judge_may_have_two(const struct judge *judge, const struct record *record) {
    return judge->is_loaded && record->sent_ns > 0 && record->outcome != RECORD_SOLD_OUT;
}

/* A key with one request and a sale gave no unit back. */
static bool may_have_returned(const struct judge *judge) {
    if (judge->is_loaded)
        return true;
    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct purchase *purchase = &judge->purchases[i];

        if (purchase->has_sale && purchase->count == 1)
            continue;
        for (size_t r = 0; r < purchase->count; r++)
            if (judge_may_undo(judge, purchase_request(purchase, r)))
                return true;
    }
    return false;
}

/* The sale of a unit that came back to the list has a `remaining` of 0. That shows it, unless the
 * unit is the first of its row. The sale of a unit that came back to the count may leave any number
 * that the count has had; the count was never below the units that were never sold. */
static bool may_leave(const struct ledger_row *row, int64_t remaining) {
    if (!row->returns_to_count)
        return remaining == 0;
    return remaining >= 0 && remaining >= row->available && remaining < row->initial;
}

enum sale_kind judge_sale_kind(const struct judge *judge, const struct ledger_sale *sale) {
    const struct ledger_row *row = judge_row(judge, sale->shard);
    const int64_t rank = row != NULL ? sale->unit - row->first_unit : 0;

    if (judge->ledger->is_unnumbered)
        return judge->ledger->can_return ? SALE_EITHER : SALE_COUNTED;
    if (row == NULL)
        return SALE_WRONG;
    if (!judge->may_have_returned || rank < 0 || rank >= row->initial ||
        !may_leave(row, sale->remaining))
        return rank == sale->remaining ? SALE_COUNTED : SALE_WRONG;
    return rank == sale->remaining ? SALE_EITHER : SALE_AGAIN;
}

/* ---- a judge */

int judge_open(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;

    assert(judge->found != NULL && judge->request_count == 0);
    assert(judge->purchase_count <= BUYER_PLACE && ledger->sale_count <= BUYER_PLACE);
    judge->whole = (struct ledger_row){
        .first_unit = 1, .initial = ledger->initial, .available = ledger->available};
    judge->rows = ledger->row_count > 0 ? ledger->rows : &judge->whole;
    judge->row_count = ledger->row_count > 0 ? ledger->row_count : 1;
    judge->has_matches = judge->are_keys_ids || ledger->has_keys;
    judge->by_unit = calloc(ledger->sale_count + 1, sizeof *judge->by_unit);
    judge->buyers = calloc(ledger->sale_count + 1, sizeof *judge->buyers);
    if (judge->by_unit == NULL || judge->buyers == NULL || index_keys(judge) != 0 ||
        index_sales(judge) != 0)
        return -1;
    index_purchases(judge);
    judge->is_mirrored = is_mirrored(ledger);
    if (index_named(judge) != 0)
        return -1;
    join_names(judge);
    join_keys(judge);
    if (index_buyers(judge) != 0)
        return -1;
    drop_names(judge);
    if (seat_nameless(judge) != 0)
        return -1;
    for (size_t i = 0; i < judge->row_count; i++)
        judge->is_loaded |= judge->rows[i].is_loaded;
    judge->may_have_returned = may_have_returned(judge);
    return 0;
}

void judge_close(struct judge *judge) {
    free(judge->named);
    free(judge->by_unit);
    free(judge->by_key);
    free(judge->buyers);
    free(judge->told);
}

int64_t judge_first_unit(const struct ledger_sale *sale) {
    const int64_t most = INT64_MAX - sale->quantity;

    return sale->unit < most ? sale->unit : most;
}

bool judge_has_units(const struct judge *judge) {
    return !judge->ledger->is_unnumbered || judge->ledger->has_units;
}

const char *judge_unit(const struct judge *judge, int64_t unit, char text[JUDGE_UNIT]) {
    const bool is_told = judge_has_units(judge) && unit != -1;

    snprintf(text, JUDGE_UNIT, is_told ? "unit %" PRId64 : "a unit", unit);
    return text;
}

const char *judge_units(const struct judge *judge, const struct ledger_sale *sale,
                        char text[JUDGE_UNIT]) {
    if (sale->quantity == 1)
        return judge_unit(judge, sale->unit, text);
    snprintf(text, JUDGE_UNIT, "%" PRId32 " units", sale->quantity);
    return text;
}

const char *judge_place(const struct ledger_sale *sale, char text[JUDGE_PLACE]) {
    text[0] = '\0';
    if (sale->instance != NULL)
        snprintf(text, JUDGE_PLACE, " (%s)", sale->instance);
    return text;
}

void judge_found(struct judge *judge, enum anomaly anomaly, int64_t count, const char *format,
                 ...) {
    struct anomaly_found *found = &judge->found[anomaly];
    va_list arguments;

    assert(anomaly < ANOMALY_COUNT && count >= 0);
    judge->has_found[anomaly] = true;
    found->count += count;
    if (found->examples == VERDICT_EXAMPLES)
        return;
    va_start(arguments, format);
    vsnprintf(found->example[found->examples++], VERDICT_TEXT, format, arguments);
    va_end(arguments);
}
