/* Missing, doubled or changed rows of the two ledgers and of the stock, and units that came back
 * but cannot have done so. */
#include "simulated_judge.h"

#define NOBODY 900000 /* ids from this number on belong to nobody */

/* ---- sales */

/* A second row of one order, with its own unit (0) or another's. */
static bool double_row(struct ledger_sale *sale, int64_t number) {
    const struct ledger_sale *other = number == 0 ? sale : any_sale();

    if (other == NULL || item_of(sale) != item_of(other) || (number != 0 && other == sale))
        return false;
    add_sale(item_of(sale), sale->order_id, other->shard, other->unit, other->remaining, 1);
    return true;
}

static bool drop_told_sale(struct ledger_sale *sale, struct record *told, int64_t number) {
    drop_sale(sale);
    return true;
}

static bool drop_untold_sale(struct ledger_sale *sale, int64_t number) {
    if (is_told(sale) || order_of(item_of(sale), sale->order_id) == NULL)
        return false;
    drop_sale(sale);
    return true;
}

static bool drop_both_rows(struct ledger_sale *sale, int64_t number) {
    if (is_told(sale) != (number != 0))
        return false;
    drop_order(item_of(sale), sale->order_id);
    drop_sale(sale);
    return true;
}

static bool forget_sale(struct ledger_sale *sale, int64_t number) {
    tell_all(sale->order_id, (enum record_outcome)number);
    drop_order(item_of(sale), sale->order_id);
    drop_sale(sale);
    return true;
}

static bool drop_all_sales(struct ledger_sale *sale, struct record *told, int64_t number) {
    sim.ledgers[item_of(sale)].sale_count = 0;
    return true;
}

static bool change_told_unit(struct ledger_sale *sale, struct record *told, int64_t number) {
    sale->unit += number;
    return true;
}

/* The sale has the unit of another sale: only in the ledger (0), or in order and reply as well. */
static bool take_unit_of_another(struct ledger_sale *sale, int64_t number) {
    struct ledger_sale *other = any_sale();

    if (other == NULL || item_of(sale) != item_of(other) || sale == other)
        return false;
    if (number == 0)
        sale->unit = other->unit;
    else
        set_unit(sale, other->unit);
    return true;
}

static bool sell_outside(struct ledger_sale *sale, int64_t unit) {
    set_unit(sale, unit);
    return true;
}

static bool sell_above(struct ledger_sale *sale, int64_t number) {
    set_unit(sale, sim.ledgers[item_of(sale)].initial + number);
    return true;
}

/* Another customer buys the same unit (0), or one that never existed. Row, order and reply
 * agree. */
static bool sell_again(struct ledger_sale *sale, int64_t number) {
    const uint32_t item = item_of(sale);
    const int64_t unit = number == 0  ? sale->unit
                         : number < 0 ? 0
                                      : sim.ledgers[item].initial + number;
    struct record *record = add_request(item, RECORD_SOLD, 1, end_of_run() + 1);

    record->unit = unit;
    write_id(record->key.room, NOBODY + 1);
    record->order_id = record_same;
    add_sale(item, record_key(record), sale->shard, unit, unit - row_of(sale)->first_unit, 1);
    add_order(item, &sim.sales[item][sim.ledgers[item].sale_count - 1]);
    return true;
}

static bool change_remaining(struct ledger_sale *sale, int64_t by) {
    if (!is_of_count(sale) || (sale->remaining + by == 0 && sim.is_keyless))
        return false;
    sale->remaining += by;
    return true;
}

/* The row can never have had so many units, or so few. */
static bool set_remaining(struct ledger_sale *sale, int64_t remaining) {
    sale->remaining = remaining;
    return true;
}

/* The sale looks like one of a unit that came back; with keys no unit comes back. */
static bool clear_remaining(struct ledger_sale *sale, int64_t number) {
    if (sim.is_keyless || sale->remaining == 0)
        return false;
    sale->remaining = 0;
    return true;
}

static bool sell_from_nowhere(struct ledger_sale *sale, int64_t shard) {
    sale->shard = (int32_t)shard;
    return true;
}

