/* Makes the ledger and the records of each product of a cart. */
#include "cart.h"

#include "number.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool cart_is_sold(const char *spec) {
    static const char option[] = ",cart=on";
    const char *at = strstr(spec, option);

    return at != NULL && (at[sizeof option - 1] == '\0' || at[sizeof option - 1] == ',');
}

/* What the judge takes off a unit's number, and off the rest of its row. */
struct shift {
    int64_t unit, remaining;
};

static struct shift shift_of(const struct ledger *ledger, int product) {
    const struct ledger_row *row = &ledger->rows[product], *other = &ledger->rows[1 - product];
    const int64_t more = number_max(row->initial - other->initial, 0);
    const int64_t surplus = number_max(number_min(more, row->available), 0);

    return (struct shift){row->first_unit - 1 + surplus, surplus};
}

/* ---- the ledger */

static int by_unit(const void *a, const void *b) {
    const struct ledger_sale *x = a, *y = b;

    return (x->unit > y->unit) - (x->unit < y->unit);
}

/* The sales of the product, and the number of different units among them. */
static void take_sales(struct ledger *to, const struct ledger *from, int product) {
    const struct shift shift = shift_of(from, product);

    for (size_t i = 0; i < from->sale_count; i++) {
        struct ledger_sale *sale = &to->sales[to->sale_count];

        if (from->sales[i].shard != product)
            continue;
        *sale = from->sales[i];
        sale->unit -= shift.unit;
        sale->remaining -= shift.remaining;
        to->sale_count++;
    }
    qsort(to->sales, to->sale_count, sizeof *to->sales, by_unit);
    for (size_t i = 0; i < to->sale_count; i++)
        to->units += i == 0 || to->sales[i].unit != to->sales[i - 1].unit;
}

/* The promise of an order is for each product. */
static void take_orders(struct ledger *to, const struct ledger *from) {
    for (size_t i = 0; i < from->order_count; i++) {
        struct ledger_order *order = &to->orders[i];
        const struct ledger_sale *sale = ledger_find_sale(to, from->orders[i].order_id);

        *order = from->orders[i];
        order->unit = sale != NULL ? sale->unit : -1;
    }
    to->order_count = from->order_count;
}

static void take_stock(struct ledger *to, const struct ledger *from, int product) {
    const struct shift shift = shift_of(from, product);

    to->rows[0] = from->rows[product];
    to->rows[0].first_unit = 1;
    to->rows[0].initial -= shift.remaining;
    to->rows[0].available -= shift.remaining;
    to->row_count = 1;
    to->initial = to->rows[0].initial;
    to->available = to->rows[0].available;
    for (size_t i = 0; i < from->returned_count; i++)
        if (from->returned_units[i].shard == product)
            to->returned_units[to->returned_count++] =
                (struct ledger_returned){product, from->returned_units[i].unit - shift.unit};
    to->returned = (int64_t)to->returned_count;
}

static int make_ledger(struct ledger *to, const struct ledger *from, int product) {
    to->sales = calloc(from->sale_count + 1, sizeof *to->sales);
    to->orders = calloc(from->order_count + 1, sizeof *to->orders);
    to->rows = calloc(1, sizeof *to->rows);
    to->returned_units = calloc(from->returned_count + 1, sizeof *to->returned_units);
    if (to->sales == NULL || to->orders == NULL || to->rows == NULL || to->returned_units == NULL)
        return -1;
    take_stock(to, from, product);
    take_sales(to, from, product);
    ledger_sort(to);
    take_orders(to, from);
    /* Sales that came between the readings are missing in one product or the other. */
    to->counted = (int64_t)to->sale_count + from->counted - (int64_t)from->sale_count;
    return 0;
}

/* ---- the records */

/* The reply names the unit that was sold first. */
static int64_t unit_of(const struct ledger *whole, const struct ledger *of_product,
                       const struct record *record, int product) {
    const struct ledger_row *row = &whole->rows[product];
    const struct ledger_sale *sale = ledger_find_sale(of_product, record_order(record));

    if (record->unit >= row->first_unit && record->unit < row->first_unit + row->initial)
        return record->unit - shift_of(whole, product).unit;
    return record->unit >= 0 && sale != NULL ? sale->unit : -1;
}

static int make_records(struct cart *cart, const struct ledger *ledger,
                        const struct recorder *recorder) {
    struct recorder *copy = cart->recorder = malloc(sizeof *copy);
    struct record *records = calloc(CART_PRODUCTS * recorder->ended + 1, sizeof *records);

    if (copy == NULL || records == NULL) {
        free(records);
        free(copy);
        cart->recorder = NULL;
        return -1;
    }
    *copy = *recorder;
    copy->records = records;
    copy->count = copy->ended = CART_PRODUCTS * recorder->ended;
    for (size_t i = 0; i < recorder->ended; i++)
        for (int product = 0; product < CART_PRODUCTS; product++) {
            struct record *record = &records[CART_PRODUCTS * i + (size_t)product];

            *record = recorder->records[i];
            record->item = (uint32_t)product;
            record->unit = unit_of(ledger, &cart->ledgers[product], record, product);
        }
    return 0;
}

int cart_split(struct cart *cart, const struct ledger *ledger, const struct recorder *recorder) {
    *cart = (struct cart){.recorder = NULL};
    assert(ledger->row_count == CART_PRODUCTS);
    for (int product = 0; product < CART_PRODUCTS; product++)
        if (make_ledger(&cart->ledgers[product], ledger, product) != 0)
            return -1;
    return make_records(cart, ledger, recorder);
}

void cart_free(struct cart *cart) {
    for (int product = 0; product < CART_PRODUCTS; product++) {
        struct ledger *ledger = &cart->ledgers[product];

        free(ledger->sales);
        free(ledger->orders);
        free(ledger->rows);
        free(ledger->returned_units);
    }
    if (cart->recorder != NULL)
        free(cart->recorder->records);
    free(cart->recorder);
}
