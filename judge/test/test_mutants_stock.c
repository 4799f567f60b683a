/* Stock rows that have too many or too few, and units that came back and cannot have. */
#include "simulated_judge.h"

static struct ledger_row *any_row(uint32_t *item) {
    *item = (uint32_t)pick(0, sim.items - 1);
    return &sim.rows[*item][pick(0, sim.shards - 1)];
}

/* ---- stock rows */

static bool change_available(int64_t by) {
    uint32_t item;
    struct ledger_row *row = any_row(&item);

    row->available += by;
    return true;
}

static bool set_available_below(int64_t number) {
    uint32_t item;

    any_row(&item)->available = number;
    return true;
}

static bool fill_row(int64_t above) {
    uint32_t item;
    struct ledger_row *row = any_row(&item);

    if (above == 0 && row->available == row->initial)
        return false;
    row->available = row->initial + above;
    return true;
}

/* One unit too many in a row, and one that is missing in another: the sums are right. */
static bool move_unit(int64_t number) {
    uint32_t item;
    struct ledger_row *from = any_row(&item), *to = &sim.rows[item][pick(0, sim.shards - 1)];

    if (from == to)
        return false;
    from->available -= number;
    to->available += number;
    return true;
}

/* A unit that went away unsold, while a later one was sold; and the stock has one more, so that the
 * sums are right. */
static bool pass_over(struct ledger_sale *lower, struct ledger_sale *higher, int64_t outcome) {
    row_of(higher)->available++;
    tell_all(higher->order_id, (enum record_outcome)outcome);
    drop_order(item_of(higher), higher->order_id);
    drop_sale(higher);
    return true;
}

static const struct mutant stock_mutants[] = {
    {"a row has one more", MUST_LEAK, RUN(change_available, 1)},
    {"a row has one less", MUST_LEAK, RUN(change_available, -1)},
    {"a row has a million more", MUST_LEAK, RUN(change_available, 1000000)},
    {"a row has less than nothing", MUST_LEAK, RUN(set_available_below, -5)},
    {"a row that sold is full", MUST_LEAK, RUN(fill_row, 0)},
    {"a row has more than it began with", MUST_LEAK, RUN(fill_row, 3)},
    {"a unit is in another row", MUST_LEAK, RUN(move_unit, 1)},
    {"three units are in another row", MUST_LEAK, RUN(move_unit, 3)},
    {"a unit was passed over by one told busy", MUST_LEAK, PAIR(pass_over, RECORD_BUSY)},
    {"a unit was passed over by one told nothing", MUST_LEAK, PAIR(pass_over, RECORD_UNKNOWN)},
    {.name = NULL},
};

/* ---- units that came back */

/* A unit that has an order is for sale again: one too many (0), or for one of the count. */
static bool return_sold(struct ledger_sale *sale, int64_t number) {
    if ((number != 0 && row_of(sale)->available == 0))
        return false;
    add_returned(item_of(sale), sale->shard, sale->unit);
    row_of(sale)->available -= number;
    return true;
}

/* A unit of the count came back, where no request can have given so many back. */
static bool return_unsold(int64_t number) {
    uint32_t item;
    struct ledger_row *row = any_row(&item);

    if (row->available == 0 || sim.ledgers[item].returned_count < count_givers(item))
        return false;
    row->available--;
    add_returned(item, row->shard, row->first_unit + row->available);
    return true;
}

/* A unit that never was came back for one of the count: sums are right. */
static bool return_outside(int64_t unit) {
    uint32_t item;
    struct ledger_row *row = any_row(&item);

    if (row->available == 0)
        return false;
    row->available--;
    add_returned(item, row->shard, unit);
    return true;
}

static bool return_above(int64_t by) {
    uint32_t item;
    struct ledger_row *row = any_row(&item);

    if (row->available == 0)
        return false;
    row->available--;
    add_returned(item, row->shard, sim.ledgers[item].initial + by);
    return true;
}

static struct ledger_returned *any_returned(uint32_t *item) {
    struct ledger *ledger;

    *item = (uint32_t)pick(0, sim.items - 1);
    ledger = &sim.ledgers[*item];
    return ledger->returned_count > 0
               ? &ledger->returned_units[pick(0, (int64_t)ledger->returned_count - 1)]
               : NULL;
}

/* Once more: beyond the sums (0), or in the place of another that came back. */
static bool return_twice(int64_t number) {
    uint32_t item;
    const struct ledger_returned *unit = any_returned(&item);
    struct ledger_returned *other;

    if (unit == NULL)
        return false;
    if (number == 0) {
        add_returned(item, unit->shard, unit->unit);
        return true;
    }
    other = &sim.returned[item][pick(0, (int64_t)sim.ledgers[item].returned_count - 1)];
    if (other == unit || other->shard != unit->shard)
        return false;
    other->unit = unit->unit;
    return true;
}

/* In the place of one that came back, of the same row. */
static bool return_other(int64_t unit) {
    uint32_t item;
    struct ledger_returned *returned = any_returned(&item);

    if (returned != NULL)
        returned->unit = unit;
    return returned != NULL;
}

static bool return_sold_for_other(int64_t number) {
    uint32_t item;
    struct ledger_returned *returned = any_returned(&item);
    const struct ledger_sale *sale = any_sale();

    if (returned == NULL || sale == NULL || item_of(sale) != item || sale->shard != returned->shard)
        return false;
    returned->unit = sale->unit;
    return true;
}