static bool sell_from_another_row(struct ledger_sale *sale, int64_t number) {
    if (sim.shards < 2)
        return false;
    sale->shard = (sale->shard + 1) % sim.shards;
    return true;
}

static bool sell_to_nobody(struct ledger_sale *sale, int64_t number) {
    if (is_told(sale) != (number != 0) || (sim.is_keyless && number == 0))
        return false;
    sale->order_id = id_of(NOBODY + 2);
    return true;
}

/* A unit is taken from the count, correctly, for an order that nobody sent. */
static bool buy_for_nobody(int64_t number) {
    const uint32_t item = (uint32_t)pick(0, sim.items - 1);
    struct ledger_row *row = &sim.rows[item][pick(0, sim.shards - 1)];
    char id[UUID_TEXT];

    if (sim.is_keyless || row->available == 0)
        return false;
    row->available--;
    write_id(id, NOBODY + 3);
    add_sale(item, id, row->shard, row->first_unit + row->available, row->available, 1000);
    add_order(item, &sim.sales[item][sim.ledgers[item].sale_count - 1]);
    return true;
}

static bool exchange_ids(int64_t number) {
    struct record *told_a, *told_b;
    struct ledger_sale *a = any_told(&told_a), *b = any_told(&told_b);
    const char *id;

    if (a == NULL || b == NULL || a == b || item_of(a) != item_of(b))
        return false;
    id = a->order_id;
    a->order_id = b->order_id;
    b->order_id = id;
    return true;
}

/* The sale has a unit that is still in the stock, and its own unit is gone: the sums are right. */
static bool sell_from_below(struct ledger_sale *sale, struct record *told, int64_t number) {
    if (!is_of_count(sale) || row_of(sale)->available < 1)
        return false;
    sale->remaining = pick(0, row_of(sale)->available - 1);
    set_unit(sale, row_of(sale)->first_unit + sale->remaining);
    return true;
}

static bool move_sale_to_other_product(struct ledger_sale *sale, struct record *told,
                                       int64_t number) {
    if (sim.items < 2)
        return false;
    sim.sales[1 - item_of(sale)][sim.ledgers[1 - item_of(sale)].sale_count++] = *sale;
    drop_sale(sale);
    return true;
}

/* These columns tell nothing about the unit and its buyer. */
static bool fence_greatly(struct ledger_sale *sale, int64_t number) {
    static const struct ledger_extra greatest = {.fence = INT64_MAX, .reserved = -1};

    sale->extra = &greatest;
    return true;
}

static bool change_instance(struct ledger_sale *sale, int64_t number) {
    sale->instance = "inventory-77";
    return true;
}

static bool change_year(struct ledger_sale *sale, int64_t year) {
    char at[64];

    snprintf(at, sizeof at, "%04d-12-31T23:59:59.999999Z", (int)year);
    sale->at_us = ledger_time_us(at);
    return true;
}

static const struct mutant ledger_mutants[] = {
    {"a sale has the greatest fence", STAYS_VALID, SALE(fence_greatly, 0)},
    {"a sale was made by another instance", STAYS_VALID, SALE(change_instance, 0)},
    {"a sale was made in 2001", STAYS_VALID, SALE(change_year, 2001)},
    {"a sale was made in 9999", STAYS_VALID, SALE(change_year, 9999)},
    {"a row is there twice", MUST(DUPLICATE), SALE(double_row, 0)},
    {"an order has a row with another's unit, too", MUST(DUPLICATE), SALE(double_row, 1)},
    {"a row is there twice: its unit is, too", MUST(TWIN), SALE(double_row, 0)},
    {"a row is gone, and its customer was told", MUST(GHOST), TOLD(drop_told_sale, 0)},
    {"a row is gone, and its customer was not told", MUST(GHOST), SALE(drop_untold_sale, 0)},
    {"row and order are gone, and the customer was not told", MUST_LEAK, SALE(drop_both_rows, 0)},
    {"row and order are gone, and the customer was told", MUST(GHOST), SALE(drop_both_rows, 1)},
    {"row, order and reply are gone: busy", MUST_LEAK, SALE(forget_sale, RECORD_BUSY)},
    {"row, order and reply are gone: not told", MUST_LEAK, SALE(forget_sale, RECORD_UNKNOWN)},
    {"row, order and reply are gone: refused", MUST_LEAK, SALE(forget_sale, RECORD_REFUSED)},
    {"all rows of a product are gone", MUST(GHOST), TOLD(drop_all_sales, 0)},
    {"a row has a higher unit than was told", MUST(GHOST), TOLD(change_told_unit, 1)},
    {"a row has a lower unit than was told", MUST(GHOST), TOLD(change_told_unit, -1)},
    {"a row has another's unit", MUST(TWIN), SALE(take_unit_of_another, 0)},
    {"a row, its order and its reply have another's unit", MUST(TWIN),
     SALE(take_unit_of_another, 1)},
    {"unit 0 is sold", MUST(OVERSELL), SALE(sell_outside, 0)},
    {"unit -5 is sold", MUST(OVERSELL), SALE(sell_outside, -5)},
    {"the greatest number is sold", MUST(OVERSELL), SALE(sell_outside, INT64_MAX)},
    {"a unit above the last one is sold", MUST(OVERSELL), SALE(sell_above, 1)},
    {"a unit far above the last one is sold", MUST(OVERSELL), SALE(sell_above, 1000000)},
    {"a unit is sold to another customer, too", MUST(TWIN), SALE(sell_again, 0)},
    {"another customer has unit 0", MUST(OVERSELL), SALE(sell_again, -1)},
    {"another customer has the unit above the last", MUST(OVERSELL), SALE(sell_again, 1)},
    {"a row left one more than it had", MUST_LEAK, SALE(change_remaining, 1)},
    {"a row left one less", MUST_LEAK, SALE(change_remaining, -1)},
    {"a row left a million", MUST_LEAK, SALE(set_remaining, 1000000)},
    {"a row left less than nothing", MUST_LEAK, SALE(set_remaining, -1)},
    {"a row left more than any number", MUST_LEAK, SALE(set_remaining, INT64_MAX)},
    {"with keys a unit was sold as if it had come back", MUST_LEAK, SALE(clear_remaining, 0)},
    {"a sale is of a shard that is not there", MUST_LEAK | MUST(OVERSELL),
     SALE(sell_from_nowhere, 99)},
    {"a sale is of another shard", MUST_LEAK | MUST(OVERSELL), SALE(sell_from_another_row, 0)},
    {"a row is nobody's, and its customer was told", MUST(GHOST), SALE(sell_to_nobody, 1)},
    {"a row is nobody's, and its customer was not told", MUST(ORPHAN), SALE(sell_to_nobody, 0)},
    {"nobody buys a unit of the count", MUST(ORPHAN), RUN(buy_for_nobody, 0)},
    {"two customers have each other's rows", MUST(GHOST), RUN(exchange_ids, 0)},
    {"a unit of the stock is sold instead", MUST_LEAK, TOLD(sell_from_below, 0)},
    {"a row is of the other product", MUST(GHOST), TOLD(move_sale_to_other_product, 0)},
    {.name = NULL},
};

/* ---- orders */

static bool drop_told_order(struct ledger_sale *sale, int64_t number) {
    if (is_told(sale) != (number != 0))
        return false;
    drop_order(item_of(sale), sale->order_id);
    return true;
}

static bool change_order_unit(struct ledger_sale *sale, int64_t number) {
    struct ledger_order *order = order_of(item_of(sale), sale->order_id);

    if (order == NULL || is_told(sale) != (number != 0))
        return false;
    order->unit += one_in(2) ? 1 : -1;
    return true;
}

static bool order_for_nobody(struct ledger_sale *sale, int64_t number) {
    struct ledger_sale copy = *sale;

    copy.order_id = id_of(NOBODY + 4);
    add_order(item_of(sale), &copy);
    return true;
}