/* A unit of another row, or its own number with the other row. */
static bool return_to_other_row(int64_t number) {
    uint32_t item;
    struct ledger_returned *returned = any_returned(&item);
    const struct ledger_row *row = &sim.rows[item][pick(0, sim.shards - 1)];

    if (returned == NULL || row->shard == returned->shard || row->initial == 0)
        return false;
    if (number == 0)
        returned->unit = row->first_unit + row->initial - 1;
    else
        returned->shard = row->shard;
    return true;
}

static bool return_to_nowhere(int64_t shard) {
    uint32_t item;
    struct ledger_returned *returned = any_returned(&item);

    if (returned != NULL)
        returned->shard = shard;
    return returned != NULL;
}

/* It is gone (0), or the count has one more for it. */
static bool drop_returned(int64_t number) {
    uint32_t item;
    struct ledger_returned *returned = any_returned(&item);
    struct ledger_row *row = returned != NULL ? &sim.rows[item][returned->shard] : NULL;

    if (returned == NULL || (number != 0 && returned->unit == row->first_unit + row->available))
        return false;
    row->available += number;
    *returned = sim.returned[item][--sim.ledgers[item].returned_count];
    return true;
}

/* All that can have given it back were told a bad request, or sold out. */
static bool take_givers(int64_t outcome) {
    uint32_t item;

    if (any_returned(&item) == NULL)
        return false;
    for (size_t i = 0; i < sim.recorder->ended; i++) {
        struct record *record = &sim.recorder->records[i];

        if (record->item == item &&
            (record->outcome == RECORD_BUSY || record->outcome == RECORD_FAILED ||
             record->outcome == RECORD_UNKNOWN))
            tell(record, (enum record_outcome)outcome);
    }
    return true;
}

/* One giver is left, and two units came back. */
static bool leave_one_giver(int64_t outcome) {
    uint32_t item;
    bool is_left = false;

    if (any_returned(&item) == NULL || sim.ledgers[item].returned_count < 2)
        return false;
    for (size_t i = 0; i < sim.ledgers[item].sale_count; i++)
        if (!is_told(&sim.sales[item][i]))
            return false; /* its customer must stay, too */
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

/* A unit of the count is sold with nothing remaining, like one that came back; and nobody can have
 * given one back. */
static bool sell_again_without_giver(struct ledger_sale *sale, int64_t number) {
    if (row_of(sale)->returns_to_count || sale->remaining == 0 || count_givers(item_of(sale)) > 0)
        return false;
    sale->remaining = 0;
    return true;
}

/* Of two that came back and were sold again by a list, one has the other's unit. */
static bool sell_returned_twice(struct ledger_sale *sale, int64_t number) {
    uint32_t item;
    const struct ledger_returned *returned = any_returned(&item);

    if (returned == NULL || item_of(sale) != item || sale->shard != returned->shard)
        return false;
    set_unit(sale, returned->unit);
    return true;
}

static const struct mutant returned_mutants[] = {
    {"a unit that has an order came back", MUST_LEAK, SALE(return_sold, 0)},
    {"a unit that has an order came back, and one is missing", MUST_LEAK, SALE(return_sold, 1)},
    {"a unit came back that nobody can have given back", MUST_LEAK, RUN(return_unsold, 0)},
    {"unit 0 came back", MUST_LEAK, RUN(return_outside, 0)},
    {"unit -1 came back", MUST_LEAK, RUN(return_outside, -1)},
    {"the greatest number came back", MUST_LEAK, RUN(return_outside, INT64_MAX)},
    {"a unit above the last came back", MUST_LEAK, RUN(return_above, 1)},
    {"a unit far above the last came back", MUST_LEAK, RUN(return_above, 7)},
    {"a unit came back twice", MUST_LEAK, RUN(return_twice, 0)},
    {"a unit came back twice, and another did not", MUST_LEAK, RUN(return_twice, 1)},
    {"one that never was came back instead", MUST_LEAK, RUN(return_other, 4711)},
    {"unit 0 came back instead", MUST_LEAK, RUN(return_other, 0)},
    {"one that has an order came back instead", MUST_LEAK, RUN(return_sold_for_other, 0)},
    {"one of another row came back instead", MUST_LEAK, RUN(return_to_other_row, 0)},
    {"it came back to another row", MUST_LEAK, RUN(return_to_other_row, 1)},
    {"it came back to a row that is not there", MUST_LEAK, RUN(return_to_nowhere, 99)},
    {"a unit that came back is gone", MUST_LEAK, RUN(drop_returned, 0)},
    {"a unit that came back is in the count instead", MUST_LEAK, RUN(drop_returned, 1)},
    {"no request is left that can have given back", MUST_LEAK, RUN(take_givers, RECORD_REFUSED)},
    {"one request is left that can have given two back", MUST_LEAK,
     RUN(leave_one_giver, RECORD_REFUSED)},
    {"a unit was sold again, and nobody gave it back", MUST_LEAK,
     SALE(sell_again_without_giver, 0)},
    {"a unit is for sale, and was sold again", MUST_LEAK, SALE(sell_returned_twice, 0)},
    {.name = NULL},
};

static void test_stock_that_does_not_add_up_is_found(void **state) {
    assert_mutants_are_judged(stock_mutants);
}

static void test_units_that_cannot_have_come_back_are_found(void **state) {
    assert_mutants_are_judged(returned_mutants);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stock_that_does_not_add_up_is_found),
        cmocka_unit_test(test_units_that_cannot_have_come_back_are_found),
    };

    return cmocka_run_group_tests(tests, simulated_set_up, simulated_tear_down);
}