static bool exchange_orders(int64_t number) {
    const struct ledger_sale *a = any_sale(), *b = any_sale();
    struct ledger_order *of_a, *of_b;

    if (a == NULL || b == NULL || a == b || item_of(a) != item_of(b))
        return false;
    of_a = order_of(item_of(a), a->order_id);
    of_b = order_of(item_of(b), b->order_id);
    if (of_a == NULL || of_b == NULL)
        return false;
    of_a->unit = b->unit;
    of_b->unit = a->unit;
    return true;
}

static bool drop_all_orders(struct ledger_sale *sale, struct record *told, int64_t number) {
    sim.ledgers[item_of(sale)].order_count = 0;
    return true;
}

static bool move_order_to_other_product(struct ledger_sale *sale, struct record *told,
                                        int64_t number) {
    if (sim.items < 2)
        return false;
    add_order(1 - item_of(sale), sale);
    drop_order(item_of(sale), sale->order_id);
    return true;
}

static bool change_order_origin(struct ledger_sale *sale, int64_t number) {
    struct ledger_order *order = order_of(item_of(sale), sale->order_id);

    if (order == NULL)
        return false;
    order->instance = "inventory-77";
    order->at_us = ledger_time_us("2001-01-01T00:00:00.000000Z");
    return true;
}

static const struct mutant order_mutants[] = {
    {"an order is gone, and its customer was told", MUST(GHOST), SALE(drop_told_order, 1)},
    {"an order is gone, and its customer was not told", STAYS_VALID, SALE(drop_told_order, 0)},
    {"an order has another unit than was told", MUST(GHOST), SALE(change_order_unit, 1)},
    {"an order that was not told has another unit", MUST(GHOST), SALE(change_order_unit, 0)},
    {"an order is recorded that nobody sold", MUST(GHOST), SALE(order_for_nobody, 0)},
    {"two orders have each other's units", MUST(GHOST), RUN(exchange_orders, 0)},
    {"all orders of a product are gone", MUST(GHOST), TOLD(drop_all_orders, 0)},
    {"an order is of the other product", MUST(GHOST), TOLD(move_order_to_other_product, 0)},
    {"an order was recorded by another instance, long ago", STAYS_VALID,
     SALE(change_order_origin, 0)},
    {.name = NULL},
};

/* ---- stock rows */

static bool change_available(struct ledger_row *row, uint32_t item, int64_t by) {
    row->available += by;
    return true;
}

static bool set_available_below(struct ledger_row *row, uint32_t item, int64_t number) {
    row->available = number;
    return true;
}

static bool fill_row(struct ledger_row *row, uint32_t item, int64_t above) {
    if (above == 0 && row->available == row->initial)
        return false;
    row->available = row->initial + above;
    return true;
}

/* One row has a unit too many, and another one too few: the sums are right. */
static bool move_unit(struct ledger_row *row, uint32_t item, int64_t number) {
    struct ledger_row *to = &sim.rows[item][pick(0, sim.shards - 1)];

    if (row == to)
        return false;
    row->available -= number;
    to->available += number;
    return true;
}

/* A unit disappeared unsold, while a later one was sold. The stock has one more, so the sums are
 * right. */
static bool pass_over(struct ledger_sale *lower, struct ledger_sale *higher, int64_t outcome) {
    row_of(higher)->available++;
    tell_all(higher->order_id, (enum record_outcome)outcome);
    drop_order(item_of(higher), higher->order_id);
    drop_sale(higher);
    return true;
}

static const struct mutant stock_mutants[] = {
    {"a row has one more", MUST_LEAK, ROW(change_available, 1)},
    {"a row has one less", MUST_LEAK, ROW(change_available, -1)},
    {"a row has a million more", MUST_LEAK, ROW(change_available, 1000000)},
    {"a row has less than nothing", MUST_LEAK, ROW(set_available_below, -5)},
    {"a row that sold is full", MUST_LEAK, ROW(fill_row, 0)},
    {"a row has more than it began with", MUST_LEAK, ROW(fill_row, 3)},
    {"a unit is in another row", MUST_LEAK, ROW(move_unit, 1)},
    {"three units are in another row", MUST_LEAK, ROW(move_unit, 3)},
    {"a unit was passed over by one told busy", MUST_LEAK, PAIR(pass_over, RECORD_BUSY)},
    {"a unit was passed over by one told nothing", MUST_LEAK, PAIR(pass_over, RECORD_UNKNOWN)},
    {.name = NULL},
};

/* ---- units that came back */

/* A sold unit is for sale again: as one too many (0), or in place of a unit of the count. */
static bool return_sold(struct ledger_sale *sale, int64_t number) {
    if ((number != 0 && row_of(sale)->available == 0))
        return false;
    add_returned(item_of(sale), sale->shard, sale->unit);
    row_of(sale)->available -= number;
    return true;
}

/* A unit of the count came back, but the requests cannot have given so many back. */
static bool return_unsold(struct ledger_row *row, uint32_t item, int64_t number) {
    if (row->available == 0 || sim.ledgers[item].returned_count < count_givers(item))
        return false;
    row->available--;
    add_returned(item, row->shard, row->first_unit + row->available);
    return true;
}

/* A unit that never existed came back, in place of a unit of the count: the sums are right. */
static bool return_outside(struct ledger_row *row, uint32_t item, int64_t unit) {
    if (row->available == 0)
        return false;
    row->available--;
    add_returned(item, row->shard, unit);
    return true;
}

static bool return_above(struct ledger_row *row, uint32_t item, int64_t by) {
    if (row->available == 0)
        return false;
    row->available--;
    add_returned(item, row->shard, sim.ledgers[item].initial + by);
    return true;
}

/* A unit came back twice: as one too many (0), or in place of another one that came back. */
static bool return_twice(struct ledger_returned *returned, uint32_t item, int64_t number) {
    struct ledger_returned *other;

    if (number == 0) {
        add_returned(item, returned->shard, returned->unit);
        return true;
    }
    other = &sim.returned[item][pick(0, (int64_t)sim.ledgers[item].returned_count - 1)];
    if (other == returned || other->shard != returned->shard)
        return false;
    other->unit = returned->unit;
    return true;
}

/* Another unit of the same row came back instead. */
static bool return_other(struct ledger_returned *returned, uint32_t item, int64_t unit) {
    returned->unit = unit;
    return true;
}

static bool return_sold_for_other(struct ledger_returned *returned, uint32_t item, int64_t number) {
    const struct ledger_sale *sale = any_sale();

    if (sale == NULL || item_of(sale) != item || sale->shard != returned->shard)
        return false;
    returned->unit = sale->unit;
    return true;
}

/* A unit of another row came back (0), or the unit came back to another row. */
static bool return_to_other_row(struct ledger_returned *returned, uint32_t item, int64_t number) {
    const struct ledger_row *row = &sim.rows[item][pick(0, sim.shards - 1)];

    if (row->shard == returned->shard || row->initial == 0)
        return false;
    if (number == 0)
        returned->unit = row->first_unit + row->initial - 1;
    else
        returned->shard = row->shard;
    return true;
}

static bool return_to_nowhere(struct ledger_returned *returned, uint32_t item, int64_t shard) {
    returned->shard = shard;
    return true;
}

/* A unit that came back is gone (0), or the count has one more instead. */
static bool drop_returned(struct ledger_returned *returned, uint32_t item, int64_t number) {
    struct ledger_row *row = &sim.rows[item][returned->shard];

    if (number != 0 && returned->unit == row->first_unit + row->available)
        return false;
    row->available += number;
    *returned = sim.returned[item][--sim.ledgers[item].returned_count];
    return true;
}

/* All requests that can have given it back were told a bad request, or sold out. */
static bool take_givers(struct ledger_returned *returned, uint32_t item, int64_t outcome) {
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        struct record *record = &sim.recorder->records[i];

        if (record->item == item &&
            (record->outcome == RECORD_BUSY || record->outcome == RECORD_FAILED ||
             record->outcome == RECORD_UNKNOWN))
            tell(record, (enum record_outcome)outcome);
    }
    return true;
}

/* Only one request is left that can have given a unit back, but two units came back. */
static bool leave_one_giver(struct ledger_returned *returned, uint32_t item, int64_t outcome) {
    bool is_left = false;

    if (sim.ledgers[item].returned_count < 2)
        return false;
    for (size_t i = 0; i < sim.ledgers[item].sale_count; i++)
        if (!is_told(&sim.sales[item][i]))
            return false; /* its request must stay as well */
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        struct record *record = &sim.recorder->records[i];

        if (record->item != item ||
            (record->outcome != RECORD_BUSY && record->outcome != RECORD_FAILED &&
             record->outcome != RECORD_UNKNOWN))
            continue;
        if (is_left)
            tell(record, (enum record_outcome)outcome);
        is_left = true;
    }
    return true;
}

/* A unit of the count is sold with 0 remaining, like one that came back; but no request can have
 * given one back. */
static bool sell_again_without_giver(struct ledger_sale *sale, int64_t number) {
    if (row_of(sale)->returns_to_count || sale->remaining == 0 || count_givers(item_of(sale)) > 0)
        return false;
    sale->remaining = 0;
    return true;
}

/* A sale has a unit that came back and is still for sale. */
static bool sell_returned_twice(struct ledger_returned *returned, uint32_t item, int64_t number) {
    struct ledger_sale *sale = any_sale();

    if (sale == NULL || item_of(sale) != item || sale->shard != returned->shard)
        return false;
    set_unit(sale, returned->unit);
    return true;
}

static const struct mutant returned_mutants[] = {
    {"a unit that has an order came back", MUST_LEAK, SALE(return_sold, 0)},
    {"a unit that has an order came back, and one is missing", MUST_LEAK, SALE(return_sold, 1)},
    {"a unit came back, and no request can have given it back", MUST_LEAK, ROW(return_unsold, 0)},
    {"unit 0 came back", MUST_LEAK, ROW(return_outside, 0)},
    {"unit -1 came back", MUST_LEAK, ROW(return_outside, -1)},
    {"the greatest number came back", MUST_LEAK, ROW(return_outside, INT64_MAX)},
    {"a unit above the last came back", MUST_LEAK, ROW(return_above, 1)},
    {"a unit far above the last came back", MUST_LEAK, ROW(return_above, 7)},
    {"a unit came back twice", MUST_LEAK, BACK(return_twice, 0)},
    {"a unit came back twice, and another did not", MUST_LEAK, BACK(return_twice, 1)},
    {"one that never was came back instead", MUST_LEAK, BACK(return_other, 4711)},
    {"unit 0 came back instead", MUST_LEAK, BACK(return_other, 0)},
    {"one that has an order came back instead", MUST_LEAK, BACK(return_sold_for_other, 0)},
    {"one of another row came back instead", MUST_LEAK, BACK(return_to_other_row, 0)},
    {"it came back to another row", MUST_LEAK, BACK(return_to_other_row, 1)},
    {"it came back to a row that is not there", MUST_LEAK, BACK(return_to_nowhere, 99)},
    {"a unit that came back is gone", MUST_LEAK, BACK(drop_returned, 0)},
    {"a unit that came back is in the count instead", MUST_LEAK, BACK(drop_returned, 1)},
    {"no request is left that can have given back", MUST_LEAK, BACK(take_givers, RECORD_REFUSED)},
    {"one request is left that can have given two back", MUST_LEAK,
     BACK(leave_one_giver, RECORD_REFUSED)},
    {"a unit was sold again, and nobody gave it back", MUST_LEAK,
     SALE(sell_again_without_giver, 0)},
    {"a unit is for sale, and was sold again", MUST_LEAK, BACK(sell_returned_twice, 0)},
    {.name = NULL},
};

int main(void) {
    const struct CMUnitTest tests[] = {
        MUTANTS_TEST("test_sales_that_are_changed_are_found", ledger_mutants),
        MUTANTS_TEST("test_orders_that_are_changed_are_found", order_mutants),
        MUTANTS_TEST("test_stock_that_does_not_add_up_is_found", stock_mutants),
        MUTANTS_TEST("test_units_that_cannot_have_come_back_are_found", returned_mutants),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
